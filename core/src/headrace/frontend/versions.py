"""What a plan depends on besides itself: headrace, the contract, the plugins of its devices."""

from __future__ import annotations

from headrace.device import API_VERSION
from headrace.errors import PlanError
from headrace.plan import CORE_KINDS, Plan
from headrace.plan.saved import PluginVersion, Versions
from headrace.registry.registry import BackendRegistry, installed_version


def devices_of(plan: Plan) -> tuple[tuple[str, int], ...]:
    """The devices that a plan runs on, as (tag, index), sorted. Core's own work needs none."""
    ids = {
        actor.stream_id.device_id
        for actor in plan.actors
        if plan.tasks[actor.tasks[0]].kind not in CORE_KINDS
    }
    return tuple(sorted((plan.device_types.tag(i.device_type), i.device_index) for i in ids))


def versions_for(plan: Plan, registry: BackendRegistry) -> Versions:
    """What ``plan`` was, or would be, compiled with in this process.

    Raises:
        DeviceUnavailableError: a device of the plan cannot be had.
    """
    plugins = []
    for tag in sorted({tag for tag, _ in devices_of(plan)}):
        driver = registry.driver(tag)
        plugins.append(PluginVersion(tag, driver.distribution, driver.version))
    return Versions(installed_version() or "", API_VERSION, tuple(plugins))


def check_versions(said: Versions, here: Versions) -> None:
    """Refuse a plan that was compiled with something else than what is here.

    Raises:
        PlanError: names what it was compiled with and what is here.
    """
    pairs = [
        ("headrace", said.core or "that was not installed", here.core or "that is not installed"),
        ("the contract with backends", _dotted(said.api), _dotted(here.api)),
    ]
    there = {plugin.tag: plugin for plugin in here.plugins}
    pairs += [(f"the plugin of device {p.tag!r}", str(p), str(there[p.tag])) for p in said.plugins]
    for what, found, expected in pairs:
        if found != expected:
            raise PlanError(
                f"was compiled with {what} {found}, and here is {expected}; compile it again, or "
                "install what it was compiled with"
            )


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
