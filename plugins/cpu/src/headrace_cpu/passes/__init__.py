"""Passes of this backend: from ops of core to its own.

``table.py`` makes them, and they run in the order in which ``plugin.py`` lists them: moves become
one, padding goes into what reads it, weights are packed, then what follows a product is put into
it, and narrow ones are made wide. Elementwise ops that are left, and follow each other, become
programs.

One file for each pass, named verb_object; ``own_ops.py`` is what all of them build graphs with,
``halves.py`` and ``scales.py`` what those of 16 bits, and of quantized numbers, have in common.
"""
