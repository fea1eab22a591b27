"""Ops that this backend brings: products with packed weights, and what is done to them at once.

Passes put them in the place of ops of core. Nobody else says them: their weights lie as the
kernels want them.

One file for each family: its ops' shapes and checks, and what they mean in numpy. ``pack.py`` and
``pack_integers.py`` say how weights lie, ``epilogue.py`` what may follow a product, ``places.py``
and ``steps.py`` what kernels need of ops without their classes, ``table.py`` lists them,
``winograd_numpy.py`` where the matrices of Winograd's algorithms come from.
"""
