"""What all tests of this repository share: hypothesis tries the same examples every time.

A commit that passed once passes again, on a slow machine too. To look for examples that nobody has
seen yet, name a profile: ``pytest tests/mixed --hypothesis-profile new-examples``, or ``long``,
which tries many more and takes minutes (``-o faulthandler_timeout=0``).
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("new-examples", deadline=None)
settings.register_profile("long", deadline=None, max_examples=5000)
settings.register_profile("same-every-time", deadline=None, derandomize=True)
settings.load_profile("same-every-time")
