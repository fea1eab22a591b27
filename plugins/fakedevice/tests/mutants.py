"""The planted bugs: what each stands for, and the scenario that must find it within fifty seeds.

``stands_for`` is a public thread about a bug of the same kind in another framework. It says that
such bugs are made; nothing here is taken from there.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from unittest.mock import patch

import backend_mutants as backend
import call_mutants as calls
import callback_mutants as callbacks
import pool_mutants as pool
import runtime_mutants as runtime
from runtime_mutants import Patches
from scenarios import SCENARIOS

from headrace.frontend.ready_job import close_dropped
from headrace_fakedevice.statistics import _COUNTERS

SEEDS = 50


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Attributes:
        plant: says what is replaced by what.
        found_by: the scenario that must find it.
        stands_for: ``owner/repository#number`` of a thread about its like.
    """

    plant: Callable[[], Patches]
    found_by: str
    stands_for: str

    @property
    def name(self) -> str:
        """Of its function."""
        return self.plant.__name__

    def seed_that_finds_it(self) -> int | None:
        """The first seed under which the scenario fails; None when it passes under all."""
        with patch.dict(_COUNTERS, clear=True):  # what it leaks is not for the next test
            return self._first_seed()

    def _first_seed(self) -> int | None:
        for seed in range(SEEDS):
            with ExitStack() as planted:
                for owner, attribute, replacement in self.plant():
                    planted.enter_context(patch.object(owner, attribute, replacement))
                try:
                    SCENARIOS[self.found_by](seed)
                except Exception:  # noqa: BLE001 - a bug may show as anything
                    break
        else:
            return None
        gc.collect()  # what a session held that could not be closed,
        with suppress(ResourceWarning):  # and says so, is not for the next test
            close_dropped()
        return seed


MUTANTS = (
    # waits
    Mutant(runtime.lost_wait, "chain", "pytorch/pytorch#82050"),
    Mutant(runtime.report_before_launch, "chain", "microsoft/onnxruntime#342"),
    Mutant(runtime.no_wait_for_copies_out, "chain", "pytorch/pytorch#86264"),
    Mutant(runtime.inputs_are_not_kept, "chain", "NVIDIA/cudf#22284"),
    Mutant(runtime.slots_are_reused_at_once, "chain", "Theano/libgpuarray#222"),
    Mutant(runtime.event_of_the_act_before, "chain", "intel/llvm#8374"),
    Mutant(runtime.one_event_is_waited_for, "two devices", "torch/cutorch#222"),
    Mutant(runtime.marked_before_the_launch, "chain", "PaddlePaddle/Paddle#58347"),
    Mutant(runtime.nothing_is_recorded, "chain", "cms-patatrack/pixeltrack-standalone#202"),
    Mutant(runtime.one_event_for_a_stream, "chain", "alpaka-group/alpaka#388"),
    Mutant(runtime.ends_when_launched, "a write fails", "PaddlePaddle/Paddle#53400"),
    Mutant(runtime.last_failure_is_told, "fails and goes on", "Jim137/qkan#27"),
    Mutant(runtime.exchange_does_not_wait, "shared out", "pytorch/pytorch#119266"),
    Mutant(runtime.weights_without_wait, "two executors", "pytorch/pytorch#130785"),
    Mutant(runtime.wrong_stream, "chain", "pytorch/pytorch#2702"),
    # credits and messages
    Mutant(runtime.credit_off_by_one, "chain", "microsoft/onnxruntime#7645"),
    Mutant(runtime.returned_before_the_launch, "two streams", "microsoft/onnxruntime#4829"),
    Mutant(runtime.first_reader_counts, "two devices", "microsoft/onnxruntime#19480"),
    Mutant(runtime.one_reader_is_told, "two devices", "pytorch/pytorch#1355"),
    Mutant(runtime.nothing_is_given_back, "chain", "pytorch/pytorch#2474"),
    Mutant(runtime.starts_on_the_first_input, "two devices", "pytorch/pytorch#192141"),
    Mutant(runtime.last_message_first, "through the host", "tensorflow/tensorflow#3886"),
    # memory
    Mutant(runtime.first_slot_only, "two devices", "microsoft/onnxruntime#32121"),
    Mutant(runtime.leak, "chain", "tensorflow/tensorflow#1727"),
    Mutant(runtime.leak_after_failure, "does not open", "pytorch/pytorch#27600"),
    Mutant(runtime.double_free, "chain", "microsoft/onnxruntime#29372"),
    Mutant(runtime.freed_before_the_wait, "close during calls", "ROCm/xla#979"),
    Mutant(runtime.results_are_shared, "chain", "jax-ml/jax#37830"),
    Mutant(pool.handed_on_too_early, "sessions come and go", "meta-pytorch/torchrec#4231"),
    Mutant(pool.kept_and_given, "sessions come and go", "zephyrproject-rtos/zephyr#15279"),
    Mutant(pool.used_neighbours_are_united, "sessions come and go", "cahirwpz/FreeRTOS-Amiga#14"),
    Mutant(pool.dropped_when_released, "makes room", "LMCache/LMCache#3187"),
    Mutant(pool.refused_though_kept, "makes room", "modular/modular#6801"),
    # calls
    Mutant(calls.first_feed_is_kept, "chain", "microsoft/onnxruntime#11875"),
    Mutant(calls.call_of_another_number, "chain", "microsoft/onnxruntime#19275"),
    Mutant(calls.over_with_the_first_result, "two devices", "microsoft/onnxruntime#13571"),
    Mutant(calls.one_caller_is_told, "fails and goes on", "pytorch/pytorch#21554"),
    Mutant(calls.engine_survives_its_error, "fails and goes on", "pytorch/pytorch#18853"),
    Mutant(calls.restarts_at_once, "close during calls", "pytorch/pytorch#32832"),
    Mutant(calls.error_is_dropped, "fails and goes on", "pytorch/pytorch#100488"),
    Mutant(calls.cause_is_lost, "fails and goes on", "torch/cutorch#329"),
    Mutant(calls.sections_are_open, "variables", "tensorflow/tensorflow#3837"),
    Mutant(calls.section_is_never_left, "variables", "tensorflow/tensorflow#2130"),
    # callbacks
    Mutant(callbacks.callback_before_work, "callbacks", "LuisaGroup/LuisaCompute#248"),
    Mutant(callbacks.latest_result_first, "callbacks", "nolanlawson/pseudo-worker#8"),
    Mutant(callbacks.first_error_ends_the_thread, "callbacks", "Intel-bigdata/HPNL#20"),
    Mutant(callbacks.callbacks_wait_for_room, "callbacks", "apache/druid#670"),
    Mutant(callbacks.sync_waits_once, "callbacks", "openvinotoolkit/openvino#7374"),
    # threads and devices
    Mutant(calls.threads_go_on, "chain", "microsoft/onnxruntime#4093"),
    Mutant(calls.callers_wait_for_a_closed_job, "close during calls", "pytorch/pytorch#1233"),
    Mutant(calls.closes_for_all, "two executors", "microsoft/onnxruntime#22948"),
    Mutant(calls.never_closes, "chain", "tensorflow/tensorflow#13202"),
    Mutant(calls.opened_twice, "two executors", "tensorflow/tensorflow#25220"),
    # backends
    Mutant(backend.events_are_reused, "streams by hand", "vllm-project/vllm#39115"),
    Mutant(backend.waits_are_dropped, "streams by hand", "ROCm/pytorch#3194"),
    Mutant(backend.other_devices_are_not_waited_for, "streams by hand", "pytorch/pytorch#18465"),
    Mutant(backend.recorded_is_reached, "streams by hand", "pytorch/pytorch#137878"),
    Mutant(backend.event_before_its_work, "streams by hand", "rapidsai/rmm#2490"),
    Mutant(backend.all_but_the_last, "chain", "rapidsai/rmm#1655"),
    Mutant(backend.errors_are_swallowed, "fails and goes on", "pytorch/pytorch#16399"),
    Mutant(backend.stays_broken, "fails and goes on", "pytorch/pytorch#38966"),
    Mutant(backend.reads_when_asked, "streams by hand", "ROCm/rocBLAS#1369"),
    Mutant(backend.peers_read_when_asked, "two devices", "ROCm/hcc#643"),
    Mutant(backend.writes_when_asked, "streams by hand", "rapidsai/rapidsmpf#1163"),
    Mutant(backend.newest_first, "chain", "tensorflow/tensorflow#3879"),
    Mutant(backend.capture_is_stale, "chain", "pytorch/pytorch#114844"),
    Mutant(backend.capture_forgets, "chain", "beehive-lab/TornadoVM#1006"),
    Mutant(backend.memory_is_given_twice, "two executors", "microsoft/onnxruntime#21019"),
    Mutant(backend.frees_nothing, "chain", "tensorflow/tensorflow#18540"),
    Mutant(backend.offsets_are_ignored, "two devices", "pytorch/pytorch#109557"),
    Mutant(backend.writes_to_its_input, "two devices", "microsoft/onnxruntime#28359"),
)
"""All of them."""
