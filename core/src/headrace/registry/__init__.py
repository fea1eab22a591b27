"""What is installed and what of it may run: discovery, loading, and the tables made from it.

Start with ``registry.py`` (what callers ask), then follow a backend on its way: ``discover.py``
reads installed metadata, ``screen.py`` decides which may be imported, ``loader.py`` loads each at
most once and survives whatever it does, ``hooks.py`` runs its code, ``check.py`` checks the
answers, ``tables.py`` is what remains. ``record.py`` says how far each got. No plugin code runs
before its tag is asked for, and none runs on the path of a launch.
"""

from headrace.registry.discover import InstalledBackend
from headrace.registry.record import BackendRecord, Phase, State
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.registry.tables import Backend, KernelTable

__all__ = [
    "Backend",
    "BackendRecord",
    "BackendRegistry",
    "InstalledBackend",
    "KernelTable",
    "Phase",
    "State",
    "default_registry",
]
