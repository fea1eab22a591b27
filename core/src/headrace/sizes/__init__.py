"""Symbolic sizes, so that what is compiled for one set of shapes can serve others.

A ``Size`` stands in the place of an integer where shapes are computed. It is an expression over
unknowns, of each of which an example is known. Arithmetic gives other sizes. A comparison is
answered as it is for the examples, and its answer is recorded (elsewhere: a *guard*) by the
``Scope`` of the unknowns. Nothing else tells the number: whoever must have it is given that of the
examples, and the size is *pinned* to it. So what was made with sizes is right for all unknowns for
which every answer is the same (``Scope.values``), whatever code made it.

``size.py`` is the arithmetic, ``scope.py`` what is recorded.
"""

from headrace.sizes.scope import Scope, Values
from headrace.sizes.size import MARK, Size, Whole, as_size, has_sizes

__all__ = ["MARK", "Scope", "Size", "Values", "Whole", "as_size", "has_sizes"]
