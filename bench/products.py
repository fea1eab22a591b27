"""Products of matrices on the CPU, against numpy and onnxruntime, and the machine's own limit.

    python bench/products.py [--threads 1] [--rounds 15]

Sizes of convolutions, transformers and classifiers. All run interleaved in one process; packing of
weights is not measured, as onnxruntime does it while it loads. The limit is what the same kernel
reaches on a product that stays in the first cache. numpy takes its threads from
OPENBLAS_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
from arguments import positive
from onnx import TensorProto, helper, numpy_helper
from peer import peer_session
from rich.console import Console
from rich.table import Table

import headrace_cpu
from headrace.tensor_spec import Array
from headrace_cpu import _native

SIZES = (
    (1024, 1024, 1024), (3136, 64, 64), (3136, 64, 256), (784, 512, 128), (196, 1024, 256),
    (49, 4608, 512), (128, 384, 1536), (12544, 27, 32), (784, 144, 40), (1, 2048, 1000),
)  # fmt: skip
"""Rows, depth, columns."""


def main() -> None:
    """Measure every size and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=15)
    options = parser.parse_args()
    headrace_cpu.set_threads(options.threads)
    table = Table("size", "headrace", "numpy", "onnxruntime", "ratio to the faster")
    limit = 2 * 12 * 64 * 256 * 4000 / min(repeat(packed_product(12, 256, 64)[0], 4000, 5)) / 1e9
    for size in SIZES:
        table.add_row("x".join(map(str, size)), *measure(size, options.threads, options.rounds))
    Console().print(table)
    print(f"GFLOP/s, medians; one thread in the first cache: {limit:.0f} ({_native.isa()})")


def measure(size: tuple[int, int, int], threads: int, rounds: int) -> tuple[str, ...]:
    """GFLOP/s of the three, and the time beside the faster peer's."""
    rows, depth, columns = size
    ours, x, matrix = packed_product(rows, depth, columns)
    result = np.empty((rows, columns), np.float32)
    peer = session(matrix, rows, threads)

    def by_numpy() -> None:
        np.matmul(x, matrix, out=result)

    def by_peer() -> None:
        peer.run(None, {"x": x})

    calls = max(1, int(2e7 / (rows * depth * columns)))
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):  # in turn, so that a slow moment hits all
        for run, taken in zip((ours, by_numpy, by_peer), times, strict=True):
            taken += repeat(run, calls, 1)
    medians = [statistics.median(taken) / calls for taken in times]
    rates = [f"{2 * rows * depth * columns / seconds / 1e9:.0f}" for seconds in medians]
    return (*rates, f"{medians[0] / min(medians[1:]):.2f}")


def packed_product(rows: int, depth: int, columns: int) -> tuple[Callable[[], None], Array, Array]:
    """The launch, and what it multiplies."""
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, depth), np.float32)
    matrix = random.standard_normal((depth, columns), np.float32)
    panels = np.empty((-(-columns // 16), depth, 16), np.float32)
    _native.pack(matrix, panels, 1, False)()
    y = np.empty((rows, columns), np.float32)
    return _native.matmul(x, panels, y), x, matrix


def session(matrix: Array, rows: int, threads: int) -> onnxruntime.InferenceSession:
    """The peer's product with the same weights."""
    depth, columns = matrix.shape
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, columns])],
        [numpy_helper.from_array(matrix, "w")],
    )
    model = helper.make_model(graph, opset_imports=[onnx.OperatorSetIdProto(version=17)])
    model.ir_version = 8
    return peer_session(model.SerializeToString(), threads)


def repeat(run: Callable[[], None], calls: int, times: int) -> list[float]:
    """Seconds of ``calls`` calls, that often."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        taken.append(time.perf_counter() - start)
    return taken


if __name__ == "__main__":
    main()
