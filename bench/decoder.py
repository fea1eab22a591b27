"""A decoder with a cache of keys and values, as language models are exported, with random weights.

Each step is fed the cache that the one before gave, so it meets shapes that no step before had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def decoder(
    layers: int = 6, width: int = 384, heads: int = 6, vocabulary: int = 2000
) -> ModelProto:
    """A model of ``input_ids``, ``attention_mask`` and ``past.LAYER.key`` and ``.value``."""
    return _Building(layers, width, heads, vocabulary).model()


class _Building:
    def __init__(self, layers: int, width: int, heads: int, vocabulary: int) -> None:
        self._random = np.random.default_rng(0)
        self._layers, self._width, self._heads = layers, width, heads
        self._vocabulary = vocabulary
        self._nodes: list[Any] = []
        self._weights: list[Any] = []

    def model(self) -> ModelProto:
        size = self._width // self._heads
        before: list[int | str] = ["batch", self._heads, "past", size]
        after: list[int | str] = ["batch", self._heads, "total", size]
        inputs = [_info("input_ids", INT64, ["batch", "steps"])]
        inputs.append(_info("attention_mask", INT64, ["batch", "total"]))
        outputs = [_info("logits", FLOAT, ["batch", "steps", self._vocabulary])]
        for layer in range(self._layers):
            for part in ("key", "value"):
                inputs.append(_info(f"past.{layer}.{part}", FLOAT, before))
                outputs.append(_info(f"present.{layer}.{part}", FLOAT, after))
        x, mask, shape = self._begin(size)
        for layer in range(self._layers):
            x = self._add("Add", x, self._attention(layer, self._norm(x), mask, shape, size))
            x = self._add("Add", x, self._mlp(self._norm(x)))
        head = self._weight(self._width, self._vocabulary)
        self._add("MatMul", self._norm(x), head, to="logits")
        graph = helper.make_graph(self._nodes, "decoder", inputs, outputs, self._weights)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8)

    def _begin(self, size: int) -> tuple[str, str, tuple[str, str]]:
        """The embedded tokens, what is added to scores, and the shapes of heads and of rows."""
        shape = self._add("Shape", "input_ids")
        batch, steps = (self._add("Gather", shape, self._number(i)) for i in (0, 1))
        past = self._add("Gather", self._add("Shape", "past.0.key"), self._number(2))
        total = self._add("Add", past, steps)
        one = self._number(1)
        places = self._add("Range", past, total, one)
        words = self._add("Gather", self._weight(self._vocabulary, self._width), "input_ids")
        x = self._add("Add", words, self._add("Gather", self._weight(512, self._width), places))
        rows = self._add("Unsqueeze", places, self._number([1]))
        columns = self._add("Unsqueeze", self._add("Range", self._number(0), total, one),
                            self._number([0]))  # fmt: skip
        least = self._number(-1e9, np.float32)
        seen = self._add("LessOrEqual", columns, rows)
        causal = self._add("Where", seen, self._number(0, np.float32), least)
        kept = self._add("Cast", "attention_mask", attrs={"to": FLOAT})
        gone = self._add("Sub", self._number(1, np.float32), kept)
        padding = self._add("Unsqueeze", self._add("Mul", gone, least), self._number([1, 2]))
        ends = [self._add("Unsqueeze", end, self._number([0])) for end in (batch, steps)]
        split = self._add("Concat", *ends, self._number([self._heads, size]), attrs={"axis": 0})
        merged = self._add("Concat", *ends, self._number([self._width]), attrs={"axis": 0})
        return x, self._add("Add", causal, padding), (split, merged)

    def _attention(self, layer: int, x: str, mask: str, shape: tuple[str, str], size: int) -> str:
        made = self._linear(x, self._width, 3 * self._width)
        names = [f"{made}.{part}" for part in "qkv"]
        thirds = self._number([self._width] * 3)
        self._nodes.append(helper.make_node("Split", [made, thirds], names, axis=-1))
        q, k, v = (
            self._add(
                "Transpose", self._add("Reshape", name, shape[0]), attrs={"perm": [0, 2, 1, 3]}
            )
            for name in names
        )
        for part, new in (("key", k), ("value", v)):
            given, made = f"past.{layer}.{part}", f"present.{layer}.{part}"
            self._add("Concat", given, new, to=made, attrs={"axis": 2})
        keys = self._add("Transpose", f"present.{layer}.key", attrs={"perm": [0, 1, 3, 2]})
        scores = self._add("Div", self._add("MatMul", q, keys), self._number(size**0.5, np.float32))
        weights = self._add("Softmax", self._add("Add", scores, mask), attrs={"axis": -1})
        mixed = self._add("MatMul", weights, f"present.{layer}.value")
        rows = self._add("Transpose", mixed, attrs={"perm": [0, 2, 1, 3]})
        return self._linear(self._add("Reshape", rows, shape[1]), self._width, self._width)

    def _mlp(self, x: str) -> str:
        """With GELU as its approximation by tanh is written out."""
        y = self._linear(x, self._width, 4 * self._width)
        cube = self._add("Mul", y, self._add("Mul", y, y))
        inner = self._add("Add", y, self._add("Mul", cube, self._number(0.044715, np.float32)))
        bent = self._add("Tanh", self._add("Mul", inner, self._number(0.7978845608, np.float32)))
        half = self._add("Mul", y, self._number(0.5, np.float32))
        y = self._add("Mul", half, self._add("Add", bent, self._number(1, np.float32)))
        return self._linear(y, 4 * self._width, self._width)

    def _linear(self, x: str, inputs: int, outputs: int) -> str:
        product = self._add("MatMul", x, self._weight(inputs, outputs))
        return self._add("Add", product, self._weight(outputs))

    def _norm(self, x: str) -> str:
        ones, zeros = (self._number([value] * self._width, np.float32) for value in (1, 0))
        return self._add("LayerNormalization", x, ones, zeros, attrs={"axis": -1})

    def _weight(self, *shape: int) -> str:
        return self._number(self._random.normal(size=shape) * 0.05, np.float32)

    def _number(self, value: object, dtype: type = np.int64) -> str:
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def _add(self, op: str, *inputs: str, to: str = "", attrs: dict[str, Any] | None = None) -> str:
        made = to or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(inputs), [made], **(attrs or {})))
        return made


def _info(name: str, dtype: int, shape: Sequence[int | str]) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)
