"""What is installed and what of it may run: discovery, loading, and the tables made from it.

Start with ``registry.py``, which is what callers ask. A backend goes through these files in order:

- found: ``discover.py`` reads installed ``metadata``;
- allowed: ``screen.py`` decides what may be imported. It asks the ``lock.py``, the
  ``quarantine.py`` of plugins that ended a process, and how versions compare
  (``plain_versions.py``, for most of them);
- tried: ``suspects.py`` loads what may have ended a process in a child process, the ``patient.py``;
- loaded: ``loader.py`` loads each at most once and survives whatever it does; ``hooks.py`` runs its
  code, and ``interrupt.py`` knows whose Ctrl-C came meanwhile;
- checked: ``check.py`` with ``check_classes``, for the ``driver.py`` of its devices;
  ``check_lists.py`` with ``check_collectives`` and ``check_graph_hooks``, for the ``tables.py``
  that compilers choose from;
- used: ``guards.py`` and ``guarded.py`` go on checking while jobs are compiled;
  ``named_kernels.py`` finds the kernels of a plan from the cache, for which no list was made.

``record.py`` holds how far each got; ``unavailable.py`` has the words for users, ``names.py`` for
authors. No plugin code runs before its tag is asked for, and none of these runs while a job does.

What loads a plugin needs numpy and is imported when it is first used; what merely finds plugins
works without, and that is what ``headrace doctor`` stands on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names
from headrace.registry.discover import InstalledBackend
from headrace.registry.record import BackendRecord, Phase, State

if TYPE_CHECKING:
    from headrace.registry.driver import Driver
    from headrace.registry.registry import BackendRegistry, default_registry
    from headrace.registry.tables import Backend, KernelTable

__all__ = [
    "Backend",
    "BackendRecord",
    "BackendRegistry",
    "Driver",
    "InstalledBackend",
    "KernelTable",
    "Phase",
    "State",
    "default_registry",
]

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "headrace.registry.driver": "Driver",
            "headrace.registry.registry": "BackendRegistry default_registry",
            "headrace.registry.tables": "Backend KernelTable",
        },
    )
