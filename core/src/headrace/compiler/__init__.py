"""From a job graph to a plan, in immutable steps.

Start with ``pipeline.py``, which lists the steps; then ``headrace.graph``, ``op_graph.py`` and
``task_graph.py``, the three graphs. A pass takes a graph and returns a graph. The compiler asks the
registry which kernels and streams there are; it never opens a device, and never imports the
runtime, with which it shares only ``headrace.plan``.
"""
