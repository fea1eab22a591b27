"""Whether a plugin that was being loaded when a process ended had anything to do with that.

Programs end while they load a plugin for many reasons: they come to their end beside a thread that
is not awaited, somebody kills them, memory runs out. Only a plugin that ends a second process,
which does nothing else, is to blame.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from headrace.registry.discover import InstalledBackend
from headrace.registry.patient import Finding, Patient
from headrace.registry.record import BackendRecord

LIMIT_SECONDS = 60.0
"""Drivers of real cards take seconds to count them; nothing that is well takes a minute."""


def load_elsewhere(backend: InstalledBackend) -> Finding | None:
    """What comes of loading ``backend`` in a child process; None where there can be none."""
    if getattr(sys, "frozen", False) or not sys.executable:  # what would be started is the program
        return None
    record = BackendRecord(backend.tag, backend.module, backend.distribution, backend.version)
    try:
        with tempfile.TemporaryDirectory(
            prefix="headrace-suspect-", ignore_cleanup_errors=True
        ) as folder:
            patient = Patient(backend, record, Path(folder), loads_only=True)
            try:
                return patient.wait(LIMIT_SECONDS)
            finally:
                patient.stop()
    except OSError:  # no process can be had, or no file
        return None
