"""Runs plans: actors, registers, streams.

Start with ``actor.py``, the pure state machine, with ``events.py`` and ``commands.py``; then
``executor.py``, which owns a plan's resources and picks an engine: ``inline.py`` on the caller's
thread, in the order that ``order.py`` finds, ``threaded.py`` with a ``worker.py`` thread for each
stream. Both launch through ``launcher.py``, which has streams wait for each other by events.
Threads, queues and locks are in ``worker.py`` and ``bus.py`` alone; the latter has the calls that
are under way, and the room that there is for them. ``simulator.py`` runs the same actors in virtual
time, and ``event_log.py`` steps them again through what they were told. The runtime opens devices
and launches kernels; it never imports the compiler, with which it shares only ``headrace.plan``.
"""
