"""Identifiers pack into unsigned integers and back, over their whole domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import PlanError
from headrace.ids import (
    HOST_TYPE,
    RESERVED_TYPES,
    DeviceId,
    DeviceTypes,
    GlobalMemCaseId,
    MemCaseId,
    MemZoneId,
    StreamId,
    TaskId,
)


def bits(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, 2**count - 1)


devices = st.builds(DeviceId, bits(19), bits(5), bits(7))
streams = st.builds(StreamId, devices, bits(12))
tasks = st.builds(TaskId, streams, bits(21))
zones = st.builds(MemZoneId, bits(5), bits(7))
host_zones = st.builds(MemZoneId, st.just(HOST_TYPE), bits(7))
cases = st.builds(MemCaseId, zones) | st.builds(MemCaseId, host_zones, bits(5), st.booleans())
global_cases = st.builds(GlobalMemCaseId, bits(19), cases)

WIDTHS = {DeviceId: 31, StreamId: 43, TaskId: 64, MemZoneId: 12, MemCaseId: 18, GlobalMemCaseId: 37}


@given(devices | streams | tasks | zones | cases | global_cases)
def test_every_id_survives_packing(value: DeviceId) -> None:
    """Unpacking what was packed gives the same id, and the packed form fits its width."""
    packed = value.packed()
    assert 0 <= packed < 2 ** WIDTHS[type(value)]
    assert type(value).unpack(packed) == value


@given(tasks, tasks)
def test_packed_order_is_the_order_of_the_ids(a: TaskId, b: TaskId) -> None:
    """Ids compare as their packed forms do, so sorting either gives one order."""
    assert (a < b) == (a.packed() < b.packed())


def test_the_documented_positions() -> None:
    """The fields of a TaskId stand at the documented bit offsets, rank at the top, unsigned."""
    packed = TaskId(StreamId(DeviceId(2**19 - 1, 3, 1), 2), 5).packed()
    assert packed == (2**19 - 1) << 45 | 3 << 40 | 1 << 33 | 2 << 21 | 5


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: DeviceId(2**19, 1, 0), "rank 524288"),
        (lambda: DeviceId(0, 32, 0), "device type 32"),
        (lambda: DeviceId(0, 1, -1), "device index -1"),
        (lambda: StreamId(DeviceId(0, 1, 0), 4096), "stream index 4096"),
        (lambda: TaskId(StreamId(DeviceId(0, 1, 0), 0), 2**21), "task index 2097152"),
    ],
)
def test_a_field_outside_its_width_is_named(make: object, field: str) -> None:
    """An id that would not fit its bits is refused, naming the field and its bounds."""
    with pytest.raises(ValueError, match=field):
        make()  # type: ignore[operator]


def test_only_host_memory_can_be_pinned() -> None:
    """Device memory that claims to be page-locked is refused."""
    with pytest.raises(ValueError, match="only host memory"):
        MemCaseId(MemZoneId(HOST_TYPE + 1, 0), page_locked_device_type=2)


def test_new_tags_get_free_numbers_in_sorted_order() -> None:
    """Reserved tags keep their numbers; others count up from the first free one, sorted."""
    table = DeviceTypes.assign({"zeta", "alpha", "cpu"})
    first = max(RESERVED_TYPES.values()) + 1
    assert dict(table.items()) == {"cpu": HOST_TYPE, "alpha": first, "zeta": first + 1}
    assert table.tag(first) == "alpha"


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"a": 5, "b": 5}, "share number 5"),
        ({"a": 32}, "outside 1..31"),
        ({"cpu": 7}, "1 is reserved"),
    ],
)
def test_a_bad_table_is_refused(numbers: dict[str, int], message: str) -> None:
    """A plan whose table doubles, overflows or reuses numbers is refused with both sides named."""
    with pytest.raises(PlanError, match=message):
        DeviceTypes(numbers)


def test_a_plan_has_room_for_a_bounded_number_of_tags() -> None:
    """More tags than the 5-bit field holds is an error, not an overflow."""
    with pytest.raises(PlanError, match="at most 31"):
        DeviceTypes.assign(f"tag{i}" for i in range(40))
