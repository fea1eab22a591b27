"""``SavedPlan`` to a message and back."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from headrace.errors import HeadraceError, PlanError
from headrace.plan.codec import plan_message, read_plan
from headrace.plan.codec_values import read_spec, spec_message
from headrace.plan.saved import (
    PassRun,
    PluginVersion,
    Port,
    SavedPlan,
    Source,
    Versions,
    Weight,
)
from headrace.proto import plan_file_pb2 as pb


def encode_saved(saved: SavedPlan) -> bytes:
    """The header of a plan file; equal plans give equal bytes."""
    message = pb.PlanFile(
        core_version=saved.versions.core,
        api_major=saved.versions.api[0],
        api_minor=saved.versions.api[1],
        plugins=[
            pb.Plugin(tag=p.tag, distribution=p.distribution, version=p.version)
            for p in saved.versions.plugins
        ],
        inputs=[_port_message(port) for port in saved.inputs],
        outputs=[_port_message(port) for port in saved.outputs],
        fixed=[_weight_message(weight) for weight in saved.fixed],
        weights=[_weight_message(weight) for weight in saved.weights],
        sources=[
            pb.Source(location=s.location, offset=s.offset, nbytes=s.nbytes, digest=s.digest)
            for s in saved.sources
        ],
        passes=[
            pb.Pass(
                tag=p.tag,
                name=p.name,
                origin=p.origin,
                changed=p.changed,
                ops_before=p.ops_before,
                ops_after=p.ops_after,
            )
            for p in saved.passes
        ],
        plan=plan_message(saved.plan),
    )
    return message.SerializeToString(deterministic=True)


def decode_saved(data: bytes) -> SavedPlan:
    """The inverse of ``encode_saved``.

    Raises:
        PlanError: it is no such message, or contradicts itself.
    """
    message = pb.PlanFile()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise PlanError(f"the header is no message of its kind: {error}") from None
    try:
        return SavedPlan(
            Versions(
                message.core_version,
                (message.api_major, message.api_minor),
                tuple(PluginVersion(p.tag, p.distribution, p.version) for p in message.plugins),
            ),
            tuple(Port(port.name, read_spec(port.spec)) for port in message.inputs),
            tuple(Port(port.name, read_spec(port.spec)) for port in message.outputs),
            tuple(map(_weight, message.fixed)),
            tuple(map(_weight, message.weights)),
            tuple(Source(s.location, s.offset, s.nbytes, s.digest) for s in message.sources),
            tuple(
                PassRun(p.tag, p.name, p.origin, p.changed, p.ops_before, p.ops_after)
                for p in message.passes
            ),
            read_plan(message.plan),
        )
    except (HeadraceError, ValueError) as error:
        raise PlanError(f"the header is corrupt: {error}") from error


def _port_message(port: Port) -> pb.Port:
    return pb.Port(name=port.name, spec=spec_message(port.spec))


def _weight_message(weight: Weight) -> pb.Weight:
    return pb.Weight(
        name=weight.name,
        spec=spec_message(weight.spec),
        source=0 if weight.source is None else weight.source + 1,
        offset=weight.offset,
    )


def _weight(message: pb.Weight) -> Weight:
    source = message.source - 1 if message.source else None
    return Weight(message.name, read_spec(message.spec), source, message.offset)
