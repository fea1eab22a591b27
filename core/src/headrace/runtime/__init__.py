"""Runs plans: actors, registers, streams.

Start with ``actor.py``, the pure state machine, with ``events.py`` and ``commands.py``; then
``executor.py``, which owns a plan's resources and picks an engine (``engine.py`` is what both are):
``inline.py`` on the caller's thread, in the order that ``order.py`` finds, ``threaded.py`` with a
``worker.py`` thread for each stream, started by ``threaded_calls.py``, also again after an error.
``replicas.py`` has more executors for callers that meet.

- Deciding, pure: ``network.py`` wires actors, ``sections.py`` says which calls may begin,
  ``blocks.py`` which memory is idle, ``limits.py`` whether a plan fits.
- Doing: ``runner.py`` carries out what actors ask for; ``bind.py`` makes one call of a chain's
  tasks, ``group.py`` of a collective's streams; ``launcher.py`` has streams wait for each other by
  events; ``bus.py`` has the calls that are under way, and the room that there is for them.
- Owning: ``resources.py`` is what one plan holds, ``devices.py`` and ``memories.py`` what the
  process does, ``allocations.py`` is given back as a whole, ``weights.py`` fills what stays.
- Trouble: ``failure.py`` and ``story.py`` say what happened, ``patience.py`` waits where Ctrl-C is
  heard, ``shelter.py`` opens and closes where it is not, ``reentry.py`` knows who would wait for
  itself, ``exit.py`` closes when the interpreter ends.
- Looking on: ``recorder.py`` notes times, ``event_log.py`` steps the actors again through what they
  were told, ``simulator.py`` runs them in virtual time.

Threads and queues are in ``worker.py``, ``shelter.py``, ``exit.py`` and ``bus.py`` alone. The
runtime opens devices and launches kernels; it never imports the compiler, with which it shares only
``headrace.plan``.
"""
