"""Weights too large to be made of others in any size: nothing is packed in each call."""

import ml_dtypes
import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.graph import builder

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _every_weight_is_large(monkeypatch):
    monkeypatch.setattr(builder, "FOLD_LIMIT_BYTES", 0)


def job_of(body, array):
    """What a job makes of ``array`` on the device, and its ops."""
    with flow.Session() as session:
        kind = tp.Numpy.Placeholder(array.shape, dtype=array.dtype)

        @flow.global_function(session=session)
        def job(x: kind) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return body(x)

        made = job(array)
        return made, [op.op for op in session.explain("job").ops]


@pytest.mark.parametrize("columns", [257, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_is_packed_once_or_not_at_all(columns, transposed):
    """Panels that are hardly larger take its place; much larger ones would not."""
    x = RNG.standard_normal((2, 64), np.float32)
    weight = RNG.standard_normal((64, columns), np.float32)
    lies = np.ascontiguousarray(weight.T) if transposed else weight
    made, ops = job_of(lambda a: flow.matmul(a, lies, transpose_b=transposed), x)
    np.testing.assert_allclose(made, x @ weight, rtol=1e-4, atol=1e-4)
    expected = ["cpu.matmul"] if columns == 257 else ["matmul"]
    assert [op.partition("(")[0] for op in ops] == expected


def test_kernels_are_transformed_only_where_that_is_done_once():
    """Else they are packed as they are: Winograd's algorithm would make four times as much."""
    x = RNG.standard_normal((1, 32, 40, 40), np.float32)
    weight = RNG.standard_normal((32, 32, 3, 3), np.float32)
    made, ops = job_of(lambda a: flow.apply_op("conv", [a, weight], pads=(1, 1, 1, 1)), x)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    right = np.einsum("nchwij,mcij->nmhw", windows, weight)
    np.testing.assert_allclose(made, right, rtol=1e-4, atol=1e-3)
    assert "cpu.conv" in [op.partition("(")[0] for op in ops]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_embeddings_of_halves_are_logits_too(name):
    """A table of 16 bits is looked up as it is, and packed as it is for the product."""
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    table = RNG.standard_normal((48, 32), np.float32).astype(dtype)
    ids = np.array([[3, 7, 40]], np.int64)

    def body(x):
        rows = flow.apply_op("gather", [table, x], axis=0)
        return flow.matmul(flow.relu(rows), table, transpose_b=True)

    made, ops = job_of(body, ids)
    wide = table.astype(np.float32)
    right = np.maximum(wide[ids], 0) @ wide.T
    np.testing.assert_allclose(made.astype(np.float32), right, rtol=2**-7, atol=2**-7)
    assert any(op.startswith(f"gather({name}[48, 32]") for op in ops), ops
    assert any(op.startswith("cpu.matmul") and f"{name}[3, 32, 16]" in op for op in ops), ops
