"""An op is never half there: schema, reference, cases, kernels, in files of the same stem."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

import headrace.testing
from headrace import numpy_ops, ops
from headrace.onnx.importing import converters
from headrace.onnx.importing.converters import ml
from headrace.ops import OPS
from headrace.ops.families import FAMILIES
from headrace.testing import reference
from headrace.testing.case import Case

TAGS = ["cpu", "fakedevice"]

NO_KERNEL: dict[tuple[str, str], str] = {
    # (device tag, op): why this device runs the op without a kernel of its own
}


def families(package: ModuleType, attribute: str) -> dict[str, str]:
    """Op name -> stem of the one file of `package` that lists it in `attribute`."""
    found: dict[str, str] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name in ("kernel", "table"):  # they hold the union of all families
            continue
        listed = getattr(import_module(f"{package.__name__}.{module.name}"), attribute, ())
        for item in listed:
            name = item if isinstance(item, str) else item.name
            assert name not in found, f"{name} is in {found[name]} and in {module.name}"
            found[name] = module.name
    return found


def cases() -> Iterator[Case]:
    """Every case of the conformance suite: whatever its modules list on their top level."""
    prefix = f"{headrace.testing.__name__}."
    for module in pkgutil.walk_packages(headrace.testing.__path__, prefix):
        if module.name.rpartition(".")[2] in ("pytest_plugin", "conftest"):
            continue
        for value in vars(import_module(module.name)).values():
            if isinstance(value, (tuple, list)):
                yield from (item for item in value if isinstance(item, Case))


def kernels(tag: str) -> set[str]:
    """The ops for which the plugin offers a kernel."""
    plugin = import_module(f"headrace_{tag}.plugin")
    return {entry.op for entry in plugin.headrace_kernels()}


def own_ops(tag: str) -> set[str]:
    """The ops that the plugin brings."""
    plugin = import_module(f"headrace_{tag}.plugin")
    return {entry.name for entry in getattr(plugin, "headrace_ops", tuple)()}


@pytest.fixture(scope="module")
def case_counts() -> Counter[str]:
    unique = {id(case): case for case in cases()}
    return Counter(case.op for case in unique.values())


def test_there_are_ops() -> None:
    assert len(OPS) > 20


def test_the_list_of_families_names_every_op_of_each() -> None:
    """What there is can be told without importing it, so it is written down a second time."""
    listed = {op: stem for stem, names in FAMILIES.items() for op in names}
    assert listed == families(ops, "OPS")


@pytest.mark.parametrize("package", [converters, ml])
def test_the_list_of_converters_names_every_op_of_each_file(package: ModuleType) -> None:
    """So a model imports the files of its own ops alone."""
    listed = {op: stem for stem, names in package.CONVERTED.items() for op in names}
    assert listed == families(package, "CONVERTERS")


def test_every_op_has_a_reference_in_the_file_of_its_family() -> None:
    """And no reference is left of an op that is gone."""
    assert families(reference, "FUNCTIONS") == families(ops, "OPS")


def test_every_op_has_a_numpy_computation_in_the_file_of_its_family() -> None:
    """Core's table of them is made of the list of families, not of what is there."""
    assert families(numpy_ops, "FUNCTIONS") == families(ops, "OPS")


def test_every_op_has_a_conformance_case(case_counts: Counter[str]) -> None:
    assert OPS.keys() - case_counts.keys() == set()


def test_every_case_is_of_an_op(case_counts: Counter[str]) -> None:
    assert case_counts.keys() - OPS.keys() == set()


@pytest.mark.parametrize("tag", TAGS)
def test_every_op_has_a_kernel(tag: str) -> None:
    """Or a written reason why not; a reason that no longer holds is removed."""
    missing = {(tag, op) for op in OPS.keys() - kernels(tag)}
    reasons = {key for key in NO_KERNEL if key[0] == tag}
    assert missing == reasons


@pytest.mark.parametrize("tag", TAGS)
def test_every_kernel_is_of_an_op(tag: str) -> None:
    """A misspelt op name would otherwise be a kernel that is never chosen."""
    assert kernels(tag) - OPS.keys() == own_ops(tag)
