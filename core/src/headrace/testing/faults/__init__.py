"""Broken backends, made on the fly, and what must come of each.

``catalogue.py`` lists them: tiny distributions with one fault each. ``inject.py`` puts one beside
the installed backends and holds that nobody else is harmed: a job on another device gives the right
answer, asking for the broken device says what is wrong, and ``headrace doctor`` names it.
"""

from headrace.testing.faults.catalogue import FAULTS, Fault
from headrace.testing.faults.inject import Injection, inject

__all__ = ["FAULTS", "Fault", "Injection", "inject"]
