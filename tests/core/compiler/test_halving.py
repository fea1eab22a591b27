"""Collectives that core makes of copies and sums: what they give, and what they take."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.compiler.sharding.boxing import box
from headrace.compiler.sharding.halving import LEAST_BYTES, Group
from headrace.compiler.sharding.layout import balanced
from headrace.compiler.sharding.sharded import ShardedTensor, Site
from headrace.compiler.sharding.topology import Link, Source
from headrace.device import Collective, CollectiveEntry
from headrace.graph import JobGraphBuilder
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import NdSbp
from headrace.tensor_spec import Array, TensorSpec

COUNTS = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 40)
JOIN = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Peers:
    """Devices that all reach each other, and offer nothing themselves."""

    def link(self, source: Source, destination: Placement) -> Link:
        machine = source if isinstance(source, int) else source.devices[0][0]
        if machine != destination.devices[0][0]:
            return Link.NETWORK
        return Link.MEMORY if source == destination else Link.PEER

    def collective(self, tag: str, call: OpCall) -> CollectiveEntry | None:
        return None


class Offering(Peers):
    """Devices whose plugin has every collective."""

    def collective(self, tag: str, call: OpCall) -> CollectiveEntry | None:
        return CollectiveEntry(tag, call.op, lambda made: Collective())


HALVED = (0, LEAST_BYTES)
"""The least that is halved: all, and nothing as small as what these tests compute."""


def group(count: int, least_bytes: int) -> Group:
    place = Placement.parse("toy", f"0:0-{count - 1}")
    site = Site(JobGraphBuilder("job", place.device(0)), Peers())
    return Group([place.device(index) for index in range(count)], site, least_bytes)


def value(work: Group, tensor: Tensor) -> Array:
    """Of a tensor that was computed while the job was built, as all its sources are known."""
    known = work.site.builder.value(tensor)
    assert known is not None
    return known


def drawn(count: int, shape: tuple[int, ...]) -> list[Array]:
    """Of floats, so that another order of adding shows in the last bits."""
    random = np.random.default_rng(count)
    return [random.standard_normal(shape).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("reduction", list(JOIN))
@pytest.mark.parametrize("shape", [(), (1,), (3, 2), (40,), (5, 9)], ids=str)
@pytest.mark.parametrize("least", HALVED)
def test_an_all_reduce_gives_each_the_same(
    count: int, reduction: str, shape: tuple[int, ...], least: int
) -> None:
    """Bit for bit, and what numpy reduces; also of fewer elements than there are devices."""
    terms, work = drawn(count, shape), group(count, least)
    builder = work.site.builder
    made = work.all_reduce([builder.constant(term) for term in terms], reduction)
    got = [value(work, tensor) for tensor in made]
    assert len({array.tobytes() for array in got}) == 1
    want = JOIN[reduction].reduce(np.stack(terms).astype(np.float64), axis=0)
    np.testing.assert_allclose(got[0], want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("least", HALVED)
def test_a_reduce_scatter_and_an_all_gather_are_an_all_reduce(
    count: int, axis: int, least: int
) -> None:
    """Each gets its balanced slice, of uneven size, and then all have all of it."""
    shape = (43, 47)
    terms, work = drawn(count, shape), group(count, least)
    builder, whole = work.site.builder, tuple((0, dim) for dim in shape)
    slices = [balanced(shape[axis], count, index) for index in range(count)]
    boxes = [(*whole[:axis], cut, *whole[axis + 1 :]) for cut in slices]
    tensors = [builder.constant(term) for term in terms]
    parts = work.reduce_scatter(tensors, boxes, axis, "sum")
    want = np.stack(terms).sum(axis=0, dtype=np.float64)
    for part, cut in zip(parts, np.array_split(want, count, axis), strict=True):
        np.testing.assert_allclose(value(work, part), cut, rtol=1e-5, atol=1e-5)
    for gathered in work.all_gather(parts, axis):
        np.testing.assert_allclose(value(work, gathered), want, rtol=1e-5, atol=1e-5)


def boxed(have: str, want: str, count: int, size: int) -> tuple[int, int]:
    """Ops and bytes for ``size`` floats that lie as ``have`` on ``count`` devices, laid anew."""
    place = Placement.parse("toy", f"0:0-{count - 1}")
    builder, spec = JobGraphBuilder("job", place.device(0)), TensorSpec((size,), "float32")
    sbp = NdSbp.parse(have)
    held = spec.with_shape((size // count,)) if have == "S(0)" else spec
    parts = tuple(builder.input(f"x{index}", held) for index in range(count))
    source = ShardedTensor(spec, sbp, place, parts)
    made = box(source, NdSbp.parse(want), place, builder, Peers())
    return len(builder.finish().ops), made.received[Link.PEER]


@pytest.mark.parametrize(
    ("have", "want", "moves"), [("P", "B", 2), ("P", "S(0)", 1), ("S(0)", "B", 1)]
)
@pytest.mark.parametrize(("size", "each"), [(1 << 10, 2), (1 << 24, 20)], ids=["small", "large"])
def test_work_grows_with_the_devices(
    have: str, want: str, moves: int, size: int, each: int
) -> None:
    """So many ops for each device and no more; of bytes hardly more than must be received."""
    for count in (4, 8, 16, 32, 64, 128):
        ops, nbytes = boxed(have, want, count, size)
        least = moves * (count - 1) * 4 * size
        assert ops <= each * count
        assert least <= nbytes <= least + moves * (count / 8 + 2) * 4 * size


def test_what_goes_far_is_the_least() -> None:
    """Of 8 machines with 8 devices each, no machine receives more than twice the tensor."""
    machines = [f"{machine}:0-7" for machine in range(8)]
    place, spec = Placement.parse("toy", machines), TensorSpec((4096,), "float32")
    builder = JobGraphBuilder("job", place.device(0))
    parts = tuple(builder.input(f"x{index}", spec) for index in range(64))
    source = ShardedTensor(spec, NdSbp.parse("P"), place, parts)
    made = box(source, NdSbp.parse("B"), place, builder, Peers())
    assert made.received[Link.NETWORK] <= 8 * 2 * spec.nbytes
    assert sum(made.received.values()) == 2 * 63 * spec.nbytes


def test_terms_are_reduced_where_they_lie_before_they_move() -> None:
    """Of 8 terms one device elsewhere receives the sum once, not each term."""
    here, there = Placement.parse("toy", "0:0-7"), Placement.parse("toy", "0:8")
    builder, spec = JobGraphBuilder("job", here.device(0)), TensorSpec((64,), "float32")
    parts = tuple(builder.input(f"x{index}", spec) for index in range(8))
    source = ShardedTensor(spec, NdSbp.parse("P"), here, parts)
    made = box(source, NdSbp.parse("B"), there, builder, Peers())
    assert made.rule == "reduce_scatter by halves, assemble"
    assert made.received[Link.PEER] < 9 * spec.nbytes


def test_machines_reduce_by_what_their_plugin_offers() -> None:
    """Scatter on each machine, reduce one slice for each device across them, gather on each."""
    place = Placement.parse("toy", ["2:0-3", "5:0-3", "9:1-4"])
    spec, builder = TensorSpec((10, 3), "float32"), JobGraphBuilder("job", place.device(0))
    parts = tuple(builder.input(f"x{index}", spec) for index in range(12))
    source = ShardedTensor(spec, NdSbp.parse("P(max)"), place, parts)
    made = box(source, NdSbp.parse("B"), place, builder, Offering())
    assert made.rule == "reduce_scatter, all_reduce by halves, all_gather"
    assert made.received[Link.NETWORK] <= 2 * 3 * spec.nbytes
    ops = [op.call for op in builder.finish().ops]
    for name in ("reduce_scatter", "all_gather"):
        found = [call.ints_attr("devices") for call in ops if call.op == name]
        assert found == [(0, 1, 2, 3), (0, 1, 2, 3), (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("have", "want", "rule"),
    [
        ("P,P", "B,B", "all_reduce by halves, all_reduce by halves"),
        ("P,P", "S(0),S(0)", "reduce_scatter by halves, reduce_scatter by halves"),
        ("S(0),S(0)", "B,B", "all_gather by halves, all_gather by halves"),
        ("P,S(0)", "B,B", "all_reduce by halves, all_gather by halves"),
        ("S(0),S(1)", "S(1),S(0)", "assemble"),
        ("B,S(0)", "S(0),B", "assemble"),
    ],
)
def test_a_hierarchy_is_done_axis_by_axis(have: str, want: str, rule: str) -> None:
    """By collectives along one axis at a time where each does its part for good."""
    place = Placement.parse("toy", "0:0-15", (4, 4))
    builder, spec = JobGraphBuilder("job", place.device(0)), TensorSpec((64, 64), "float32")
    source = ShardedTensor(spec, NdSbp.parse(have), place, ())
    parts = tuple(
        builder.input(f"x{index}", spec.with_shape(piece.shape))
        for index, piece in enumerate(source.pieces)
    )
    source = ShardedTensor(spec, source.sbp, place, parts)
    assert box(source, NdSbp.parse(want), place, builder, Peers()).rule == rule


def test_a_tensor_crosses_the_network_once_for_each_machine() -> None:
    """Its devices read it from their host then, over the link that the topology has for that."""
    machines = ["0:0", "1:0-3", "2:0-1"]
    place, spec = Placement.parse("toy", machines), TensorSpec((16,), "float32")
    builder = JobGraphBuilder("job", place.device(0))
    source = ShardedTensor(spec, NdSbp.parse("B"), place.device(0), (builder.input("x", spec),))
    received = box(source, NdSbp.parse("B"), place, builder, Peers()).received
    assert received == {Link.NETWORK: 2 * 64, Link.PEER: 4 * 64, Link.MEMORY: 64}
