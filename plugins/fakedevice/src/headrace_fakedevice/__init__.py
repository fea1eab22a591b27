"""A fake device: the backend to copy, and the strictest one to run on.

Read ``plugin.py`` first: six hooks, and from each one step to what it registers. ``device.py`` is
how many devices there are; ``memory.py`` and ``allocator.py`` are memory that the host cannot open
and that checks itself, ``pinned.py`` and ``host.py`` the host's side of copies; ``stream.py`` and
``context.py`` are streams on which nothing happens until somebody waits, ``kernels.py`` runs every
op that numpy computes, ``collectives.py`` lets several devices reduce and share out what they hold,
``statistics.py`` counts what was done. ``experiment.py`` is the instrument: in a block, work takes
virtual time (``latencies.py``), streams run ahead as a seed says, and the n-th thing fails
(``faults.py``).

Nothing here imports more of core than the contract: ``headrace.device``, ``headrace.hookspecs``,
``headrace.numpy_ops`` and the value modules.
"""

from headrace_fakedevice.experiment import Clock, Experiment, Span, experiment
from headrace_fakedevice.faults import Fault, InjectedFault
from headrace_fakedevice.latencies import Latencies
from headrace_fakedevice.memory import MemoryFault
from headrace_fakedevice.statistics import Statistics, statistics

__all__ = [
    "Clock", "Experiment", "Fault", "InjectedFault", "Latencies", "MemoryFault", "Span",
    "Statistics", "experiment", "statistics",
]  # fmt: skip
