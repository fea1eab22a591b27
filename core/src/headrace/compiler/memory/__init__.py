"""The memory plan: which bytes of which chunk each register gets.

``place.py`` packs intervals of time into
as few bytes as it can, ``plan_memory.py`` finds the intervals of a task graph and places them.
"""
