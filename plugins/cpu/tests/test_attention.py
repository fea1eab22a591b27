"""Attention against numpy: where heads lie, masks, rows without a number; and how it is found."""

import itertools

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace_cpu import _native, set_threads
from headrace_cpu.ops.attention import FEW_QUERIES, ROWS_FIRST

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape, np.float32)


def attention(q, k, v, mask, scale, nan_is_zero=False):
    """In float64; all of them [batch, heads, rows, columns]."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3) * scale
    if mask is not None:
        scores = scores + mask
    with np.errstate(invalid="ignore"):
        grown = np.exp(scores - scores.max(-1, keepdims=True))
        shares = grown / grown.sum(-1, keepdims=True)
    return (np.nan_to_num(shares, nan=0) if nan_is_zero else shares) @ v


def launch(q, k, v, mask, scale, nan_is_zero, forms, threads):
    """Run the kernel with q, k, v and y in ``forms``; y comes back heads first."""
    given = [
        np.ascontiguousarray(x.transpose(ROWS_FIRST) if form == "rows" else x)
        for x, form in zip((q, k, v), forms, strict=False)
    ]
    transposed = forms[1] == "transposed"
    if transposed:
        given[1] = np.ascontiguousarray(k.swapaxes(2, 3))
    made = (*q.shape[:3], v.shape[3])
    y_rows = forms[3] == "rows"
    y = np.full([made[axis] for axis in ROWS_FIRST] if y_rows else made, np.nan, np.float32)
    heads, keys = q.shape[0] * q.shape[1], k.shape[2]
    wide = -(-keys // 16) * 16 * q.shape[3] + -(-v.shape[3] // 16) * 16 * keys
    wide *= q.shape[2] > FEW_QUERIES
    set_threads(threads)
    rows_first = "".join(name for name, form in zip("qkvy", forms, strict=True) if form == "rows")
    layout = _native.HeadLayout(rows_first, transposed)
    panels = np.empty(heads * wide, np.float32)
    _native.attention(*given, mask, y, panels, layout, scale, nan_is_zero)()
    return y.transpose(ROWS_FIRST) if y_rows else y


@pytest.mark.parametrize(
    "forms",
    [*itertools.product(("heads", "rows"), repeat=4), ("rows", "transposed", "rows", "rows")],
    ids="-".join,
)
@pytest.mark.parametrize(
    ("queries", "keys"), [(1, 1), (3, 50), (5, 33), (8, 16), (73, 16), (150, 100)]
)
def test_heads_lie_where_they_are(forms, queries, keys):
    """Before or behind the rows, whatever the sizes; on any number of threads."""
    q, k, v = normal(2, 3, queries, 20), normal(2, 3, keys, 20), normal(2, 3, keys, 9)
    mask = normal(1, 3, queries, keys)
    made = [launch(q, k, v, mask, 0.3, False, forms, threads) for threads in (1, 3)]
    np.testing.assert_allclose(made[0], attention(q, k, v, mask, 0.3), rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("columns", [1, 16, 40, 64, 70, 130])
@pytest.mark.parametrize("queries", [1, 4, 7])
def test_few_queries_read_rows_of_any_length(queries, columns):
    """Of keys and of values, whole registers and what is left over."""
    q, k = normal(1, 2, queries, columns), normal(1, 2, 21, columns)
    v = normal(1, 2, 21, columns)
    want = attention(q, k, v, None, 0.2)
    for forms in (("heads",) * 4, ("rows", "transposed", "rows", "rows")):
        made = launch(q, k, v, None, 0.2, False, forms, 1)
        np.testing.assert_allclose(made, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape", [(2, 3, 8, 40), (1, 1, 1, 40), (2, 1, 1, 40), (1, 3, 8, 40)])
@pytest.mark.parametrize("nan_is_zero", [False, True])
def test_masks_repeat(shape, nan_is_zero):
    """Along axes of one; a row that is masked as a whole is no number, or 0."""
    q, k, v = normal(2, 3, 8, 4), normal(2, 3, 40, 4), normal(2, 3, 40, 5)
    mask = np.where(RNG.random(shape) < 0.3, np.float32(-np.inf), normal(*shape))
    mask[..., -1, :] = -np.inf
    made = launch(q, k, v, mask, 0.5, nan_is_zero, ("heads",) * 4, 1)
    want = attention(q, k, v, mask, 0.5, nan_is_zero)
    np.testing.assert_allclose(made, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("k", (2, 3, 7, 9), "the depth of k is 9 but must be 4"),
        ("v", (2, 3, 8, 4), "the rows of v is 8 but must be 7"),
        ("y", (2, 3, 9, 6), "the columns of y is 6 but must be 4"),
        ("mask", (1, 1, 2, 7), "the rows of the mask is 2 but must be 9"),
        ("panels", (0,), r"panels is \[0\]"),
    ],
)
def test_a_launch_says_what_does_not_fit(name, shape, said):
    """Before anything is computed."""
    arguments = {
        "q": np.zeros((2, 3, 9, 4), np.float32), "k": np.zeros((2, 3, 7, 4), np.float32),
        "v": np.zeros((2, 3, 7, 4), np.float32), "mask": None,
        "y": np.zeros((2, 3, 9, 4), np.float32), "panels": np.zeros(6 * 176, np.float32),
        "layout": _native.HeadLayout(), "scale": 1.0, "nan_is_zero": False,
    }  # fmt: skip
    _native.attention(**arguments)
    with pytest.raises(ValueError, match=said):
        _native.attention(**{**arguments, name: np.zeros(shape, np.float32)})


BATCH, LENGTH, HEADS, DEPTH = 2, 37, 3, 8
WIDTH = HEADS * DEPTH
MASK = np.where(RNG.random((BATCH, 1, 1, LENGTH)) < 0.2, np.float32(-1e9), np.float32(0))


def op(name, *inputs, **attrs):
    return flow.apply_op(name, list(inputs), **attrs)


def heads_of(x, projection):
    made = op("reshape", op("matmul", x, projection), shape=(BATCH, LENGTH, HEADS, DEPTH))
    return op("transpose", made, perm=ROWS_FIRST)


def joined(y):
    return op("reshape", op("transpose", y, perm=ROWS_FIRST), shape=(BATCH, LENGTH, WIDTH))


def divided_scores(q, k, v):
    """As BERT's exporters write it: the scores are divided, then masked."""
    scores = op("matmul", q, op("transpose", k, perm=(0, 1, 3, 2)))
    scores = op("add", op("divide", scores, np.float32(DEPTH**0.5)), MASK)
    return op("matmul", op("softmax", scores, axis=-1), v)


def scaled_sides(q, k, v):
    """As newer ones do: both sides are scaled, and what is no number becomes 0."""
    root = np.float32(DEPTH**-0.25)
    flat = op("reshape", k, shape=(BATCH * HEADS, LENGTH, DEPTH))
    turned = op("transpose", flat, perm=(0, 2, 1))
    turned = op("reshape", turned, shape=(BATCH, HEADS, DEPTH, LENGTH))
    scores = op("matmul", op("multiply", q, root), op("multiply", turned, root))
    shares = op("softmax", op("add", scores, MASK), axis=-1)
    return op("matmul", op("where", op("is_nan", shares), np.float32(0), shares), v)


def keys_turned_at_once(q, k, v):
    """No mask; one product says itself that it transposes."""
    scores = op("multiply", op("matmul", q, k, transpose_b=True), np.float32(DEPTH**-0.5))
    return op("matmul", op("softmax", scores, axis=-1), v)


@pytest.mark.parametrize("spelling", [divided_scores, scaled_sides, keys_turned_at_once])
def test_attention_is_found_as_it_is_spelled(spelling):
    """One op is left of it, and no transpose."""
    x, projections = normal(BATCH, LENGTH, WIDTH), [normal(WIDTH, WIDTH) / 5 for _ in range(3)]
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder(x.shape)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return joined(spelling(*(heads_of(x, p) for p in projections)))

        made = job(x)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    assert ops.count("cpu.attention") == 1
    assert not {"softmax", "transpose", "matmul"} & set(ops)
    q, k, v = (
        (x @ p).reshape(BATCH, LENGTH, HEADS, DEPTH).transpose(ROWS_FIRST) for p in projections
    )
    mask = None if spelling is keys_turned_at_once else MASK
    want = attention(q, k, v, mask, DEPTH**-0.5).transpose(ROWS_FIRST).reshape(x.shape)
    np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-4)
