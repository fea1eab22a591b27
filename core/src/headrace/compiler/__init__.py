"""From a job graph to a plan, in immutable steps.

Start with ``pipeline.py``, which lists the steps, and read on in their order: ``passes`` and
``sharding`` rewrite the job graph of ``headrace.graph``; ``streams.py`` puts each op of the op
graph (``op_graph.py``) on a stream; ``build_task_graph.py`` and ``program.py`` make of it the task
graph (``task_graph.py``), in which ``pin_staging.py`` pins what copies go through; ``link.py`` and
``plan_sections.py`` say how jobs stand to each other; ``chains.py`` are the actors to be,
``memory`` places their registers, ``emit_plan.py`` writes it all down. ``verify`` checks every
step, ``dumps`` prints it, ``stage.py`` tells who looks on. ``concurrency.py`` and ``decision.py``
are what callers ask for, and what they are told. ``template.py`` has a job after all passes, for
symbolic sizes.

A pass takes a graph and returns a graph. The compiler asks the registry which kernels and streams
there are; it never opens a device, and never imports the runtime, with which it shares only
``headrace.plan``.
"""
