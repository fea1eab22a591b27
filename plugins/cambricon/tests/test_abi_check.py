"""The tables of functions, held against headers: made-up ones here, and the SDK's where it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GENERATOR = Path(__file__).parents[1] / "csrc" / "abi_check.py"
COMPILER = shutil.which("c++")

CNRT = """
#pragma once
#include <stddef.h>
#define CNRT_MAJOR_VERSION 6
typedef enum { cnrtSuccess = 0, cnrtErrorNotReady = 1 } cnrtRet_t;
typedef enum { cnrtMemcpyHostToDev = 0 } cnrtMemTransDir_t;
typedef struct CNqueue_st *cnrtQueue_t;
extern "C" {
cnrtRet_t cnrtQueueCreate(cnrtQueue_t *queue);
cnrtRet_t cnrtMemcpyAsync(void *to, void *from, size_t n, cnrtQueue_t q, cnrtMemTransDir_t d);
}
"""
CNNL = """
#include <cnrt.h>
typedef enum { CNNL_DTYPE_HALF = 1, CNNL_DTYPE_FLOAT = 2 } cnnlDataType_t;
typedef enum { CNNL_STATUS_SUCCESS = 0 } cnnlStatus_t;
typedef struct cnnlContext *cnnlHandle_t;
typedef struct cnnlTensorStruct *cnnlTensorDescriptor_t;
typedef struct cnnlConvolutionStruct *cnnlConvolutionDescriptor_t;
extern "C" {
cnnlStatus_t cnnlSquare(cnnlHandle_t handle, const cnnlTensorDescriptor_t x_desc, const void *x,
                        const cnnlTensorDescriptor_t y_desc, void *y);
cnnlStatus_t cnnlSetConvolutionDescriptor(cnnlConvolutionDescriptor_t conv, int rank,
                                          const int pad[], const int stride[],
                                          const int dilation[], const int groups);
cnnlStatus_t cnnlFill(cnnlHandle_t handle, float value, const cnnlTensorDescriptor_t y, void *out);
}
"""


def compiled(folder: Path, cnrt: str, cnnl: str) -> subprocess.CompletedProcess[str]:
    (folder / "cnrt.h").write_text(cnrt)
    (folder / "cnnl.h").write_text(cnnl)
    subprocess.run([sys.executable, GENERATOR, folder, folder / "check.cpp"], check=True)
    command = [COMPILER or "", "-std=c++17", "-fsyntax-only", f"-I{folder}", folder / "check.cpp"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


@needs_compiler
def test_headers_that_fit_compile(tmp_path: Path) -> None:
    """Enums are passed as int; of a function that changed, either shape will do."""
    done = compiled(tmp_path, CNRT, CNNL)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "check.cpp").read_text()
    assert "cnnlSquare" in text and "cnnlSqrt" not in text  # the header names no such function


@needs_compiler
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("const cnnlTensorDescriptor_t y_desc, void *y);", "void *y);", "cnnlSquare"),
        ("float value", "double value", "cnnlFill"),
        ("float value", "int value", "cnnlFill"),
        ("float value", "const float *value", "cnnlFill"),
        ("const int dilation[], ", "", "cnnlSetConvolutionDescriptor"),
        ("cnrtQueue_t q, cnrtMemTransDir_t d", "cnrtMemTransDir_t d, cnrtQueue_t q",
         "cnrtMemcpyAsync"),
        ("CNNL_DTYPE_HALF = 1", "CNNL_DTYPE_HALF = 4", "CNNL_DTYPE_HALF"),
    ],
)  # fmt: skip
def test_a_header_that_differs_is_told_by_the_function(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    """A parameter more or less, another kind, another order, another number."""
    done = compiled(tmp_path, CNRT.replace(old, new), CNNL.replace(old, new))
    faults = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(faults) == 1 and f"{told}: its header has" in faults[0], done.stderr


def test_every_function_of_the_tables_is_read() -> None:
    """As many as there are lines that declare one."""
    sys.path.insert(0, str(GENERATOR.parent))
    try:
        import abi_check
    finally:
        sys.path.remove(str(GENERATOR.parent))
    declared = [
        line
        for table in ("cnrt.inc", "cnnl.inc")
        for line in (GENERATOR.parent / "api" / table).read_text().splitlines()
        if line.startswith(("CNRT(", "CNNL(", "CNNL_NEEDED(", "CNNL_SHAPE("))
    ]
    assert sum(map(len, abi_check.functions().values())) == len(declared)
    assert abi_check.numbers()["CNNL_DTYPE_INT64"] == 9
