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


class Topology(Protocol):
    """What sharding asks about devices."""

    def link(self, source: Placement | None, destination: Placement) -> Link:
        """The link from one device to another, each a placement; None is machine 0's memory."""

    def collective(self, tag: str, call: OpCall) -> CollectiveEntry | None:
        """What the devices of ``tag`` offer for a collective; None when it is left to core."""


class RegisteredDevices:
    """The topology of the devices of a registry. Asks no device: only what plugins registered."""

    def __init__(self, registry: BackendRegistry) -> None:
        self._registry = registry

    def link(self, source: Placement | None, destination: Placement) -> Link:
        """As ``Topology.link``."""
        if destination.devices[0][0] != (0 if source is None else source.devices[0][0]):
            return Link.NETWORK
        on_host = [p is None or self._works_on_host(p) for p in (source, destination)]
        if source == destination or all(on_host):
            return Link.MEMORY
        if any(on_host):
            return Link.BUS
        assert source is not None
        same_kind = source.tag == destination.tag
        claims = self._registry.backend(source.tag).device.capabilities
        return Link.PEER if same_kind and PEER_COPIES in claims else Link.HOST

    def _works_on_host(self, placement: Placement) -> bool:
        return self._registry.backend(placement.tag).works_in_host_memory

    def collective(self, tag: str, call: OpCall) -> CollectiveEntry | None:
        """As ``Topology.collective``."""
        return self._registry.backend(tag).collectives.select(call)
