"""Collectives that a plugin offers, in the place of what core would make of copies and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.compiler.sharding.sharded import Parts, Site
from headrace.light_dataclass import dataclass
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class OfferedCollective:
    """A collective among the devices of a placement, before it is added: see ``COLLECTIVES``."""

    name: str
    inputs: Sequence[Tensor]
    outputs: tuple[TensorSpec, ...]
    attrs: Mapping[str, AttrValue]
    placement: Placement

    def is_offered(self, site: Site) -> bool:
        """True when the plugin has it; a plugin's devices are those of one machine."""
        if len({machine for machine, _ in self.placement.devices}) > 1:
            return False
        specs = tuple(tensor.spec for tensor in self.inputs)
        attrs = Attrs(self._all_attrs)
        call = OpCall(self.name, self.name, specs, self.outputs, attrs, len(self.outputs))
        return site.topology.collective(self.placement.tag, call) is not None

    def add(self, site: Site) -> Parts:
        """Add it; returns its outputs, one on each device."""
        made = site.builder.exchange(
            self.name, self.inputs, self.outputs, self._all_attrs, self.placement
        )
        link = site.topology.link(self.placement.device(0), self.placement.device(1))
        site.received[link] += self._received()
        return made

    @property
    def _all_attrs(self) -> Mapping[str, AttrValue]:
        return {"devices": tuple(index for _, index in self.placement.devices), **self.attrs}

    def _received(self) -> int:
        """Bytes that all devices together receive, done as well as it can be."""
        others = self.placement.parallel_num - 1
        given = sum(tensor.spec.nbytes for tensor in self.inputs)
        made = sum(spec.nbytes for spec in self.outputs)
        match self.name:
            case "all_reduce":
                return 2 * others * self.outputs[0].nbytes
            case "reduce_scatter":
                return others * made
            case "all_to_all":
                return given * others // (others + 1)
            case _:
                return others * self.outputs[0].nbytes
