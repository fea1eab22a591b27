"""The share of the machine's peak that ResNet-50 reaches on `cpu`, against onnxruntime, in turn.

    python bench/share_of_peak.py [--threads 1,2] [--batch 1] [--rounds 15]

The peak is the fastest of the products of two 1024x1024 matrices that each runtime makes between
the calls. A call is counted as the additions and multiplications of its convolutions summed tap by
tap, over the time of the whole call: what other ops take lowers the share, and Winograd's tiles,
which need fewer multiplications, may raise it above one.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable

import numpy as np
import onnx
from arguments import at_least, positive, positives
from peer import peer_session
from products import packed_product, session
from resnet50 import resnet50
from rich.console import Console
from rich.table import Table
from turns import seconds

import headrace_cpu
from headrace.bench.worker import rest
from headrace.onnx import load

SIDE = 1024


def main() -> None:
    """One line for each number of threads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=positives, default="1,2")
    parser.add_argument("--batch", type=positive, default=1)
    parser.add_argument("--rounds", type=at_least(2), default=15)
    given = parser.parse_args()
    model = resnet50(given.batch)
    work = flops_of_convolutions(model)
    columns = ("peak, GFLOP/s", "headrace", "share", "onnxruntime", "share")
    table = Table("threads", *columns)
    for threads in given.threads:
        headrace_cpu.set_threads(threads)
        ours, theirs, peak = measured(model, threads, given.rounds)
        rates = [work / statistics.median(times) / 1e9 for times in (ours, theirs)]
        cells = [cell for rate in rates for cell in (f"{rate:.0f}", f"{rate / peak:.0%}")]
        table.add_row(str(threads), f"{peak:.0f}", *cells)
    Console().print(table)
    print(f"{work / 1e9:.2f} GFLOP a call in convolutions; batch {given.batch}")


def measured(
    model: onnx.ModelProto, threads: int, rounds: int
) -> tuple[list[float], list[float], float]:
    """Seconds of calls, ours and the peer's, and the peak in GFLOP/s."""
    content = model.SerializeToString()
    feeds = {"gpu_0/data_0": np.ones(shape_of(model.graph.input[0]), np.float32)}
    peer = peer_session(content, threads)
    product, x, matrix = packed_product(SIDE, SIDE, SIDE)
    peers_product = session(matrix, SIDE, threads)
    ours, theirs, products = list[float](), list[float](), list[float]()
    with load(content, device="cpu") as loaded:
        calls: tuple[tuple[list[float], Callable[[], object]], ...] = (
            (ours, lambda: loaded.run(feeds)),
            (theirs, lambda: peer.run(None, feeds)),
            (products, product),
            (products, lambda: peers_product.run(None, {"x": x})),
        )
        for _ in range(rounds):
            for times, call in calls:
                rest()  # of threads that still look for work of the call before
                times.append(seconds(call))
    return ours[1:], theirs[1:], 2 * SIDE**3 / min(products) / 1e9


def flops_of_convolutions(model: onnx.ModelProto) -> int:
    """Two for each tap of each output: additions and multiplications."""
    known = onnx.shape_inference.infer_shapes(model).graph
    shapes = {value.name: shape_of(value) for value in (*known.value_info, *known.output)}
    taps = {tensor.name: math.prod(tensor.dims[1:]) for tensor in known.initializer}
    convolutions = [node for node in known.node if node.op_type == "Conv"]
    return sum(2 * math.prod(shapes[n.output[0]]) * taps[n.input[1]] for n in convolutions)


def shape_of(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    """As far as the model says it."""
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


if __name__ == "__main__":
    main()
