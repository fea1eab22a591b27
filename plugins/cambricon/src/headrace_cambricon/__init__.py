"""The Cambricon MLU backend: CNRT and CNNL, opened from where the vendor installed them.

``plugin.py`` lists what it offers. Below it, ``library.py`` decides which library is opened and
says why, ``context.py`` and ``memory.py`` are streams and memory, and ``kernels/`` says each op as
a sequence of vendor calls, recorded once, when a job is opened, and replayed without Python.
"""
