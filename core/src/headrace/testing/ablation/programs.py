"""Small programs that use a device in every way that core does, and know what must come of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder, SbpHint
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec
from headrace.testing.launches import CountingRegistry
from headrace.testing.opened import OpenedDevice

X = np.array([1, -2, 3.5, 0, 7, 9, -1, 4], np.float32)
SPEC = TensorSpec.of(X)


class WrongNumbersError(Exception):
    """A device computed something else than it should."""


def run_programs(tag: str, registry: CountingRegistry) -> None:
    """Use the device in every way that core does.

    Raises:
        WrongNumbersError: it computes something else.
    """
    several = (_several,) if registry.device_count(tag) > 1 else ()
    for program in (_job, _streams, *several) * 2:  # everything is closed and opened again
        registry.launches = 0
        program(tag, registry)


def _job(tag: str, registry: BackendRegistry) -> None:
    builder = JobGraphBuilder("ablation", Placement.of_device(tag))
    x = builder.input("x", SPEC)
    constant = builder.constant(np.full_like(X, 2))
    (y,) = builder.op("add", [x, constant])
    (z,) = builder.op("add", [y, y])
    builder.output("y", y)
    builder.output("z", z)
    with CompiledJob(builder.finish(), registry) as job:
        for shift in range(3):
            given = X + np.float32(shift)
            results = job.run({"x": given})
            _equal("a job", results["y"], given + 2)
            _equal("a job", results["z"], 2 * (given + 2))


def _several(tag: str, registry: BackendRegistry) -> None:
    """What two devices share out, give each other and reduce, if they have kernels for that."""
    kernels = registry.backend(tag).kernels
    if not all(kernels.entries(op) for op in ("add", "slice", "concat")):
        return
    builder = JobGraphBuilder("two devices", Placement.parse(tag, "0:0-1"))
    x = builder.input("x", SPEC)
    shares: list[Tensor] = []
    for wish in ("S(0)", "P"):
        (share,) = builder.op("add", [x, x], name=f"lies as {wish}")
        builder.hint(share, SbpHint.of(wish))
        shares.append(share)
    (y,) = builder.op("add", shares)
    builder.hint(y, SbpHint.of("B"))
    builder.output("y", y)
    with CompiledJob(builder.finish(), registry) as job:
        for shift in range(3):
            given = X + np.float32(shift)
            _equal("two devices", job.run({"x": given})["y"], 4 * given)


def _streams(tag: str, registry: BackendRegistry) -> None:
    with OpenedDevice(f"{tag}:0", registry) as opened:
        h2d, compute, d2h = opened.h2d(), opened.compute(), opened.d2h()
        x, y, z = (opened.allocate(SPEC.nbytes) for _ in range(3))
        source, result = opened.host_copy(X), opened.host(SPEC.nbytes)
        launches = [
            opened.bind(compute, "add", [(SPEC, x), (SPEC, x)], [y]),
            opened.bind(compute, "add", [(SPEC, y), (SPEC, x)], [z]),
        ]
        captured = compute.capture(launches)
        h2d.copy_h2d(x, source)
        loaded = h2d.record_event()
        compute.wait_event(loaded)
        captured()
        compute.copy_d2d(y, z)
        d2h.wait_event(compute.record_event())
        d2h.copy_d2h(result, y)
        d2h.synchronize()
        _equal("three streams", result.array(SPEC), 3 * X)
        h2d.copy_h2d(y, opened.host_copy(X + 1))
        h2d.record_event().synchronize()
        _equal("an event", opened.download(y, SPEC), X + 1)


def _equal(what: str, got: Any, want: Any) -> None:
    if not np.array_equal(got, want):
        raise WrongNumbersError(f"{what} gave {got.tolist()}, and should give {want.tolist()}")
