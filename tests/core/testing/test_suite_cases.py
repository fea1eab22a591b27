"""The suite has tests for every tag that it declares, and cases for what they go through."""

from __future__ import annotations

import pytest

from headrace.ops import get_op
from headrace.testing.conformance import test_in_place as in_place
from headrace.testing.run import call_of
from headrace.testing.suite.tags import TAGS

pytest_plugins = ["pytester"]


def test_every_tag_has_tests(pytester: pytest.Pytester) -> None:
    """A tag without a test would be passed by every backend."""
    plugins = ("-p", "headrace.testing.pytest_plugin", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(
        *plugins, "--list-tags", "--pyargs", "headrace.testing.conformance"
    )
    assert result.ret == 0
    counts = {line.split()[1]: int(line.split()[0]) for line in result.outlines if "  " in line}
    for tag in TAGS.keys() - {"ops/*/*"}:
        assert counts[tag] > 4, tag
    assert counts["ops/matmul/float32"] > 4


def in_place_calls(op: str) -> int:
    return sum(bool(get_op(op).in_place(call_of(case))) for case in in_place.cases(op))


@pytest.mark.parametrize("op", in_place.PROPOSING)
def test_an_op_that_proposes_in_place_has_a_case_for_it(op: str) -> None:
    """Without one its test would skip everywhere: add one to ``MORE``."""
    assert in_place_calls(op) > 0


@pytest.mark.parametrize("op", sorted(in_place.NEVER))
def test_an_op_that_is_left_out_proposes_nothing(op: str) -> None:
    """The list of exceptions says what is so."""
    assert in_place_calls(op) == 0
