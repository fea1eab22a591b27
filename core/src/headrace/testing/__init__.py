"""What a backend's author tests with; installed with core, extra ``headrace[testing]``.

The suite, which needs no code of the author's::

    pytest -p headrace.testing.pytest_plugin --pyargs headrace.testing.conformance --device TAG

- ``conformance`` has its tests, ``pytest_plugin`` the options, made of what is in ``suite``;
- ``reference`` is the oracle: every op written a second time. ``oracle`` knows which to ask, and
  ``tolerances`` how far from it is right.

For tests of one's own:

- ``Case`` (``case.py``; all of the suite's by ``cases.py``) is one application of one op;
  ``check_case`` runs it on a device and compares it with the oracle, ``run_op`` only runs it
  (``run.py``);
- ``OpenedDevice`` (``opened.py``) is one device taken through its records, without compiler and
  runtime; ``fenced`` finds writes beside a tensor, ``launches`` counts launches, ``failing`` makes
  work that fails, and ``arrays`` has inputs.

What goes wrong around a backend: ``ablation`` takes away one thing of it at a time, ``faults``
plants broken ones beside it, ``interrupts`` presses Ctrl-C, ``deterministic`` has threads take
turns, ``wheels`` looks into a wheel; ``commands`` offers some of it as ``python -m
headrace.testing``. Collecting tests loads no backend.
"""

from headrace.testing.case import Case
from headrace.testing.opened import OpenedDevice
from headrace.testing.reference import REFERENCE
from headrace.testing.run import call_of, check_case, run_op
from headrace.testing.tolerances import Tolerance, tolerance_of

__all__ = [
    "REFERENCE",
    "Case",
    "OpenedDevice",
    "Tolerance",
    "call_of",
    "check_case",
    "run_op",
    "tolerance_of",
]
