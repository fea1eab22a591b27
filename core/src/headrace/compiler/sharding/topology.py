"""Topology: over which link bytes go from one device to another, and what a byte costs there."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from headrace.device import PEER_COPIES, CollectiveEntry
from headrace.op_call import OpCall
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry


class Link(StrEnum):
    """What lies between two devices."""

    MEMORY = "memory"
    """Nothing: both work in one memory, or are one device."""
    PEER = "peer"
    """One copy between devices of one kind."""
    BUS = "bus"
    """One copy between a device and the host's memory."""
    HOST = "host"
    """Two copies, through the host's memory."""
    NETWORK = "network"
    """From one machine to another, and in and out of the hosts' memory."""


COST: Mapping[Link, float] = MappingProxyType(
    # Only their order and rough proportion matter: a byte that stays in its memory is still read
    # and written by a slice or a concatenation.
    {Link.MEMORY: 0.25, Link.PEER: 1, Link.BUS: 1, Link.HOST: 2, Link.NETWORK: 8}
)
"""What bringing one byte over a link costs, in copies of it."""


Source = Placement | int
"""Where something lies: on a device, which is a placement, or in the host's memory of a machine,
which is its number."""

CALLER = 0
"""The machine that the caller feeds and reads."""


class Topology(Protocol):
    """What sharding asks about devices."""

    def link(self, source: Source, destination: Placement) -> Link:
        """The link over which a device, which is a placement, reads what lies at ``source``."""

    def collective(self, tag: str, call: OpCall) -> CollectiveEntry | None:
        """What the devices of ``tag`` offer for a collective; None when it is left to core."""


class RegisteredDevices:
    """The topology of the devices of a registry. Asks no device: only what plugins registered."""

    def __init__(self, registry: BackendRegistry) -> None:
        self._registry = registry

    def link(self, source: Source, destination: Placement) -> Link:
        """As ``Topology.link``."""
        machine = source if isinstance(source, int) else source.devices[0][0]
        if destination.devices[0][0] != machine:
            return Link.NETWORK
        if isinstance(source, int) or self._works_on_host(source):
            return Link.MEMORY if self._works_on_host(destination) else Link.BUS
        if source == destination:
            return Link.MEMORY
        if self._works_on_host(destination):
            return Link.BUS
        claims = self._registry.backend(source.tag).device.capabilities
        is_peer = source.tag == destination.tag and PEER_COPIES in claims
        return Link.PEER if is_peer else Link.HOST

    def _works_on_host(self, placement: Placement) -> bool:
        return self._registry.backend(placement.tag).works_in_host_memory

    def collective(self, tag: str, call: OpCall) -> CollectiveEntry | None:
        """As ``Topology.collective``."""
        return self._registry.backend(tag).collectives.select(call)
