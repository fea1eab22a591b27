"""Passes over job graphs: one file per pass, named verb_object; ``JobGraph`` in, ``JobGraph`` out.

They are listed, in order, in ``headrace.compiler.pipeline``.
"""
