"""A ``ScatterND`` whose places are a region of its tensor, as exporters write ``x[:, 1:] = y``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx_models import INT64, info, model, node

from headrace.errors import InvalidModelError, ResourceLimitError
from headrace.onnx.file import limits

Region = tuple[slice, ...]

REGIONS: dict[str, tuple[tuple[int, ...], Region]] = {
    "inner axes": ((2, 3, 6, 7), (slice(None), slice(None), slice(1, None), slice(2, 5))),
    "outer and inner": ((4, 5, 6), (slice(1, 3), slice(None), slice(0, 4))),
    "all": ((2, 3, 4), (slice(None),) * 3),
    "rows": ((5, 4), (slice(1, 4),)),
    "rows of the second axis": ((3, 5, 4), (slice(None), slice(2, 3))),
    "half of the last": ((3, 4, 8), (slice(None), slice(None), slice(0, 4))),
    "few of the last": ((3, 4, 80), (slice(None), slice(None), slice(3, 4))),
    "one element": ((4, 5), (slice(2, 3), slice(1, 2))),
    "leading axes": ((4, 5, 3), (slice(1, None), slice(0, 2))),
}


def places(shape: tuple[int, ...], region: Region) -> Any:
    """The place of each element of a region."""
    ranges = [np.arange(dim)[cut] for dim, cut in zip(shape, region, strict=False)]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1)


def scattering(indices: Any) -> ModelProto:
    nodes = [node("Relu", "x", "r"), node("ScatterND", "r i u", "y")]
    return model(nodes, [info("x", None), info("u", None)], weights={"i": indices})


def feeds(shape: tuple[int, ...], counts: tuple[int, ...]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    made = {"x": rng.standard_normal(shape, np.float32)}
    return made | {"u": rng.standard_normal((*counts, *shape[len(counts) :]), np.float32)}


@pytest.mark.parametrize("wraps", [False, True], ids=["", "counted from the end"])
@pytest.mark.parametrize("name", REGIONS)
def test_a_region_is_replaced(load_near: Any, name: str, wraps: bool) -> None:
    """As numpy assigns to it."""
    shape, region = REGIONS[name]
    indices = places(shape, region)
    given = feeds(shape, indices.shape[:-1])
    if wraps:
        indices = indices - np.array(shape[: indices.shape[-1]])
    expected = np.maximum(given["x"], 0)
    expected[region] = given["u"]
    made = load_near(scattering(indices)).run(given)["y"]
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    "change",
    [lambda i: i[::-1], lambda i: i * [2, 1], lambda i: i[:, ::-1], lambda i: np.sort(i * 0, 0)],
    ids=["backwards", "steps", "columns backwards", "one place again and again"],
)
def test_other_places_are_no_region(load_near: Any, change: Any) -> None:
    """Each update goes where its own indices say; of several for one place the last stays."""
    indices = np.ascontiguousarray(change(places((8, 5), (slice(1, 4), slice(1, 4)))))
    given = feeds((8, 5), (3, 3))
    expected = np.maximum(given["x"], 0)
    for at in np.ndindex(3, 3):
        expected[tuple(indices[at])] = given["u"][at]
    made = load_near(scattering(indices)).run(given)["y"]
    np.testing.assert_array_equal(made, expected)


def test_a_region_that_is_partly_outside_is_refused(load_near: Any) -> None:
    """As any index that is."""
    indices = places((4, 5), (slice(1, 4), slice(1, 4))) + np.array([0, 2])
    with pytest.raises(Exception, match=r"outside|out of"):
        load_near(scattering(indices)).run(feeds((4, 5), (3, 3)))


def test_updates_that_do_not_fit_are_refused(load_near: Any) -> None:
    """The message is that of the op."""
    given = feeds((4, 5), (3, 3)) | {"u": np.zeros((3, 2), np.float32)}
    with pytest.raises(InvalidModelError, match="updates"):
        load_near(scattering(places((4, 5), (slice(1, 4), slice(1, 4))))).run(given)


def written_grid() -> ModelProto:
    """``x[1:, 2:] = u`` for any shape: ranges that are repeated along each other's axes."""
    weights = {name: np.array(n) for name, n in (("zero", 0), ("one", 1), ("two", 2))}
    weights |= {name: np.array(n) for name, n in (("last", [-1]), ("down", [-1, 1]), ("v0", [0]))}
    weights |= {"v1": np.array([1]), "v2": np.array([2]), "far": np.array([1 << 40])}
    nodes = [node("Relu", "x", "r"), node("Shape", "r", "shape"), node("Shape", "u", "counts")]
    for axis, first in (("zero", "v1"), ("one", "v2")):
        nodes += [
            node("Gather", f"shape {axis}", f"dim {axis}".replace(" ", "_")),
            node("Range", f"zero dim_{axis} one", f"range_{axis}"),
            node("Slice", f"range_{axis} {first} far v0", f"part_{axis}"),
        ]
    nodes += [node("Reshape", "part_zero down", "rows"), node("Add", "rows part_one", "sum")]
    nodes += [node("Shape", "sum", "grid")]
    for made, part in (("a", "rows"), ("b", "part_one")):
        nodes += [node("Expand", f"{part} grid", f"e{made}")]
        nodes += [node("Unsqueeze", f"e{made} last", f"column_{made}")]
    nodes += [node("Concat", "column_a column_b", "i", axis=-1)]
    nodes += [node("ScatterND", "r i u", "y")]
    given = [info("x", ["n", "m"]), info("u", ["k", "l"])]
    return model(nodes, given, weights=weights)


def check_grid(loaded: Any, shape: tuple[int, int]) -> None:
    given = feeds(shape, (shape[0] - 1, shape[1] - 2))
    expected = np.maximum(given["x"], 0)
    expected[1:, 2:] = given["u"]
    np.testing.assert_array_equal(loaded.run(given)["y"], expected)


def test_a_grid_serves_any_shape(load_near: Any) -> None:
    """One model, shapes in turn."""
    loaded = load_near(written_grid())
    for shape in ((3, 5), (4, 6), (9, 4), (3, 5), (2, 3), (400, 500), (30, 70)):
        check_grid(loaded, shape)


def test_nobody_computes_a_large_grid(load_near: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is many times as large as its tensor, and for each assignment another one."""
    monkeypatch.setattr(limits, "FOLDED_BYTES", 1 << 20)
    check_grid(load_near(written_grid()), (700, 600))


def test_a_grid_that_somebody_reads_is_computed(load_near: Any) -> None:
    """What is put off is there for whoever asks."""
    source = written_grid()
    source.graph.output.append(helper.make_tensor_value_info("i", INT64, None))
    made = load_near(source).run(feeds((401, 502), (400, 500)))["i"]
    np.testing.assert_array_equal(made, places((401, 502), (slice(1, None), slice(2, None))))


def test_what_is_read_of_what_was_put_off_is_bounded(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As weights are."""
    monkeypatch.setattr(limits, "WEIGHT_BYTES", 1 << 20)
    source = written_grid()
    source.graph.output.append(helper.make_tensor_value_info("i", INT64, None))
    with pytest.raises(ResourceLimitError, match="what is made of them"):
        load_near(source).run(feeds((401, 502), (400, 500)))
