"""Orders of axes, and what lies between two of them.

A tensor lies in ``order`` when its axis ``i`` in memory is axis ``order[i]`` of the tensor that the
job speaks of. In the order 0, 1, 2, ... it is *plain*. An order may name more axes than the tensor
has: they come first, with one element each, as in broadcasting.
"""

from __future__ import annotations

from functools import lru_cache

from headrace.data_format import Order, moves_nothing
from headrace.op_call import Attrs
from headrace.tensor_spec import TensorSpec

Shape = tuple[int, ...]


@lru_cache(maxsize=4096)
def plain(rank: int) -> Order:
    """The order of a tensor that lies as the job says."""
    return tuple(range(rank))


@lru_cache(maxsize=4096)
def between(have: Order, want: Order) -> Order:
    """The permutation that makes a tensor in order ``want`` of one in order ``have``.

    Of one in order ``have`` after the axes that only ``want`` names were put in front.

    Example:
        >>> between((0, 2, 3, 1), (0, 1, 2, 3)), between((0,), (0, 2, 1))
        ((0, 3, 1, 2), (0, 2, 1))
    """
    more = len(want) - len(have)
    lies = (*range(more), *(more + axis for axis in have))
    return tuple(lies.index(axis) for axis in want)


def before(perm: Order, order: Order) -> Order:
    """The order of ``x`` that ``transpose(x, perm)`` in ``order`` is, element by element."""
    return tuple(perm[axis] for axis in order)


def after(perm: Order, order: Order) -> Order:
    """The order of ``transpose(x, perm)`` that ``x`` in ``order`` is, element by element."""
    return tuple(perm.index(axis) for axis in order)


def lifted(shape: Shape, order: Order) -> Shape:
    """``shape`` with a leading 1 for each axis that only ``order`` names."""
    return (*(1,) * (len(order) - len(shape)), *shape)


@lru_cache(maxsize=4096)
def laid(shape: Shape, order: Order) -> Shape:
    """The shape in memory of a tensor of ``shape`` in ``order``."""
    whole = lifted(shape, order)
    return tuple(whole[axis] for axis in order)


def steps(spec: TensorSpec, perm: Order) -> list[tuple[str, Attrs, TensorSpec]]:
    """The ops that transpose a tensor lifted to ``perm``, with their attributes and what they make.

    Example:
        >>> for op, attrs, made in steps(TensorSpec((8, 4), "int8"), (0, 2, 1)):
        ...     print(op, attrs, made)
        reshape Attrs(shape=(1, 8, 4)) int8[1, 8, 4]
        transpose Attrs(perm=(0, 2, 1)) int8[1, 4, 8]
        >>> steps(TensorSpec((2, 8, 1), "int8"), (0, 2, 1))[0][:2]
        ('reshape', Attrs(shape=(2, 1, 8)))
    """
    whole, made = lifted(spec.shape, perm), spec.with_shape(laid(spec.shape, perm))
    if moves_nothing(whole, perm):
        return [("reshape", Attrs({"shape": made.shape}), made)]
    last = ("transpose", Attrs({"perm": perm}), made)
    if whole == spec.shape:
        return [last]
    return [("reshape", Attrs({"shape": whole}), spec.with_shape(whole)), last]
