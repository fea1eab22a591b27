"""Checks what a plugin lists for compilers and makes its driver a ``Backend``, or nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType

from headrace.data_format import DATA_FORMATS
from headrace.device import ConformanceProfile, KernelEntry
from headrace.graph.op_source import tag_of
from headrace.ops import OPS
from headrace.registry import check_classes as rules
from headrace.registry.check import check_callable, check_class
from headrace.registry.check_collectives import check_collectives
from headrace.registry.check_graph_hooks import check_ops, check_passes
from headrace.registry.driver import Driver
from headrace.registry.guards import Guards
from headrace.registry.hooks import PluginHooks, invalid
from headrace.registry.names import name_of_function, name_of_match
from headrace.registry.tables import Backend, CollectiveTable, KernelTable


def build_backend(driver: Driver, hooks: PluginHooks) -> Backend:
    """Ask the other hooks, which list what compilers choose from, and check their answers.

    Raises:
        Refusal: a record has the wrong type, tag or fields, there are too many, or two kernels are
            the same.
        BaseException: what a hook raises, also half-way through its answer.
    """
    kernels = hooks.kernels()
    ops = hooks.ops()
    check_ops(ops)
    passes = hooks.passes()
    check_passes(passes)
    own = frozenset(entry.name for entry in ops)
    for kernel in kernels:
        _check_kernel(kernel, own)
    _check_distinct(kernels)
    collectives = hooks.collectives()
    check_collectives(collectives)
    profile = hooks.profile() or ConformanceProfile(driver.tag)
    _check_profile(profile)
    for kernel in kernels:
        check_class(f"kernel for {kernel.op}", kernel.create, rules.fault_of_kernel)
    guards = Guards(driver.origin, driver.allocator.memory_kind, driver.device.capabilities)
    return Backend(
        distribution=driver.distribution,
        version=driver.version,
        origin=driver.origin,
        device=driver.device,
        allocator=driver.allocator,
        context=driver.context,
        streams=driver.streams,
        named=driver.named,
        profile=profile,
        kernels=KernelTable(map(guards.kernel, kernels)),
        ops=MappingProxyType({entry.name: entry for entry in ops}),
        passes=passes,
        collectives=CollectiveTable(map(guards.collective, collectives)),
    )


def _check_profile(profile: ConformanceProfile) -> None:
    for name in ("unsupported", "expected_failures"):
        patterns: object = getattr(profile, name)
        if not isinstance(patterns, Mapping) or not all(
            isinstance(text, str) and text for pair in patterns.items() for text in pair
        ):
            raise invalid(
                f"{name} of its ConformanceProfile is {patterns!r}; it must map patterns to reasons"
            )


def _check_kernel(kernel: KernelEntry, own: Set[str]) -> None:
    """An op of another plugin is let pass: that plugin need not be installed."""
    name: object = kernel.op
    foreign = isinstance(name, str) and tag_of(name) not in ("", kernel.tag)
    if kernel.op not in OPS and kernel.op not in own and not foreign:
        from difflib import get_close_matches

        close = get_close_matches(str(kernel.op), [*OPS, *sorted(own)], 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        if isinstance(name, str) and tag_of(name) == kernel.tag:
            raise invalid(
                f"its headrace_kernels offers op {name!r}, which headrace_ops lacks{hint}"
            )
        raise invalid(
            f"its headrace_kernels offers op {kernel.op!r}, which headrace does not have{hint}"
        )
    check_callable("headrace_kernels", kernel, "create", "match")
    priority: object = kernel.priority
    if not isinstance(priority, int):
        raise invalid(f"its kernel for {kernel.op!r} has priority {priority!r}; it must be an int")
    formats: object = kernel.data_formats
    if not isinstance(formats, tuple) or not formats or not set(formats) <= set(DATA_FORMATS):
        known = " and ".join(map(repr, DATA_FORMATS))
        raise invalid(
            f"its kernel for {kernel.op!r} has data_formats {formats!r}; it must be a tuple of one "
            f"or both of {known}"
        )


def _check_distinct(kernels: Sequence[KernelEntry]) -> None:
    """Two kernels of one op, format, match and priority: none of them could ever be chosen."""
    groups: dict[tuple[str, int], list[KernelEntry]] = {}
    for kernel in kernels:
        groups.setdefault((kernel.op, kernel.priority), []).append(kernel)
    for (op, priority), group in groups.items():
        for one, other in itertools.combinations(group, 2):
            if one.match == other.match and set(one.data_formats) & set(other.data_formats):
                raise invalid(
                    f"its headrace_kernels offers {op!r} twice for {name_of_match(one.match)} "
                    f"with priority {priority}: {name_of_function(one.create)} and "
                    f"{name_of_function(other.create)}; give one a higher priority"
                )
