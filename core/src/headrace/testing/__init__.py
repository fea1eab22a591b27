"""What a backend's author tests with; installed with core, extra ``headrace[testing]``.

``conformance`` is the suite, and ``pytest_plugin`` gives it ``--device``::

    pytest -p headrace.testing.pytest_plugin --pyargs headrace.testing.conformance --device TAG

``reference`` is the oracle: every op written a second time. ``Case`` is one application of one op,
``check_case`` runs it on a device and compares it with the oracle, ``run_op`` only runs it, and
``OpenedDevice`` is one device taken through its records, without compiler and runtime. Collecting
tests loads no backend.
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
