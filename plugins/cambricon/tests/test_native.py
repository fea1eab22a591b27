"""The extension: arguments of vendor calls are checked, and failures name the call."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

import numpy as np
import pytest

from headrace.testing import OpenedDevice
from headrace_cambricon import _native
from headrace_cambricon.errors import CambriconError, LibraryError
from headrace_cambricon.library import library


@pytest.fixture
def tensor() -> _native.Object:
    return _native.Object(library(), "cnnlTensorDescriptor_t")


def test_arguments_are_checked_by_type_and_number(tensor: _native.Object) -> None:
    """The message names the function, and which argument."""
    configure = library().configure
    with pytest.raises(TypeError, match=r"cnnlSetTensorDescriptor: .* more than 2 arguments"):
        configure("cnnlSetTensorDescriptor", tensor, 4)
    with pytest.raises(TypeError, match="argument 2 is 'NHWC'"):
        configure("cnnlSetTensorDescriptor", tensor, "NHWC", 2, 1, [1])
    with pytest.raises(TypeError, match="it takes 5 arguments, not 6"):
        configure("cnnlSetTensorDescriptor", tensor, 4, 2, 1, [1], 0)
    with pytest.raises(TypeError, match="cnnlActivationDescriptor_t"):
        configure("cnnlActivationForward", tensor)


def test_what_is_not_in_the_table_cannot_be_called() -> None:
    """A misspelt name is an error of the caller, not of the library."""
    with pytest.raises(ValueError, match="cnnlSettTensor is not in the table"):
        library().has("cnnlSettTensor")
    with pytest.raises(ValueError, match="there is no cnnlNothing_t"):
        _native.Object(library(), "cnnlNothing_t")


def test_a_failure_names_the_call_and_its_status(tensor: _native.Object) -> None:
    """As an error of headrace, with the parts of the message as attributes."""
    with pytest.raises(CambriconError, match="cnnlSetTensorDescriptor failed") as caught:
        library().configure("cnnlSetTensorDescriptor", tensor, 4, 2, 0, [])
    assert caught.value.call == "cnnlSetTensorDescriptor"
    assert caught.value.status == 3


def test_a_failure_in_a_sequence_says_which_launch(tensor: _native.Object) -> None:
    """So that the op is named."""
    with OpenedDevice("cambricon:0") as opened:
        stream = opened.compute().stream
        good = stream.launch_fill(opened.allocate(64).address, 0, 64)
        bad = stream.launch("cnnlSquare", tensor, 64, tensor, 64)  # never set
        with pytest.raises(CambriconError) as caught:
            stream.join([good, good, bad])()
        assert caught.value.part == 2


def test_a_missing_function_is_named() -> None:
    """The table has more than any one release."""
    stale = "cnnlSetPooling2dDescriptor"
    if library().has(stale):
        pytest.skip("this era has it")
    with pytest.raises(LibraryError, match=f"libcnnl.so has no {stale}"):
        library().configure(stale)


def test_nothing_is_left_behind() -> None:
    """Queues, handles, notifiers, descriptors and memory are gone with their owners."""
    driver = ctypes.CDLL(str(Path(library().runtime_path).with_name("libcndrv.so")))
    driver.mlusim_live.restype = ctypes.c_size_t
    kinds = ("queue", "notifier", "tensor descriptor", "card memory", "page-locked memory")

    def live() -> list[int]:
        return [driver.mlusim_live(kind.encode()) for kind in kinds]

    gc.collect()  # what earlier tests kept in their tracebacks
    before = live()
    with OpenedDevice("cambricon:0") as opened:
        opened.upload(np.ones(10, np.float32))
        opened.compute().record_event().synchronize()
    gc.collect()
    assert live() == before
