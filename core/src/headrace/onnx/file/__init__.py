"""What is in a model's file, and whether it is sound. Knows ONNX, and no op of headrace.

A file is opened by ``source.py``, and its parts are read as ``content.py`` is asked for them;
``read.py`` puts them together, and is where to start.

- bytes: ``source`` (where they come from), ``wire``, ``stored`` and ``split`` (where weights lie in
  them), ``utf8``, ``tensors``, ``lists``, ``weights``, ``external``;
- is it sound: ``graphs``, ``calls``, ``attributes``, ``keys`` (of which op a node is), ``text``
  (how a place in a model is called in messages), ``limits`` (what no useful model exceeds),
  ``hosted_error``.
"""
