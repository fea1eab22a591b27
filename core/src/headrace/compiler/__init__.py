"""From a job graph to a plan, in immutable steps.

Start with ``pipeline.py``, which lists the steps. In their order:

- the job graph of ``headrace.graph``: ``passes`` rewrite it, with ``layouts`` for the order of axes
  and ``sharding`` for jobs on several devices; ``decision.py`` records what runs how and why;
- the op graph: ``op_graph.py``; ``streams.py`` puts each op on a stream;
- all jobs of a plan: ``link.py`` adds those that serve the user's, ``concurrency.py`` is how much
  of one may happen at once, ``plan_sections.py`` says which of them may not overlap;
- the task graph (``task_graph.py``): ``build_task_graph.py`` makes it, of what jobs have in common
  in ``program.py``; ``pin_staging.py`` pins what copies go through;
- the plan: ``chains.py`` are the actors to be, ``memory`` places their registers, ``emit_plan.py``
  writes it all down.

Beside them: ``verify`` checks every step, ``dumps`` prints it, ``stage.py`` tells who looks on;
``template.py`` keeps a job after all passes, with symbolic sizes to be filled in.

A pass takes a graph and returns a graph. The compiler asks the registry which kernels and streams
there are; it never opens a device, and never imports the runtime, with which it shares only
``headrace.plan``.
"""
