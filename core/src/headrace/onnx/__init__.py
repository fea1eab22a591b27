"""ONNX models as headrace jobs: ``headrace.onnx.load(path, device=TAG).run({name: array})``.

Start with ``model.py`` (what users hold). A model passes through three rooms, each of which knows
nothing of the next:

- ``file/``: what is in the file, and is it sound?
- ``importing/``: a job for these shapes, node by node;
- the files here: can it run (``support``), what goes in and comes out (``signature``,
  ``declared``), jobs that are made, kept and run: ``make_job``, ``jobs``, ``templates`` (jobs for
  new shapes), ``kept`` and ``placed_weights`` (what the next process finds on disk), ``lazy`` (a
  file that is parsed when somebody asks), ``settings``, ``explain``.

Values that only the host has, of models that take or give text, maps or sequences, are in
``hosted/``. ``backend.py`` is the interface of ``onnx.backend``.

What must stay true: no file but those inside the model's own folder is read; nothing is allocated
before its size was checked against ``file/limits.py``; whatever is wrong with a model is an error
that names the file, the node and the reason.
"""

from headrace.collector import collector_rests

with collector_rests(lasting=True):
    from headrace.onnx.model import Model, load
    from headrace.onnx.signature import TensorInfo

__all__ = ["Model", "TensorInfo", "load"]
