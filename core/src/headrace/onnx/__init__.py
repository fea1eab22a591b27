"""ONNX models as headrace jobs: ``headrace.onnx.load(path, device=TAG).run({name: array})``.

Start with ``model.py`` (what users hold). A file is opened by ``source.py``, and its parts are read
as ``content.py`` is asked for them. It passes through ``read.py`` (is this a model, and sound?),
``support.py`` (can we run it?), ``specialise.py`` and ``importer.py`` (a job for these
shapes), ``jobs.py`` (compiled jobs that are kept). ``node.py`` is what converters see, and
``converters/`` says each ONNX op in headrace ops. ``backend.py`` is the interface of
``onnx.backend``.

What must stay true: no file but those inside the model's own folder is read; nothing is allocated
before its size was checked against ``limits.py``; whatever is wrong with a model is an error that
names the file, the node and the reason.

The rest, by the step that it serves:

- bytes: ``source`` (where they come from), ``wire``, ``stored`` and ``split`` (where weights lie in
  them), ``utf8``, ``tensors``, ``weights``, ``external``, ``lazy``, ``kept`` (what the next
  process finds on disk) and ``placed_weights``;
- is it sound: ``graphs``, ``keys``, ``schemas``, ``calls``, ``declared``, ``attributes``, ``text``;
- can it run: ``contrib`` and ``plugin_ops`` (domains besides ONNX's), ``bodies``;
- importing: ``site``, ``scope``, ``values``, ``builder``, ``axes``, ``broadcast``, ``formula``,
  ``einsum``, ``loops``, ``select`` (both branches of a condition), ``draws`` (random numbers);
- values that only the host has, of models that take or give text, maps or sequences: ``hosted``;
- running: ``settings``, ``signature``, ``measure``, ``guesses`` and ``run_loop`` (what is computed
  between two jobs, and what is taken to be as before), ``make_job``, ``templates``
  (jobs for new shapes), ``explain``.
"""

from headrace.collector import collector_rests

with collector_rests(lasting=True):
    from headrace.onnx.model import Model, load
    from headrace.onnx.signature import TensorInfo

__all__ = ["Model", "TensorInfo", "load"]
