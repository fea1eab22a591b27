"""What users write jobs with.

Start with ``global_function.py`` and ``session.py``. What users import is re-exported by
``headrace``.

- Writing a job: ``functional``, ``variables``, ``initializers``, ``distribute``, ``mirrored`` and
  ``scope`` are called inside of it; ``tracing`` is what happens then, ``trace_job`` starts it, and
  ``signature`` knows what goes in and out.
- How it is compiled: ``config``, ``compile_options``, ``fallback``, ``memory_options``,
  ``concurrency_options``, ``default_device``.
- Running it: ``job_set`` has the jobs of a session, ``compiled_job`` is the one place where
  compiler and runtime meet, ``ready_job`` is on its devices; ``shared_weights`` are what several
  of them have in common. ``feeds`` checks what a call is given;
  ``future`` and ``delivery`` bring what comes later; ``gate`` and ``closing`` are for who comes
  when all ends; ``memory`` tells who holds what.
- Keeping it: ``save_plan``, ``plan_file``, ``loaded_plan`` and ``versions`` for plans,
  ``plan_cache`` and ``cache_folder`` for the next process, ``checkpoint`` and ``variable_files``
  for values.
- Looking at it: ``explain``, ``stages``, ``plan_page``, ``trace``.

What does not belong here: an op's meaning (``headrace.ops``), and whatever knows ONNX.
"""
