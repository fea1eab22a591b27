"""What users write jobs with.

Start with ``global_function.py`` and ``session.py``; ``functional.py`` has the functions that are
called inside a job, ``tracing.py`` what happens when they are. ``future.py`` and ``delivery.py``
bring results that come later. ``compiled_job.py`` is the one place
where compiler and runtime meet. What users import is re-exported by ``headrace``.
"""
