"""The memory plan: which bytes of which chunk each register gets.

Start with ``plan_memory.py``, which names the steps: ``uses.py`` (who makes and who reads a
tensor), ``storage.py`` (which tensors share bytes), ``slots.py`` (which storages hold several
pieces), ``arena.py`` and ``lifetimes.py`` (from when to when each is needed), ``place.py`` with
``free_list.py`` (offsets). ``options.py`` is what can be switched off. Nothing here allocates: that
is the runtime's.
"""
