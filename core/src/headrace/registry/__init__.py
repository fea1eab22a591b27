"""What is installed and what of it may run: discovery, loading, and the tables made from it.

Start with ``registry.py`` (what callers ask), then follow a backend on its way: ``discover.py``
reads installed ``metadata``, ``screen.py`` decides which may be imported, asking ``lock.py``,
``quarantine.py`` and, of most versions, ``plain_versions.py``; ``suspects.py`` has a child process,
``patient.py``, load what may have ended another one; ``loader.py`` loads each at most once and
survives whatever it does, ``hooks.py`` runs its code. What it says of its devices is checked by
``check.py`` with ``check_classes`` and is the ``driver.py``; what it lists for compilers is checked
by ``check_lists.py`` with ``check_collectives`` and ``check_graph_hooks``, and is the
``tables.py``. ``guards.py`` and ``guarded.py`` go on checking while jobs are compiled, and
``named_kernels.py`` finds kernels where no list was made. ``record.py`` says how far each got,
``unavailable.py`` says it to users, ``names.py`` says it to authors; ``interrupt.py`` knows whose
Ctrl-C it was. No plugin code runs before its tag is asked for, and none runs on the path of a
launch.

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
