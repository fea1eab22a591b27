"""``headrace doctor``: what is wrong with the installed backends, found out from a safe distance.

``probe.py`` runs in a child process and takes one backend through its phases; ``Patient`` of the
registry starts it, waits with a limit, and reads how far it got; ``examine.py`` does so for all and
makes one document, whose schema is ``doctor.schema.json``. ``itself.py`` and ``imports.py`` examine
headrace and what it needs. No plugin code runs in the process that asks, and nothing that headrace
needs is imported there, but packaging.
"""

from headrace.doctor.examine import DEFAULT_LIMIT_SECONDS, examine, schema

__all__ = ["DEFAULT_LIMIT_SECONDS", "examine", "schema"]
