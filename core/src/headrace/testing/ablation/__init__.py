"""Ablation: what becomes of a backend when one thing of it is taken away.

Each hook, each function of a record, and each method of the objects behind them is removed in turn,
in two ways: *left out*, so that the base class's default applies, and *absent*, so that there is
nothing at all. Then small programs run: two arrays are added, several times, through copies; two
streams wait for each other, two devices exchange what they have; everything is closed and opened
again. What may come of it is an error that names the missing thing before anything was computed, or
the documented default and right numbers. A wrong number, an error that does not say what is
missing, or one that comes when a launch was made already, is a gap in the contract.

Start with ``removal.py``, which lists what can be taken away; ``removing.py`` takes it away,
``programs.py`` are the programs, and ``outcome.py`` does one removal and judges what came of it.
"""

from headrace.testing.ablation.outcome import Ablated, ablate, judge
from headrace.testing.ablation.removal import Removal, removals

__all__ = ["Ablated", "Removal", "ablate", "judge", "removals"]
