"""The CPU backend of headrace.

Start with ``plugin.py``: it implements the hooks and lists everything that this distribution
offers. ``kernels/`` holds one module for each family of ops. Heavy loops are C++ in the extension
``_native``; its functions are described in ``_native.pyi`` and written in ``csrc/``.

Importing this package must not load ``_native``. What another backend could use as well does not
belong here, and nothing here imports more of headrace than the contract for plugins.
"""
