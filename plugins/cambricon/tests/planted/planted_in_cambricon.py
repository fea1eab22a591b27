"""Bugs planted in the backend, one function at a time, each with what the stand-in says of it.

Run as a program, this plants one and runs a job on the second card; who runs it reads the log.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.device import Buffer, DeviceContext, Launch
from headrace.errors import HeadraceError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec
from headrace_cambricon import enums
from headrace_cambricon.context import CambriconContext
from headrace_cambricon.kernels import conv, quantized
from headrace_cambricon.kernels.kernel import Operand, Recorder, VendorKernel
from headrace_cambricon.memory import CambriconAllocator
from headrace_cambricon.settling import CambriconEvent

Plant = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """A bug.

    Attributes:
        plant: replaces one function; its docstring says what the bug does.
        call: the vendor's function that is named.
        kind: what is said of it.
    """

    plant: Plant
    call: str
    kind: str

    @property
    def name(self) -> str:
        """As in the code."""
        return self.plant.__name__


MUTANTS: list[Mutant] = []


def caught_as(call: str, kind: str) -> Callable[[Plant], Plant]:
    """Enter a mutant."""

    def enter(plant: Plant) -> Plant:
        MUTANTS.append(Mutant(plant, call, kind))
        return plant

    return enter


def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Put what ``make`` makes of a function in its place."""
    setattr(owner, name, make(getattr(owner, name)))


@caught_as("cnnlConvolutionForward", "out-of-bounds")
def bias_of_a_byte_each() -> None:
    """The bias of a convolution is memory of one byte for each float that it is said to have."""

    def with_bytes(convolve: Any) -> Any:
        def mutant(r: Recorder, described: Any, x: Any, w: Any, bias: Any, y: Operand) -> None:
            count = int(np.prod(y.shape))
            address = r.context.library.allocate(r.context.device.index, count)
            convolve(r, described, x, w, r.tensor(address, y.shape, "float32", "NHWC"), y)

        return mutant

    replaced(conv, "convolve", with_bytes)


@caught_as("cnrtFree", "freed-in-use")
def workspace_freed_behind_the_launch() -> None:
    """The workspace of an op is allocated for its launch, and freed behind it."""
    given: list[tuple[CambriconContext, int]] = []

    def allocated(r: Recorder, nbytes: int) -> tuple[int | None, int]:
        address = r.context.library.allocate(r.context.device.index, max(nbytes, 1))
        given.append((r.context, address))
        return address, nbytes

    def freeing(bind: Any) -> Any:
        def mutant(
            kernel: VendorKernel,
            context: DeviceContext,
            inputs: Sequence[Buffer | None],
            outputs: Sequence[Buffer],
            workspace: Buffer | None,
        ) -> Launch:
            launch = bind(kernel, context, inputs, outputs, workspace)
            mine, given[:] = tuple(given), []

            def launch_and_free() -> None:
                launch()
                for owner, address in mine:
                    owner.library.free(owner.device.index, address)

            return launch_and_free

        return mutant

    Recorder.workspace = allocated  # type: ignore[method-assign]
    replaced(VendorKernel, "bind", freeing)


@caught_as("cnnlTranspose_v2", "workspace")
def workspace_not_asked_for() -> None:
    """Ops that need a workspace are given none."""
    Recorder.workspace = lambda r, nbytes: (None, 0)  # type: ignore[method-assign]


@caught_as("cnnlTranspose_v2", "workspace")
def workspace_of_half_the_size() -> None:
    """Of the workspace that the library asks for, ops are given half."""

    def halved(workspace: Any) -> Any:
        return lambda r, nbytes: (workspace(r, nbytes)[0], nbytes // 2)

    replaced(Recorder, "workspace", halved)


@caught_as("cnrtMemcpy", "missing-sync")
def scales_read_before_they_are_there() -> None:
    """What the card fits for a factor is read back without waiting for it."""
    context = CambriconContext

    def reading(bind: Any) -> Any:
        def mutant(kernel: Any, *arguments: Any) -> Launch:
            launch = bind(kernel, *arguments)

            def unsynchronised() -> None:
                waits = context.synchronize
                context.synchronize = lambda self: None  # type: ignore[method-assign]
                try:
                    launch()
                finally:
                    context.synchronize = waits  # type: ignore[method-assign]

            return unsynchronised

        return mutant

    replaced(quantized.TwoFactors, "bind", reading)


@caught_as("cnnlQuantizeV1", "quantization")
def scales_never_set() -> None:
    """The integers of a product are multiplied without position and scale."""
    quantized.Fitted.read = lambda self, context: None  # type: ignore[method-assign]


@caught_as("cnnlExpand", "wrong-device")
def memory_of_the_first_card() -> None:
    """Memory is allocated on the card that is current, whichever is meant: there is no guard."""

    def on_the_first(self: CambriconAllocator, nbytes: int) -> Any:
        library, index = self._device.library, self._device.index
        return type(made := allocate(self, nbytes))(
            library.allocate(0, max(nbytes, 1)), made.nbytes, index
        )

    allocate = CambriconAllocator.allocate
    CambriconAllocator.allocate = on_the_first  # type: ignore[method-assign]


@caught_as("exit", "leak")
def descriptors_are_kept() -> None:
    """Nobody destroys the descriptors of a launch."""

    def kept(create: Any) -> Any:
        def mutant(r: Recorder, kind: str) -> Any:
            made = create(r, kind)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
            return made

        return mutant

    replaced(Recorder, "create", kept)


@caught_as("cnrtFree", "freed-in-use")
def memory_freed_before_the_wait() -> None:
    """A job gives its memory back without waiting for what is queued."""
    CambriconContext.synchronize = lambda self: None  # type: ignore[method-assign]
    CambriconEvent.synchronize = lambda self: None  # type: ignore[method-assign]
    CambriconEvent.is_reached = lambda self: True  # type: ignore[method-assign]


@caught_as("cnnlTranspose_v2", "unordered")
def streams_do_not_wait() -> None:
    """A stream that shall wait for an event of another goes on at once."""
    CambriconContext.wait_event = lambda self, event: None  # type: ignore[method-assign]


@caught_as("cnrtMemcpyAsync_V3", "wrong-direction")
def copied_the_wrong_way() -> None:
    """What goes to the card is said to come from it."""

    def turned(self: CambriconContext, destination: Buffer, source: Any) -> None:
        self.stream.copy_d2h(destination.address, source.address, destination.nbytes)

    CambriconContext.copy_h2d = turned  # type: ignore[method-assign]


@caught_as("cnnlGetMatMulAlgoHeuristic", "layout")
def every_tensor_an_image() -> None:
    """Every tensor is described as an image, whatever its rank."""

    def described(tensor: Any) -> Any:
        def mutant(r: Recorder, address: int, shape: Any, dtype: Any, *more: Any, **named: Any):  # type: ignore[no-untyped-def]
            return tensor(r, address, shape, dtype, "NHWC", named.get("strides"))

        return mutant

    replaced(Recorder, "tensor", described)


@caught_as("cnnlGetConvolutionForwardAlgorithm", "unknown-enum")
def numbers_are_guessed() -> None:
    """Enumerators that nobody has told the number of are counted from their order."""
    replaced(enums, "find", lambda find: lambda name: enums.KNOWN.get(name, 2))


@caught_as("cnnlExpand", "use-after-free")
def constants_freed_when_uploaded() -> None:
    """What the host gives a kernel to read is freed when it has arrived."""

    def freed(self: CambriconContext, data: bytes) -> int:
        address = self.library.allocate(self.device.index, len(data))
        self.library.upload(self.device.index, address, data)
        self.library.free(self.device.index, address)
        return address

    CambriconContext.constant = freed  # type: ignore[method-assign]


@caught_as("cnrtFree", "double-free")
def freed_twice() -> None:
    """A buffer is given back twice."""

    def twice(free: Any) -> Any:
        def mutant(self: CambriconAllocator, buffer: Buffer) -> None:
            free(self, buffer)
            free(self, buffer)

        return mutant

    replaced(CambriconAllocator, "free", twice)


@caught_as("cnnlExpand", "out-of-bounds")
def rows_are_counted_twice() -> None:
    """A tensor is described with twice as many rows as it has."""

    def longer(tensor: Any) -> Any:
        def mutant(r: Recorder, address: int, shape: Any, *more: Any, **named: Any) -> Any:
            return tensor(r, address, (2 * shape[0], *shape[1:]), *more, **named)

        return mutant

    replaced(Recorder, "tensor", longer)


def run() -> None:
    """A job on the second card: an image's convolution, a fitted product, and some arithmetic."""
    random = np.random.default_rng(1)
    image = random.standard_normal((1, 2, 6, 6), np.float32)
    rows, columns = (random.standard_normal(s, np.float32) for s in ((8, 72), (72, 8)))
    builder = JobGraphBuilder("planted", Placement.of_device("cambricon:1"), fold=False)
    x, a, b = (
        builder.input(name, TensorSpec.of(array))
        for name, array in (("x", image), ("a", rows), ("b", columns))
    )
    (taps,) = builder.op("fill", [], shape=(2, 2, 1, 1), value=0.5)
    (bias,) = builder.op("fill", [], shape=(2,), value=1.0)
    (y,) = builder.op("conv", [x, taps, bias])
    (flat,) = builder.op("reshape", [y], shape=(72,))
    (product,) = builder.op("matmul", [a, b])
    (turned,) = builder.op("transpose", [product], perm=(1, 0))
    (summed,) = builder.op("add", [product, turned])
    builder.output("y", builder.op("multiply", [flat, flat])[0])
    builder.output("z", summed)
    with CompiledJob(builder.finish(), BackendRegistry()) as job:
        for _ in range(2):
            job.run({"x": image, "a": rows, "b": columns})


if __name__ == "__main__":
    for mutant in MUTANTS:
        if mutant.name in sys.argv[1:]:
            mutant.plant()
    with suppress(HeadraceError):
        run()
    gc.collect()
