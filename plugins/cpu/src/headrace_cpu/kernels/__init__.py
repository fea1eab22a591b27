"""Kernels that are faster than numpy's, one module for each family of ops.

A kernel makes its array views once, in ``bind``, and returns the call that runs it. The extension
is imported there and not above: the hooks list these classes, and listing loads nothing native.
"""
