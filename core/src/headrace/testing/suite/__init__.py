"""What ``headrace.testing.pytest_plugin`` is made of; pure but for ``witness.py``.

``tags.py`` says what each test is about, ``rules.py`` applies a backend's profile to names and
tags, ``witness.py`` notes which device did the work of a test, ``report.py`` counts outcomes and
prints them. ``options.py`` and ``items.py`` know pytest's options and items; the others do not
import it.
"""
