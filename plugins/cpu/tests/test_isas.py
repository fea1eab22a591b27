"""Every instruction set that this machine has computes the same numbers within rounding."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace_cpu import _native

FILES = [
    "test_attention.py",
    "test_cache.py",
    "test_block_matmul.py",
    "test_cast.py",
    "test_detection.py",
    "test_halves.py",
    "test_byte_pool.py",
    "test_image.py",
    "test_integer.py",
    "test_integer_add.py",
    "test_integer_batch.py",
    "test_integer_depthwise.py",
    "test_native.py",
    "test_native_elementwise.py",
    "test_native_norm.py",
    "test_planes.py",
    "test_product.py",
    "test_program.py",
    "test_ranking.py",
    "test_recurrent.py",
    "test_resample.py",
    "test_rows.py",
    "test_sampling.py",
    "test_signal.py",
    "test_winograd.py",
]
"""Tests of kernels that are compiled for each."""


@pytest.mark.skipif("HEADRACE_CPU_ISA" in os.environ, reason="is being one of these machines")
@pytest.mark.parametrize("isa", _native.isas()[:-1])
@pytest.mark.parametrize("file", FILES)
def test_older_machines_agree(file, isa):
    """The tests of each kernel hold on every machine that is older than this one."""
    path = Path(__file__).with_name(file)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(
        command, env={**os.environ, "HEADRACE_CPU_ISA": isa}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()


KERNELS = Path(__file__).parents[1] / "csrc" / "kernels"
NUMBERS = {"size_t", "uintptr_t"} | {f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}
OF_C = {"memcpy", "strcmp", "ceil", "copysign", "cos", "erf", "exp", "fabs", "floor", "fmod",
        "nearbyint", "sin", "sqrt", "trunc"}  # fmt: skip
"""Functions that the library of C has: one for all, which no source compiles."""


def test_a_source_for_each_instruction_set_shares_no_function_with_another():
    """One of C++'s own library may be kept as the copy that only the newest machine runs.

    Headers may have one for others, as for a vector of theirs: what such a source names is asked,
    and what the headers name that nobody else includes.
    """
    sources = sorted(KERNELS.rglob("*_isa.cpp"))
    begin = re.compile("^namespace headrace::cpu::HEADRACE_ISA {", re.MULTILINE)
    own = [path for path in KERNELS.rglob("*.h") if begin.search(path.read_text())]
    assert sources
    assert own
    for source in [*sources, *own]:
        text = source.read_text()
        included = set(re.findall(r"^#include <(.*)>", text, re.MULTILINE))
        assert included <= {"cmath", "cstddef", "cstdint", "cstring", "immintrin.h"}, source.name
        named = set(re.findall(r"std::(\w+)", text))
        assert named <= NUMBERS | OF_C, source.name
