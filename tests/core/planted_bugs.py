"""The planted bugs, and for each the tests of the conformance suite that must find it.

Each is one class of ``buggy_streams`` or ``buggy_kernels`` in ``late_backend``, which has none.
Those of streams and events are of kinds that plugins of other frameworks had.
"""

from __future__ import annotations

from dataclasses import dataclass

from buggy_kernels import (
    ClearsFirst,
    CountsWhatItRefuses,
    FlattensViews,
    FreesBehind,
    FreezesInputs,
    IgnoresPermutations,
    IgnoresStretching,
    IgnoresTheSecondInput,
    KeepsItsOwnBooks,
    Misaligns,
    OneMemoryForAll,
    Overlaps,
    RoundsToHalf,
    StoresVectors,
    WorksInItsInput,
    counting_differently,
)
from buggy_streams import (
    BreaksTheDevice,
    CapturesOnce,
    ClosesForAll,
    CopiesWords,
    FailsOnlyItself,
    ForgetsErrors,
    IgnoresOffsets,
    KnowsNoOtherDevice,
    NeverWaits,
    ReadsTooSoon,
    ReusesEvents,
    StaysBroken,
    SwallowsErrors,
    SynchronizesTooLittle,
    WritesTooSoon,
)
from late_backend import late


@dataclass(frozen=True)
class Bug:
    """A planted bug: the module of its backend, and the tests that must fail, by file."""

    module: object
    found_by: tuple[str, ...]


BUGS = {
    "ignores-offsets": Bug(
        late(context=IgnoresOffsets), ("allocator::test_a_view_writes_its_part_and_no_more",)
    ),
    "copies-words": Bug(
        late(context=CopiesWords), ("layouts::test_copies_begin_at_any_byte[1-13]",)
    ),
    "reads-too-soon": Bug(
        late(context=ReadsTooSoon), ("streams::test_work_of_one_stream_is_done_in_order",)
    ),
    "writes-too-soon": Bug(
        late(context=WritesTooSoon),
        ("streams::test_a_copy_in_waits_for_what_reads_its_destination",),
    ),
    "never-waits": Bug(
        late(context=NeverWaits),
        ("streams::test_streams_wait_for_events_of_each_other", "streams::test_streams_take_turns"),
    ),
    "reuses-events": Bug(late(context=ReusesEvents), ("streams::test_events_are_not_used_twice",)),
    "synchronizes-too-little": Bug(
        late(context=SynchronizesTooLittle),
        ("streams::test_the_last_of_two_writes_stays",),
    ),
    "forgets-errors": Bug(
        late(context=ForgetsErrors),
        ("stream_errors::test_an_event_behind_a_failure_has_failed",),
    ),
    "knows-no-other-device": Bug(
        late(context=KnowsNoOtherDevice),
        (
            "multi_device::test_copies_through_the_host_are_exact[13]",
            "multi_device::test_devices_take_turns",
        ),
    ),
    "closes-for-all": Bug(
        late(context=ClosesForAll),
        ("streams::test_a_stream_that_closes_leaves_the_others_at_work",),
    ),
    "swallows-errors": Bug(
        late(context=SwallowsErrors),
        (
            "stream_errors::test_an_error_surfaces_once",
            "stream_errors::test_an_event_behind_a_failure_has_failed",
        ),
    ),
    "stays-broken": Bug(late(context=StaysBroken), ("stream_errors::test_an_error_surfaces_once",)),
    "breaks-the-device": Bug(
        late(context=BreaksTheDevice), ("stream_errors::test_an_error_stays_on_its_stream",)
    ),
    "fails-only-itself": Bug(
        late(context=FailsOnlyItself),
        ("stream_errors::test_a_stream_that_waits_for_a_failure_has_failed",),
    ),
    "captures-once": Bug(
        late(context=CapturesOnce), ("streams::test_a_captured_sequence_equals_its_launches[5]",)
    ),
    "freezes-inputs": Bug(
        late(kernel=FreezesInputs), ("streams::test_a_launch_reads_its_inputs_each_time",)
    ),
    "ignores-the-second-input": Bug(
        late(kernel=IgnoresTheSecondInput), ("layouts::test_a_kernel_keeps_to_its_output[add]",)
    ),
    "ignores-stretching": Bug(
        late(kernel=IgnoresStretching), ("layouts::test_axes_are_stretched",)
    ),
    "ignores-permutations": Bug(
        late(kernel=IgnoresPermutations), ("layouts::test_axes_are_permuted[5-float32]",)
    ),
    "rounds-to-half": Bug(late(kernel=RoundsToHalf), ("in_place::test_in_place[add]",)),
    "stores-vectors": Bug(
        late(kernel=StoresVectors), ("layouts::test_a_kernel_keeps_to_its_output[relu]",)
    ),
    "works-in-its-input": Bug(
        late(kernel=WorksInItsInput),
        ("multi_device::test_each_device_gives_the_same_answer[softmax-two]",),
    ),
    "clears-first": Bug(late(kernel=ClearsFirst), ("in_place::test_in_place[add]",)),
    "overlaps": Bug(late(allocator=Overlaps), ("allocator::test_buffers_are_independent",)),
    "misaligns": Bug(late(allocator=Misaligns), ("allocator::test_memory_is_aligned[65]",)),
    "frees-behind": Bug(
        late(allocator=FreesBehind),
        ("allocator::test_memory_is_given_back_in_any_order[(2, 0, 4, 1, 3)]",),
    ),
    "keeps-its-own-books": Bug(
        late(allocator=KeepsItsOwnBooks), ("allocator::test_two_allocators_of_a_device_agree",)
    ),
    "counts-what-it-refuses": Bug(
        late(allocator=CountsWhatItRefuses),
        ("allocator::test_more_than_there_is_is_out_of_memory",),
    ),
    "flattens-views": Bug(
        late(allocator=FlattensViews),
        ("allocator::test_a_view_reads_its_part", "layouts::test_a_view_of_a_view_is_copied"),
    ),
    "one-memory-for-all": Bug(
        late(device=OneMemoryForAll),
        ("multi_device::test_memory_of_one_is_not_memory_of_the_other",),
    ),
    "counts-differently": Bug(
        late(count=counting_differently()),
        ("device::test_the_number_of_devices_does_not_change",),
    ),
}
"""The bugs by name."""
