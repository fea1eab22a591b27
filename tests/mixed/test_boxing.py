"""A tensor laid any way over any devices is laid any other way over any others, as numpy would."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.compiler.sharding.boxing import box
from headrace.compiler.sharding.sharded import ShardedTensor
from headrace.compiler.sharding.topology import RegisteredDevices
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split
from headrace.tensor_spec import Array, TensorSpec

DEVICES = 8
HIERARCHIES = (
    *((count,) for count in range(1, DEVICES + 1)),
    *((2, 2), (2, 3), (3, 2), (1, 4), (4, 2), (2, 4), (2, 1, 3), (2, 2, 2)),
)
JOIN = {"sum": np.add, "max": np.maximum, "min": np.minimum}


@pytest.fixture(scope="module", autouse=True)
def registry() -> Iterator[BackendRegistry]:
    """The installed backends, with as many fake devices as the layouts are spread over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_FAKEDEVICE_COUNT", str(DEVICES))
        registry = BackendRegistry()
        assert registry.device_count("fakedevice") == DEVICES
        yield registry


def scatter(
    whole: Array, axes: tuple[Sbp, ...], hierarchy: tuple[int, ...], random: np.random.Generator
) -> list[Array]:
    """The parts of ``whole``, with terms made at random where it is partial."""
    if not axes:
        return [whole]
    sbp, count = axes[0], hierarchy[0]
    parts: list[Array]
    if isinstance(sbp, Split):
        parts = np.array_split(whole, count, axis=sbp.axis)
    elif isinstance(sbp, Broadcast):
        parts = [whole] * count
    elif sbp.reduction == "sum":
        parts = [random.integers(-50, 50, whole.shape).astype(whole.dtype)] * (count - 1)
        parts = [*parts, whole - sum(parts, np.zeros_like(whole))]
    else:
        worse = (-1 if sbp.reduction == "max" else 1) * random.integers(0, 9, whole.shape)
        holder = random.integers(0, count, whole.shape)
        parts = [np.where(holder == i, whole, whole + worse) for i in range(count)]
    return [
        part.astype(whole.dtype)
        for each in parts
        for part in scatter(each, axes[1:], hierarchy[1:], random)
    ]


def gather(parts: list[Array], axes: tuple[Sbp, ...], hierarchy: tuple[int, ...]) -> Array:
    """The tensor that devices hold ``parts`` of; copies must be equal."""
    if not axes:
        return parts[0]
    size = len(parts) // hierarchy[0]
    each = [
        gather(parts[i : i + size], axes[1:], hierarchy[1:]) for i in range(0, len(parts), size)
    ]
    sbp, result = axes[0], each[0]
    if isinstance(sbp, Split):
        return np.concatenate(each, axis=sbp.axis)
    for other in each[1:]:
        if isinstance(sbp, PartialSum):
            result = JOIN[sbp.reduction](result, other)
        else:
            np.testing.assert_array_equal(result, other)
    return result


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[NdSbp, Placement]:
    """Any SBP over any hierarchy of fake devices, or one cpu; some may have no elements."""
    tag = draw(st.sampled_from(["fakedevice", "cpu"]))
    hierarchy = draw(st.sampled_from(HIERARCHIES)) if tag == "fakedevice" else (1,)
    partial = [PartialSum(reduction) for reduction in JOIN]
    ways = [Broadcast(), *partial, *map(Split, range(len(shape)))]
    axes = [draw(st.sampled_from(ways)) for _ in hierarchy]
    count = math.prod(hierarchy)
    first = draw(st.integers(0, DEVICES - count)) if tag == "fakedevice" else 0
    return NdSbp(tuple(axes)), Placement.parse(tag, f"0:{first}-{first + count - 1}", hierarchy)


@st.composite
def problems(
    draw: st.DrawFn,
) -> tuple[tuple[int, ...], tuple[NdSbp, Placement], tuple[NdSbp, Placement], int]:
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    return shape, draw(layouts(shape)), draw(layouts(shape)), draw(st.integers(0, 2**32 - 1))


@settings(max_examples=max(200, settings.default.max_examples))
@given(problems())
def test_any_layout_becomes_any_other(
    registry: BackendRegistry,
    problem: tuple[tuple[int, ...], tuple[NdSbp, Placement], tuple[NdSbp, Placement], int],
) -> None:
    """Split, broadcast and partial, over one device or eight, of one kind or two, nested or not."""
    shape, (source_sbp, source_place), (sbp, place), seed = problem
    random = np.random.default_rng(seed)
    whole = random.integers(-100, 100, shape).astype(np.int32)
    parts = scatter(whole, source_sbp.axes, source_place.hierarchy, random)
    builder = JobGraphBuilder("boxing", source_place.device(0))
    there = []
    for index, part in enumerate(parts):
        fed = builder.input(f"x{index}", TensorSpec.of(part))
        with builder.placed(source_place.device(index)):
            there += builder.op("identity", [fed])
    source = ShardedTensor(TensorSpec.of(whole), source_sbp, source_place, tuple(there))
    made = box(source, sbp, place, builder, RegisteredDevices(registry)).tensor
    for index, tensor in enumerate(made.parts):
        with builder.placed(place.device(index)):
            builder.output(f"y{index}", builder.op("identity", [tensor])[0])
    with CompiledJob(builder.finish(), registry) as job:
        results = job.run({f"x{index}": part for index, part in enumerate(parts)})
    got = gather([results[f"y{i}"] for i in range(len(made.parts))], sbp.axes, place.hierarchy)
    np.testing.assert_array_equal(got, whole)
