"""``VendorKernel``: an op as a sequence of vendor calls, recorded when its buffers are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from headrace.device import Buffer, DeviceContext, Kernel, Launch, OpCall
from headrace.dtypes import DType, dtype_of
from headrace_cambricon.context import CambriconContext
from headrace_cambricon.enums import KNOWN

if TYPE_CHECKING:
    from headrace_cambricon import _native

MAX_RANK = 8  # CNNL_DIM_MAX
_ALIGNMENT = 64
_SPARE_BYTES = 8192

DATA_TYPES = {
    "float16": KNOWN["CNNL_DTYPE_HALF"],
    "float32": KNOWN["CNNL_DTYPE_FLOAT"],
    "float64": KNOWN["CNNL_DTYPE_DOUBLE"],
    "bfloat16": KNOWN["CNNL_DTYPE_BFLOAT16"],
    "int8": KNOWN["CNNL_DTYPE_INT8"],
    "int16": KNOWN["CNNL_DTYPE_INT16"],
    "int32": KNOWN["CNNL_DTYPE_INT32"],
    "int64": KNOWN["CNNL_DTYPE_INT64"],
    "uint8": KNOWN["CNNL_DTYPE_UINT8"],
    "uint16": KNOWN["CNNL_DTYPE_UINT16"],
    "uint32": KNOWN["CNNL_DTYPE_UINT32"],
    "uint64": KNOWN["CNNL_DTYPE_UINT64"],
    "bool": KNOWN["CNNL_DTYPE_BOOL"],
}
"""The vendor's number of each dtype that it has."""


def between_bytes(shape: Sequence[int], dtype: DType | str) -> int:
    """What ``Recorder.between`` takes of the workspace."""
    return up(math.prod(shape) * dtype_of(str(dtype)).itemsize)


def up(nbytes: int) -> int:
    """``nbytes``, rounded up so that what lies behind is aligned."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


class Operand(NamedTuple):
    """A tensor as a vendor function takes it."""

    descriptor: _native.Object
    address: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def both(self) -> tuple[_native.Object, int]:
        """The two arguments that it is in most functions."""
        return self.descriptor, self.address


class Recorder:
    """Collects the calls of one kernel, bound to its buffers.

    Attributes:
        call: the op.
        context: the stream.
        inputs: addresses, in schema order; None for absent inputs.
        outputs: addresses.
    """

    def __init__(
        self,
        call: OpCall,
        context: CambriconContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> None:
        self.call = call
        self.context = context
        self.inputs = tuple(None if buffer is None else buffer.address for buffer in inputs)
        self.outputs = tuple(buffer.address for buffer in outputs)
        self._free = workspace.address if workspace else 0
        self._end = workspace.address + workspace.nbytes if workspace else 0
        self._launches: list[_native.Launch] = []

    def input(self, index: int) -> int:
        """The address of a required input."""
        address = self.inputs[index]
        assert address is not None
        return address

    def tensor(
        self,
        address: int,
        shape: Sequence[int],
        dtype: DType | str,
        layout: str = "ARRAY",
        strides: Sequence[int] | None = None,
    ) -> Operand:
        """Memory seen as a tensor; a scalar is described as one element.

        Args:
            address: of its first element.
            shape: at most ``MAX_RANK`` dimensions.
            dtype: one of ``DATA_TYPES``.
            layout: the vendor's name, without ``CNNL_LAYOUT_``.
            strides: in elements; None when it is contiguous.
        """
        dims, steps = list(shape) or [1], list(strides or ()) or [1]
        number, data_type = KNOWN[f"CNNL_LAYOUT_{layout}"], DATA_TYPES[str(dtype)]
        if strides is None:
            arguments: tuple[object, ...] = (number, data_type, len(dims), dims)
            made = self.configured("TensorDescriptor", "cnnlSetTensorDescriptor", *arguments)
        else:
            arguments = (number, data_type, len(dims), dims, steps)
            made = self.configured("TensorDescriptor", "cnnlSetTensorDescriptorEx", *arguments)
        return Operand(made, address, tuple(dims), str(dtype))

    def x(self, index: int, layout: str = "ARRAY") -> Operand:
        """A required input as it is."""
        spec = self.call.input(index)
        return self.tensor(self.input(index), spec.shape, spec.dtype, layout)

    def y(self, index: int = 0, layout: str = "ARRAY") -> Operand:
        """An output as it is."""
        spec = self.call.outputs[index]
        return self.tensor(self.outputs[index], spec.shape, spec.dtype, layout)

    def between(self, shape: Sequence[int], dtype: DType | str, layout: str = "ARRAY") -> Operand:
        """A tensor between two calls, in the planned workspace."""
        nbytes = math.prod(shape) * dtype_of(str(dtype)).itemsize
        return self.tensor(self.take(nbytes), shape, dtype, layout)

    def create(self, kind: str) -> _native.Object:
        """A descriptor of ``kind``, the vendor's name without ``cnnl`` and ``_t``."""
        from headrace_cambricon import _native

        return _native.Object(self.context.library, f"cnnl{kind}_t")

    def configured(self, kind: str, function: str, *arguments: object) -> _native.Object:
        """A descriptor of ``kind``, set by ``function``."""
        made = self.create(kind)
        self.context.library.configure(function, made, *arguments)
        return made

    def has(self, function: str) -> bool:
        """Whether the library has the function."""
        return self.context.library.has(function)

    def ask(self, function: str, *arguments: object) -> int:
        """Call a function that answers with one number, now."""
        answer = self.context.stream.ask(function, *arguments)
        assert isinstance(answer, int)
        return answer

    def add(self, function: str, *arguments: object) -> None:
        """Launch a function, behind those before it."""
        self._launches.append(self.context.stream.launch(function, *arguments))

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copy within the device, unless both are the same."""
        if to != source and nbytes:
            self._launches.append(self.context.stream.launch_copy(to, source, nbytes))

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set every byte."""
        self._launches.append(self.context.stream.launch_fill(address, byte, nbytes))

    def take(self, nbytes: int) -> int:
        """Part of the planned workspace, for what lies between two calls."""
        address, self._free = self._free, self._free + up(nbytes)
        assert self._free <= self._end, f"{self.call} planned too little workspace"
        return address

    def workspace(self, nbytes: int) -> tuple[int | None, int]:
        """Scratch memory for one call of the library, which says how much it needs.

        How much that is, only the library knows, and it is not asked while a job is compiled, when
        there may be no device. What is left of the plan serves as long as it is enough.
        """
        if not nbytes:
            return None, 0
        if nbytes <= self._end - self._free:
            return self._free, nbytes
        return self.context.scratch(nbytes), nbytes

    def cut(self) -> Launch:
        """What was added since the last cut, as one call."""
        launches, self._launches = self._launches, []
        return self.context.stream.join(launches)


class VendorKernel(Kernel):
    """An op said in vendor calls by ``record``."""

    def __init__(self, call: OpCall) -> None:
        self.call = call

    def between_bytes(self) -> int:
        """What ``record`` takes for tensors between its calls, each rounded by ``up``."""
        return 0

    def vendor_bytes(self) -> int:
        """What the library is expected to ask for; 0 for ops that have no workspace."""
        return 0

    def workspace_bytes(self) -> int:
        """What is planned; should the library want more, the stream has it."""
        if not any(spec.elements for spec in self.call.outputs):
            return 0
        return self.between_bytes() + self.vendor_bytes()

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Record the calls. Nothing is enqueued yet."""
        assert isinstance(context, CambriconContext)
        recorder = Recorder(self.call, context, inputs, outputs, workspace)
        if any(spec.elements for spec in self.call.outputs):
            self.record(recorder)
        return recorder.cut()

    def record(self, r: Recorder) -> None:
        """Add the calls; outputs are not empty."""
        raise NotImplementedError


class WithWorkspace(VendorKernel):
    """An op whose library function wants scratch memory."""

    def vendor_bytes(self) -> int:
        """Room for one copy of everything that it touches: a guess, which need not hold."""
        specs = [spec for spec in (*self.call.inputs, *self.call.outputs) if spec is not None]
        return sum(up(spec.nbytes) for spec in specs) + _SPARE_BYTES
