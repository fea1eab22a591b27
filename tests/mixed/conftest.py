"""``pytest tests/mixed/test_boxing.py --hypothesis-profile long -o faulthandler_timeout=0``.

It tries many more layouts than every run does, and takes some minutes.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("long", max_examples=5000)
