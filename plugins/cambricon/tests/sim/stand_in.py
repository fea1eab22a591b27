"""The stand-in's libraries, called by name through ctypes as a C program would call them.

Each test runs in a process of its own (see ``conftest.py``): the libraries of two eras do not go
into one, and what is leaked or held at the end is part of the result.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

HOST_TO_CARD, CARD_TO_CARD, CARD_TO_HOST, HOST_TO_HOST, PEER, FROM_POINTERS = range(6)
NCHW, NHWC, HWCN, NDHWC, ARRAY = range(5)
NLC = 9
DTYPES = {
    "float16": 1,
    "float32": 2,
    "int8": 3,
    "int16": 4,
    "int32": 6,
    "uint8": 7,
    "bool": 8,
    "int64": 9,
    "float64": 14,
}
OK = 0
BAD_PARAM, EXECUTION_FAILED, NOT_SUPPORTED = 3, 6, 7

# For tests of what only some eras have.
later_eras = pytest.mark.parametrize("start", [5, 6], indirect=True, ids=("era5", "era6"))
first_era = pytest.mark.parametrize("start", [4], indirect=True, ids=("era4",))
last_era = pytest.mark.parametrize("start", [6], indirect=True, ids=("era6",))

# What the first era calls what the others, and the tests, call by the name on the left.
OLD_NAMES = {
    "cnrtQueueCreate": "cnrtCreateQueue",
    "cnrtQueueDestroy": "cnrtDestroyQueue",
    "cnrtQueueSync": "cnrtSyncQueue",
    "cnrtQueueQuery": "cnrtQueryQueue",
    "cnrtNotifierCreate": "cnrtCreateNotifier",
    "cnrtMemsetAsync": "cnrtMemsetD8Async",
    "cnrtGetLastError": "cnrtGetLastErr",
    "cnrtPeekAtLastError": "cnrtPeekLastErr",
}

# cnrtRet_t by meaning: what eras 4, 5 and 6 say.
CODES = {
    "not ready": (632006, 632008, 1),
    "busy": (632014, 632014, 632014),
    "not initialised": (632024, 632001, 100002),
    "invalid": (632007, 632003, 100006),
    "no memory": (632008, 632004, 100100),
    "no device": (632009, 632005, 100004),
    "queue": (632025, 632012, 100060),
    "direction": (632036, 632013, 632013),
    "driver": (632046, 632015, 632015),
    "unsupported": (632020, 632016, 100050),
    "bad ordinal": (632007, 632018, 100005),
    "wrong device": (632007, 632006, 632006),
    "system": (632011, 632007, 100007),
}


def folder() -> Path | None:
    """Where era4, era5 and era6 are: as MLUSIM_FOLDER says, or in the installed package."""
    if named := os.environ.get("MLUSIM_FOLDER"):
        return Path(named)
    package = importlib.util.find_spec("headrace_cambricon")
    for place in (package and package.submodule_search_locations) or ():
        if (found := Path(place) / "sim").is_dir():
            return found
    return None


def address(array: NDArray) -> int:
    """Of the first element."""
    return array.ctypes.data


class StandIn:
    """The three libraries of one era, loaded with the given MLUSIM_... settings."""

    def __init__(
        self, era: int, place: Path, *, initialise: bool = True, **settings: object
    ) -> None:
        self.era = era
        for name in [name for name in os.environ if name.startswith("MLUSIM_")]:
            del os.environ[name]
        os.environ.update({f"MLUSIM_{k.upper()}": str(v) for k, v in settings.items()})
        names = ("libcndrv.so", "libcnrt.so", "libcnnl.so")
        self.libraries = [
            ctypes.CDLL(str(place / f"era{era}" / name), os.RTLD_NOW | os.RTLD_GLOBAL)
            for name in names
        ]
        if era < 6 and initialise:
            self.check("cnrtInit", 0)

    def has(self, name: str) -> bool:
        """Is the function exported?"""
        return hasattr(self._library(name), name)

    def name(self, current: str) -> str:
        """What this era calls it."""
        return OLD_NAMES.get(current, current) if self.era == 4 else current

    def _library(self, name: str) -> ctypes.CDLL:
        return self.libraries[{"cnrt": 1, "cnnl": 2}.get(name[:4], 0)]

    def call(self, current: str, *arguments: object) -> int:
        """The status. Integers and pointers go as 64 bits, Python floats as float."""
        function = getattr(self._library(current), self.name(current))
        return function(*map(self._argument, arguments))

    @staticmethod
    def _argument(value: object) -> object:
        if value is None:
            return ctypes.c_void_p(None)
        if isinstance(value, float):
            return ctypes.c_float(value)
        if isinstance(value, int | np.integer):
            return ctypes.c_int64(int(value))
        return value

    def check(self, current: str, *arguments: object) -> None:
        """Call, and expect success."""
        status = self.call(current, *arguments)
        assert status == OK, f"{self.name(current)} answered {status}: {self.reports()}"

    def out(self, current: str, *arguments: object, kind=ctypes.c_void_p, first=True):
        """Call with a variable to fill, as the first or the last argument; what it then holds."""
        variable = kind()
        pointer = ctypes.byref(variable)
        self.check(current, *((pointer, *arguments) if first else (*arguments, pointer)))
        return variable.value or 0

    def code(self, meaning: str) -> int:
        """The number of cnrtRet_t in this era."""
        return CODES[meaning][self.era - 4]

    def enum(self, name: str) -> int:
        """The stand-in's number of an enumerator."""
        return self.out("mlusim_enum", name.encode(), kind=ctypes.c_int, first=False)

    # Reports

    def reports(self) -> list[str]:
        """All that were made and not taken."""
        lines = []
        for index in range(self.call("mlusim_report_count")):
            buffer = ctypes.create_string_buffer(4096)
            self.call("mlusim_report", index, buffer, len(buffer))
            lines.append(buffer.value.decode())
        return lines

    def take(self, call: str, kind: str) -> str:
        """The only report, which must be about this call and of this kind."""
        lines = self.reports()
        start = f"{self.name(call)}: [{kind}] "
        assert len(lines) == 1, f"expected one report `{start}`, found {lines}"
        assert lines[0].startswith(start), f"expected `{start}`, found {lines[0]}"
        self.call("mlusim_clear_reports")
        return lines[0].removeprefix(start)

    def refuse(self, call: str, *arguments: object, kind: str, status: int | None = None) -> str:
        """Call; it fails, with this status if one is given, and its report is of this kind."""
        answer = self.call(call, *arguments)
        assert answer != OK if status is None else answer == status, f"answered {answer}"
        return self.take(call, kind)

    # Queues and memory

    def select(self, card: int) -> int:
        """Make a card the thread's current one; the status."""
        if self.era > 4:
            return self.call("cnrtSetDevice", card)
        device = ctypes.c_uint64()
        status = self.call("cnrtGetDeviceHandle", ctypes.byref(device), card)
        return status or self.call("cnrtSetCurrentDevice", device.value)

    @contextmanager
    def on(self, card: int) -> Iterator[None]:
        """The card is current inside; card 0 afterwards."""
        assert self.select(card) == OK
        yield
        assert self.select(0) == OK

    def queue(self) -> int:
        return self.out("cnrtQueueCreate")

    def notifier(self) -> int:
        return self.out("cnrtNotifierCreate")

    def destroy_notifier(self, notifier: int) -> int:
        if self.era == 4:
            return self.call("cnrtDestroyNotifier", ctypes.byref(ctypes.c_void_p(notifier)))
        return self.call("cnrtNotifierDestroy", notifier)

    def sync(self, queue: int | None = None) -> None:
        self.check("cnrtQueueSync", queue)

    def allocate(self, size: int) -> int:
        return self.out("cnrtMalloc", size)

    def free(self, *pointers: int) -> None:
        for pointer in pointers:
            self.check("cnrtFree", pointer)

    def pin(self, size: int) -> int:
        """Page-locked memory of the host."""
        if self.era == 4:
            return self.out("cnrtMallocHost", size, 1)
        return self.out("cnrtHostMalloc", size)

    def to_card(self, array: NDArray) -> int:
        """A new block with the array's bytes."""
        array = np.ascontiguousarray(array)
        pointer = self.allocate(max(array.nbytes, 1))
        self.check("cnrtMemcpy", pointer, address(array), array.nbytes, HOST_TO_CARD)
        return pointer

    def to_host(self, pointer: int, shape: Sequence[int], dtype: object) -> NDArray:
        """What lies there, without waiting for anything."""
        array = np.empty(shape, dtype)
        self.check("cnrtMemcpy", address(array), pointer, array.nbytes, CARD_TO_HOST)
        return array

    # The library

    def handle(self, queue: int | None = None) -> int:
        handle = self.out("cnnlCreate")
        if queue is not None:
            self.check("cnnlSetQueue", handle, queue)
        return handle

    def destroy(self, *descriptors: int) -> None:
        """Tensor descriptors."""
        for descriptor in descriptors:
            self.check("cnnlDestroyTensorDescriptor", descriptor)

    def close(self, handle: int, queue: int | None = None) -> None:
        """Destroy a handle, and then its queue."""
        self.check("cnnlDestroy", handle)
        if queue is not None:
            self.check("cnrtQueueDestroy", queue)

    def tensor(
        self, shape: Sequence[int], dtype: object = "float32", layout: int = ARRAY, strides=None
    ) -> int:
        """A tensor descriptor."""
        descriptor = self.out("cnnlCreateTensorDescriptor")
        arguments = [layout, DTYPES[np.dtype(dtype).name], len(shape), ints(shape)]
        if strides is None:
            self.check("cnnlSetTensorDescriptor", descriptor, *arguments)
        else:
            self.check("cnnlSetTensorDescriptorEx", descriptor, *arguments, ints(strides))
        return descriptor


def fork() -> int:
    """As os.fork, of a process that may have threads: later Pythons warn of those."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def ints(values: Sequence[int]) -> ctypes.Array:
    """A C array of int."""
    return (ctypes.c_int * len(values))(*values)


def longs(values: Sequence[int]) -> ctypes.Array:
    """A C array of int64_t."""
    return (ctypes.c_int64 * len(values))(*values)


def pointers(values: Sequence[int]) -> ctypes.Array:
    """A C array of pointers."""
    return (ctypes.c_void_p * len(values))(*values)


def number(value: float) -> object:
    """The address of a float in host memory, as alpha and beta are given."""
    return ctypes.byref(ctypes.c_float(value))
