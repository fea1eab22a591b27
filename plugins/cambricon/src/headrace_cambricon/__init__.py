"""The Cambricon MLU backend: CNRT and CNNL, opened from where the vendor installed them.

``plugin.py`` lists what it offers. Below it, ``library.py`` decides which library is opened and
says why, with ``errors.py`` for what can go wrong; ``enums.py`` has the vendor's numbers;
``device.py``, ``context.py`` and ``memory.py`` are cards, streams and memory, and ``settling.py``
says what became of queued work. ``kernels/`` says each op as a sequence of vendor calls, recorded
once, when a job is opened, and replayed without Python. ``ops.py``, ``quantization.py`` and
``passes/`` are for products in integers; ``conformance.py`` is what the suite is told. What touches
the vendor's libraries is C++, in ``csrc/``.
"""
