"""Versions and ranges that are numbers, as the package packaging sees them."""

from __future__ import annotations

import itertools

import pytest
from packaging.specifiers import SpecifierSet

from headrace.registry.plain_versions import plainly_in_range

VERSIONS = ("0", "0.1", "0.1.0", "0.1.1", "0.2", "0.10", "1", "1.0.0.0", "2026.11")
BOUNDS = ("0", "0.1", "0.1.0", "0.2.0", "0.10", "1.0", "2026")
OPERATORS = ("<", "<=", "==", "!=", ">=", ">")


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_ranges_are_those_of_packaging(version: str) -> None:
    """Each operator with each bound, and each two of them."""
    clauses = [f"{op}{bound}" for op, bound in itertools.product(OPERATORS, BOUNDS)]
    pairs = [f" {one} , {other} " for one, other in itertools.combinations(clauses, 2)]
    for wanted in ("", *clauses, *pairs):
        assert plainly_in_range(version, wanted) == SpecifierSet(wanted).contains(version), wanted


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("0.1.0rc1", ">=0.1"),
        ("0.1.0+local", ">=0.1"),
        ("0.1.0.post1", ">0.1.0"),
        ("0.1.0", ">=0.1,~=0.1"),
        ("0.1.0", "==0.1.*"),
        ("0.1.0", ">=0.1; python_version > '3'"),
        ("0.1.0", "[testing]>=0.1"),
        ("0.1.0", ">=0.1,"),
    ],
)
def test_what_is_not_plain_is_left_to_packaging(version: str, wanted: str) -> None:
    """Nothing is said of it."""
    assert not plainly_in_range(version, wanted)
