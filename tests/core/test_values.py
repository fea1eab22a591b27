"""Small values: dtypes, specs, placements, SBP, memory cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import dtypes
from headrace.errors import DTypeError, PlacementError, PlanError, ShapeError
from headrace.memory_case import MemoryCase
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, PartialSum, Split
from headrace.tensor_spec import TensorSpec


@pytest.mark.parametrize("dtype", sorted(dtypes.ALL), ids=str)
def test_a_dtype_is_found_by_name_number_and_numpy_dtype(dtype: dtypes.DType) -> None:
    """Name, number and numpy dtype each lead back to the one DType; sizes are numpy's."""
    assert dtypes.dtype_of(dtype.name) is dtype
    assert dtypes.dtype_of(dtype.numpy) is dtype
    assert dtypes.from_number(dtype.number) is dtype
    assert np.zeros(3, dtype.numpy).nbytes == 3 * dtype.itemsize


def test_byte_order_is_no_part_of_a_dtype() -> None:
    """A big-endian array has the dtype of its values."""
    assert dtypes.dtype_of(np.dtype(">f4")) is dtypes.float32


@pytest.mark.parametrize("bad", ["float31", "str", object, np.dtype("U3"), np.complex64, None, 3])
def test_what_is_no_tensor_dtype_is_refused(bad: object) -> None:
    """Strings, complex numbers and nonsense raise DTypeError that lists the dtypes."""
    with pytest.raises(DTypeError, match="float32"):
        dtypes.dtype_of(bad)


def test_a_spec_counts_elements_and_bytes() -> None:
    """A scalar has one element, a shape with a zero has none."""
    assert TensorSpec((), "float64").nbytes == 8
    assert TensorSpec((2, 0, 3), "int8").elements == 0
    assert str(TensorSpec(np.zeros((2, 3)).shape, "int8")) == "int8[2, 3]"


@pytest.mark.parametrize("shape", [(-1,), (2.0,), 3, ("2",), (1,) * 33])
def test_a_spec_refuses_shapes_that_are_none(shape: object) -> None:
    """Negative and non-integer dimensions are refused when the spec is made."""
    with pytest.raises(ShapeError):
        TensorSpec(shape, "float32")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ("0:0", ((0, 0),)),
        ("0:0-3", ((0, 0), (0, 1), (0, 2), (0, 3))),
        (["1:0", "0:2-3"], ((0, 2), (0, 3), (1, 0))),
    ],
)
def test_placements_read_the_documented_text(devices: object, expected: object) -> None:
    """``machine:first-last`` and lists of it are read, sorted by machine, then device."""
    assert Placement.parse("cpu", devices).devices == expected


@pytest.mark.parametrize(
    ("tag", "devices", "hierarchy", "message"),
    [
        ("cpu", "0", None, "machine:first-last"),
        ("cpu", "0:3-1", None, "last 1 < first 3"),
        ("cpu", ["0:0-1", "0:1"], None, "named twice"),
        ("cpu", "0:0-3", (3,), "does not hold 4"),
        ("cpu", [], None, "at least one"),
        ("", "0:0", None, "not a device tag"),
        ("a b", "0:0", None, "not a device tag"),
        (None, "0:0", None, "not a device tag"),
        ("cpu", None, None, "None does not say which devices"),
        ("cpu", ["0:0", 1], None, "1 does not say which devices"),
        ("cpu", "0:0-999999999", None, "names device 999999999"),
    ],
)
def test_a_malformed_placement_says_what_is_wrong(
    tag: str, devices: object, hierarchy: object, message: str
) -> None:
    """Each way of writing a placement wrongly has its own message."""
    with pytest.raises(PlacementError, match=message):
        Placement.parse(tag, devices, hierarchy)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["cpu:", "cpu:x", "cpu:-1", ":1", "", None, 0])
def test_a_malformed_device_is_refused(text: object) -> None:
    """What is neither TAG nor TAG:INDEX is refused."""
    with pytest.raises(PlacementError):
        Placement.of_device(text)


sbps = st.lists(
    st.builds(Split, st.integers(0, 8))
    | st.just(Broadcast())
    | st.builds(PartialSum, st.sampled_from(["sum", "max", "min"])),
    min_size=1,
    max_size=3,
)


@given(sbps)
def test_sbp_text_reads_back(axes: list[Split | Broadcast | PartialSum]) -> None:
    """Printing an NdSbp and parsing the text gives the same value."""
    value = NdSbp(tuple(axes))
    assert NdSbp.parse(str(value)) == value


@pytest.mark.parametrize("text", ["", "S", "S(-1)", "Q", "P(avg)", "B B"])
def test_what_is_no_sbp_is_refused(text: str) -> None:
    """Malformed SBP text raises ValueError that shows the forms."""
    with pytest.raises(ValueError, match="write S"):
        NdSbp.parse(text)


def test_merging_memory_cases_unions_their_constraints() -> None:
    """Pageable host memory that a device needs pinned becomes pinned for that device."""
    pinned = MemoryCase("cpu", 1, "host", pinned_for="far")
    network = MemoryCase("cpu", 0, "host", used_by_network=True)
    assert MemoryCase.host().merge(pinned) == pinned
    assert network.merge(pinned) == MemoryCase("cpu", 1, "host", "far", used_by_network=True)
    assert MemoryCase.host().merge(MemoryCase.host()) == MemoryCase.host()


def test_a_memory_may_have_more_than_a_register_asks_for() -> None:
    """Pinned memory will do where pageable is asked for, and not the other way round."""
    pinned = MemoryCase.pinned("far", 1)
    assert pinned == MemoryCase("cpu", 1, "host", pinned_for="far")
    assert pinned.satisfies(MemoryCase.host())
    assert not MemoryCase.host().satisfies(pinned)
    assert not pinned.satisfies(MemoryCase.pinned("far", 0))
    assert not pinned.satisfies(MemoryCase("far", 1))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (MemoryCase("far", 0), MemoryCase("far", 1)),
        (MemoryCase("far", 0), MemoryCase("near", 0)),
        (MemoryCase("far", 0), MemoryCase.host()),
        (MemoryCase("cpu", 0, "host", "far"), MemoryCase("cpu", 1, "host", "far")),
    ],
)
def test_memory_cases_that_exclude_each_other_do_not_merge(a: MemoryCase, b: MemoryCase) -> None:
    """No memory satisfies two devices, two kinds, or pinning for two devices."""
    with pytest.raises(PlanError, match="cannot live both"):
        a.merge(b)
