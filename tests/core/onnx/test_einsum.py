"""``Einsum``: any equation equals numpy's, and what is no equation is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto
from onnx_models import info, model, node

from headrace.errors import InvalidModelError
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array


def einsum(equation: str, *inputs: Array) -> Array:
    """What a node makes of weights: folded while the model is imported."""
    weights = {f"x{index}": array for index, array in enumerate(inputs)}
    made = node("Einsum", " ".join(weights), "y", equation=equation)
    source = model([made], [], [info("y", None, TensorProto.UNDEFINED)], weights)
    graph = Importer(read_model(source), Placement.of_device("near")).run({}, {})
    ((_, tensor),) = graph.outputs
    return graph.constants[tensor.name]


def numbers(*shape: int) -> Array:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64).reshape(shape)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bnqd,mqrd->bnqmr", [(2, 3, 4, 5), (6, 4, 7, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("ba", [(2, 3)]),
        ("i,i", [(5,), (5,)]),
        ("ij,->ij", [(2, 2), ()]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (1, 4, 5)]),
        ("...ij,jk", [(2, 2, 3, 4), (4, 5)]),
        ("a...,b...->ab...", [(2, 3, 4), (5, 1, 4)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("iiji->ji", [(2, 2, 3, 2)]),
        ("ij,jk->ik", [(2, 1), (4, 3)]),
        (" i j , j -> i ", [(3, 4), (4,)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
        ("Aa,aA->a", [(2, 3), (3, 2)]),
    ],
)
def test_an_equation_equals_that_of_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    """Batches, sums, ellipses, diagonals, products of several, axes of one."""
    inputs = [numbers(*shape) for shape in shapes]
    wanted = np.einsum(equation.replace(" ", ""), *inputs)
    made = einsum(equation, *inputs)
    assert made.shape == wanted.shape
    np.testing.assert_allclose(made, wanted, rtol=1e-12)


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[Array]]:
    """An equation of up to three factors over five labels, and numbers for it."""
    sizes = {label: draw(st.integers(1, 3)) for label in "abcde"}
    terms = draw(st.lists(st.text("abcde", max_size=4), min_size=1, max_size=3))
    known = sorted(set("".join(terms)))
    result = "".join(draw(st.lists(st.sampled_from(known), unique=True)) if known else [])
    arrays = [numbers(*(sizes[label] for label in term)) for term in terms]
    arrow = f"->{result}" if draw(st.booleans()) else ""
    return ",".join(terms) + arrow, arrays


@given(equations())
def test_any_equation_equals_that_of_numpy(case: tuple[str, list[Array]]) -> None:
    """Whatever labels are repeated, summed or kept, in whatever order."""
    equation, inputs = case
    wanted = np.einsum(equation, *inputs)
    made = einsum(equation, *inputs)
    assert made.shape == wanted.shape
    np.testing.assert_allclose(made, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("equation", "shapes", "says"),
    [
        ("ij,jk->ik", [(2, 3)], "2 terms for 1 inputs"),
        ("ij->i", [(2, 3, 4)], "does not fit an input of rank 3"),
        ("ij...->i", [(2,)], "does not fit an input of rank 1"),
        ("i1->i", [(2, 3)], "not letters"),
        ("i......->i", [(2, 3)], "not letters"),
        ("ij->ik", [(2, 3)], "'k' of the result"),
        ("ij->ii", [(2, 3)], "once in the result"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "'j' have lengths 3 and 4"),
        ("ii->i", [(2, 3)], "'i' have lengths 2 and 3"),
    ],
)
def test_what_is_no_equation_is_refused(equation: str, shapes: Any, says: str) -> None:
    """The equation, the term or the label is named."""
    with pytest.raises(InvalidModelError, match=says):
        einsum(equation, *(numbers(*shape) for shape in shapes))
