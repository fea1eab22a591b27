"""A job for given shapes, of a model that was read.

``specialise.py`` asks for the job and ``importer.py`` goes through the nodes; ``node.py`` is what a
converter sees of one, and ``converters/`` says each ONNX op in headrace ops.

- what an op is: ``declarations`` (as ONNX declares it), ``schemas`` (whether a node is so),
  ``contrib`` and ``plugin_ops`` (of domains besides ONNX's), ``bodies`` (of functions);
- where a node is: ``site``, ``scope``, ``values``, ``builder``;
- sequences and optional values at the ends of a job: ``lists``;
- for converters: ``axes``, ``broadcast``, ``formula``, ``einsum``, ``draws`` (random numbers),
  ``written_regions`` (places that are a region);
- control flow: ``loops``, ``run_loop`` (whose end is computed), ``select`` (both branches of a
  condition);
- what is not known before a run: ``measure`` (found between two jobs), ``guesses`` (taken to be as
  before).
"""
