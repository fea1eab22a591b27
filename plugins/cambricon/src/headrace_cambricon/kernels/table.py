"""Every kernel that this backend offers."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry
from headrace_cambricon.kernels.bits import bits_entries
from headrace_cambricon.kernels.cast import cast_entries
from headrace_cambricon.kernels.conv import conv_entries
from headrace_cambricon.kernels.division import division_entries
from headrace_cambricon.kernels.elementwise import elementwise_entries
from headrace_cambricon.kernels.fill import fill_entries
from headrace_cambricon.kernels.gather import gather_entries
from headrace_cambricon.kernels.matmul import matmul_entries
from headrace_cambricon.kernels.movement import movement_entries
from headrace_cambricon.kernels.norm import norm_entries
from headrace_cambricon.kernels.pool import pool_entries
from headrace_cambricon.kernels.quantized import quantized_entries
from headrace_cambricon.kernels.ranking import ranking_entries
from headrace_cambricon.kernels.reduction import reduction_entries
from headrace_cambricon.kernels.resize import resize_entries
from headrace_cambricon.kernels.scatter import scatter_entries
from headrace_cambricon.kernels.shift import shift_entries


def kernels_of(tag: str) -> Iterator[KernelEntry]:
    """What the library computes."""
    yield from elementwise_entries(tag)
    yield from division_entries(tag)
    yield from bits_entries(tag)
    yield from shift_entries(tag)
    yield from cast_entries(tag)
    yield from movement_entries(tag)
    yield from fill_entries(tag)
    yield from gather_entries(tag)
    yield from scatter_entries(tag)
    yield from ranking_entries(tag)
    yield from reduction_entries(tag)
    yield from matmul_entries(tag)
    yield from conv_entries(tag)
    yield from quantized_entries(tag)
    yield from pool_entries(tag)
    yield from norm_entries(tag)
    yield from resize_entries(tag)
