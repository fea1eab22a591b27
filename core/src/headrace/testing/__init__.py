"""What a backend's author tests with; installed with core, extra ``headrace[testing]``.

``conformance`` is the suite, and ``pytest_plugin`` gives it ``--device``, made of what is in
``suite``::

    pytest -p headrace.testing.pytest_plugin --pyargs headrace.testing.conformance --device TAG

``reference`` is the oracle: every op written a second time; ``oracle`` knows which to ask, and
``tolerances`` how far from it is right. ``Case`` (``case.py``; all of the suite's by ``cases.py``)
is one application of one op, ``check_case`` runs it on a device and compares it with the oracle,
``run_op`` only runs it (``run.py``), and ``OpenedDevice`` (``opened.py``) is one device taken
through its records, without compiler and runtime. ``arrays``, ``fenced``, ``launches`` and
``failing`` are what the suite looks with.

Beside the suite: ``ablation`` takes away one thing of a backend at a time, ``faults`` plants broken
backends, ``interrupts`` presses Ctrl-C, ``deterministic`` has threads take turns, ``wheels`` looks
into a wheel; ``commands`` offers some of it as ``python -m headrace.testing``. Collecting tests
loads no backend.
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
