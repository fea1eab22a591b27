"""``pytest tests/mixed --hypothesis-profile long`` tries many more layouts than every run does."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("long", max_examples=5000)
