"""Kernels by name: what was selected once is found again, and nothing else is."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType

import pytest

from headrace.device import Kernel, KernelEntry, MemoryKind, OpCall
from headrace.errors import PlanError, PluginError
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import Attrs
from headrace.registry.guards import Guards
from headrace.registry.named_kernels import NamedKernels
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((2,), "float32")
CALL = OpCall("toy.op", "toy_0", (SPEC,), (SPEC,), Attrs({}))


class Add(Kernel):
    """Made for a call, and for what was given in advance."""

    class Inner(Kernel):
        """In the name of another class."""

        def __init__(self, call: OpCall) -> None:
            """Take ``call``."""

        def launch(self, *buffers: object) -> None:
            """Do nothing."""

    def __init__(self, call: OpCall, function: object = None) -> None:
        self.function = function

    def launch(self, *buffers: object) -> None:
        """Do nothing."""


class Bare(Kernel):
    """Launches nothing, which is refused."""


def add(*arrays: object) -> None:
    """What a kernel is given."""


def make(call: OpCall) -> Kernel:
    """A function that makes kernels."""
    return Add(call)


def none(call: OpCall) -> None:
    """A function that makes none."""


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> NamedKernels:
    """Those of a plugin whose package is this module."""
    monkeypatch.setitem(sys.modules, "toy_kernels", sys.modules[__name__])
    for one in (Add, Add.Inner, Bare, add, make, none):
        monkeypatch.setattr(one, "__module__", "toy_kernels")
    guards = Guards("headrace-toy 1.2", MemoryKind.HOST, frozenset())
    return NamedKernels("toy", "toy_kernels.plugin", guards.kernel)


def entry(create: object) -> KernelEntry:
    """An entry as a table has it, behind what looks at its kernels."""
    guards = Guards("headrace-toy 1.2", MemoryKind.HOST, frozenset())
    return guards.kernel(KernelEntry("toy", "toy.op", create))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("create", "kind"),
    [
        (Add, Add),
        (Add.Inner, Add.Inner),
        (make, Add),
        (partial(Add, function=add), Add),
        (partial(NumpyKernel, function=add), NumpyKernel),
    ],
)
def test_what_a_name_leads_to_makes_the_same_kernels(
    named: NamedKernels, create: object, kind: type[Kernel]
) -> None:
    """Classes, functions, and what is given to them in advance."""
    name = named.name_of(entry(create))
    assert name is not None
    found = named.entry("toy.op", name)
    made = found.create(CALL)
    assert type(made) is kind
    assert getattr(made, "function", None) is (add if isinstance(create, partial) else None)
    assert named.entry("toy.op", name) is found


@pytest.mark.parametrize(
    "create",
    [
        lambda call: Add(call),
        partial(Add, CALL),
        partial(Add, function=3),
        partial(Add, function=sys.exit),
        ModuleType,
        object(),
    ],
    ids=["lambda", "in order", "a value", "of another package", "of Python", "an object"],
)
def test_what_no_name_leads_to_has_none(named: NamedKernels, create: object) -> None:
    """It is selected in the table, as where no plan was kept."""
    assert named.name_of(entry(create)) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (("toy_kernels", "Gone", ()), "is not there"),
        (("toy_kernels", "Add.Gone.Deep", ()), "is not there"),
        (("toy_kernels.gone", "Add", ()), "raised ModuleNotFoundError: No module named"),
        (("os", "system", ()), "raised PlanError: it is not the plugin's"),
        (("toy_kernels", "Bare", ()), "overrides neither launch nor bind"),
        (("toy_kernels", "Add", (("function", ("os", "system", ())),)), "is not the plugin's"),
    ],
)
def test_a_name_that_leads_nowhere_is_an_error_of_the_plan(
    named: NamedKernels, name: tuple[str, str, tuple[()]], why: str
) -> None:
    """So that the model is compiled again."""
    with pytest.raises(PlanError) as caught:
        named.entry("toy.op", name)
    text = str(caught.value)
    assert text.startswith(f"kernel {name[0]}.{name[1]} of device 'toy' ") or name[2]
    assert why in text
    assert text.endswith("; compile again")


def test_kernels_are_looked_at_as_those_of_a_table_are(named: NamedKernels) -> None:
    """What makes none is named, with its plugin."""
    found = named.entry("toy.op", ("toy_kernels", "none", ()))
    with pytest.raises(PluginError) as caught:
        found.create(CALL)
    assert str(caught.value) == "headrace-toy 1.2: create of its kernel for toy.op returned None"


def test_each_entry_can_be_seen_by_somebody(named: NamedKernels) -> None:
    """Who watches a backend sees kernels that are found by name as well."""
    seen = []

    def look(found: KernelEntry) -> KernelEntry:
        seen.append(found.op)
        return found

    named.seen_by(look).entry("toy.op", ("toy_kernels", "Add", ()))
    assert seen == ["toy.op"]
