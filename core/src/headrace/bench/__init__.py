"""How fast a model is on a device, beside another runtime on the same machine.

``comparison.py`` runs the two in turn and says how they stand to each other; ``contender.py`` is
one of them, in a process of its own; ``worker.py`` is what that process runs; ``runtimes.py`` knows
how each runtime is asked.

What must stay true: both are given the same file, the same inputs and the same number of threads;
no two compute at the same time; what is not measured is done before or after, for both alike.
"""

from headrace.bench.comparison import Comparison, Spread, compare

__all__ = ["Comparison", "Spread", "compare"]
