"""The memory plan: which bytes of which chunk each register gets.

Start with ``plan_memory.py``, which names the steps and the module of each.
"""
