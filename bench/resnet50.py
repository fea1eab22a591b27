"""ResNet-50 as the onnx package has it: the topology, here with weights filled in.

The package's "light" model says the shapes of its weights and makes them while it runs. Random
numbers of the right size stand in for trained ones: what comes out of every block is finite, and
the results are told apart from each other.

    python bench/resnet50.py [--batch 1] FILE.onnx
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper


def resnet50(batch: int) -> ModelProto:
    """The model for a batch of images, float32[batch, 3, 224, 224]; weights are initializers."""
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    model = onnx.load(folder / "light_resnet50.onnx")
    graph = model.graph
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    random = np.random.default_rng(0)
    kept = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shape = tuple(known[node.input[0]].tolist())
            if len(shape) > 1:
                value = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
            else:  # positive, since some are variances
                value = random.uniform(0.5, 1.5, shape)
            value = value.astype(np.float32)
            graph.initializer.append(numpy_helper.from_array(value, node.output[0]))
        else:
            kept.append(node)
            if node.op_type == "Reshape":
                known[node.input[1]] = np.array([batch, -1], np.int64)
    del graph.node[:]
    graph.node.extend(kept)
    read = {name for node in kept for name in node.input}
    tensors = [t for t in graph.initializer if t.name in read]
    tensors = [
        numpy_helper.from_array(known[t.name], t.name) if t.name in known else t for t in tensors
    ]
    del graph.initializer[:]
    graph.initializer.extend(tensors)
    made = {tensor.name for tensor in tensors}
    inputs = [value for value in graph.input if value.name in read - made]
    del graph.input[:]
    graph.input.extend(inputs)
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = batch
    model.ir_version = max(model.ir_version, 4)  # from then on weights need not be inputs
    return model


def main() -> None:
    from arguments import positive  # beside this file; tests load this one alone

    parser = argparse.ArgumentParser(description="write ResNet-50 as an ONNX model")
    parser.add_argument("file", type=Path, metavar="FILE.onnx")
    parser.add_argument("--batch", type=positive, default=1)
    arguments = parser.parse_args()
    onnx.save(resnet50(arguments.batch), arguments.file)


if __name__ == "__main__":
    main()
