"""Which way an op runs over the devices of its placement: candidates, their cost, the choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headrace.compiler.sharding.layout import balanced
from headrace.errors import OpError, UnsupportedError
from headrace.graph import OpSource
from headrace.op_call import OpCall
from headrace.ops import SbpSignature, make_call
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Signature:
    """One ``NdSbp`` for each input and output; absent inputs have one too."""

    inputs: tuple[NdSbp, ...]
    outputs: tuple[NdSbp, ...]


def choose_signature(
    call: OpCall,
    hierarchy: tuple[int, ...],
    arriving: Sequence[NdSbp | None],
    hints: Sequence[NdSbp | None],
    ops: OpSource,
) -> Signature:
    """The signature for ``call``, axis by axis of ``hierarchy``; equal questions, equal answers.

    Of the op's candidates, with all-Broadcast last, those are left out that contradict a hint, that
    leave a device without elements, or whose parts the op itself would not make. Of the rest those
    come first that take most inputs as they arrive, then those that move the fewest bytes, then
    the order in which the op says them.

    Args:
        call: the logical call.
        hierarchy: of the op's placement.
        arriving: how each input lies on these same devices; None for one that lies elsewhere.
        hints: what the user wants of each output; None for no wish.
        ops: where ops are looked up.

    Raises:
        UnsupportedError: no candidate fits the hints.
    """
    axes: list[SbpSignature] = []
    first, last = call, call  # the calls of the first device and of the last one, whose parts
    for axis, count in enumerate(hierarchy):  # are the largest and the smallest
        before = [None if sbp is None else sbp.axes[axis] for sbp in arriving]
        wanted = [None if sbp is None else sbp.axes[axis] for sbp in hints]
        ranked = sorted(
            (-_matches(c, before), _moved_bytes(c, before, last, count), number, c)
            for number, c in enumerate(_candidates(last, ops))
            if _fits(c, wanted)
            and _leaves_nobody_out(c, last, count)
            and not _makes_partial(c, before)
        )
        for *_, candidate in ranked:
            largest = _part(first, candidate, count, 0, ops)
            smallest = _part(last, candidate, count, count - 1, ops)
            if largest is not None and smallest is not None:
                axes.append(candidate)
                first, last = largest, smallest
                break
        else:
            raise UnsupportedError(
                f"{call} cannot run on {count} devices"
                f" with its result as {', '.join(map(str, hints))}"
            )
    return Signature(
        tuple(NdSbp(tuple(a.inputs[i] for a in axes)) for i in range(len(call.inputs))),
        tuple(NdSbp(tuple(a.outputs[i] for a in axes)) for i in range(call.output_count)),
    )


def _candidates(call: OpCall, ops: OpSource) -> Iterator[SbpSignature]:
    yield from ops.op(call.op).op.sbp_signatures(call)
    yield SbpSignature((Broadcast(),) * len(call.inputs), (Broadcast(),) * call.output_count)


def _matches(candidate: SbpSignature, arriving: Sequence[Sbp | None]) -> int:
    return sum(have == want for have, want in zip(arriving, candidate.inputs, strict=True))


def _fits(candidate: SbpSignature, hints: Sequence[Sbp | None]) -> bool:
    return all(h in (None, out) for h, out in zip(hints, candidate.outputs, strict=True))


def _makes_partial(candidate: SbpSignature, arriving: Sequence[Sbp | None]) -> bool:
    """An input would have to be torn into terms, only to be added up again."""
    return any(
        isinstance(want, PartialSum) and have != want
        for have, want in zip(arriving, candidate.inputs, strict=True)
    )


def _leaves_nobody_out(candidate: SbpSignature, call: OpCall, count: int) -> bool:
    """No device is left without elements."""
    sides = ((candidate.inputs, call.inputs), (candidate.outputs, call.outputs))
    return all(
        not isinstance(sbp, Split) or spec is None or spec.shape[sbp.axis] >= count
        for sbps, specs in sides
        for sbp, spec in zip(sbps, specs, strict=True)
    )


def _part(
    call: OpCall, candidate: SbpSignature, count: int, index: int, ops: OpSource
) -> OpCall | None:
    """What device ``index`` computes; None when the op makes something else of its inputs.

    An op whose attributes speak of the whole (the shape that a reshape makes) may do so.
    """
    specs = [
        None if spec is None else _local(spec, sbp, count, index)
        for spec, sbp in zip(call.inputs, candidate.inputs, strict=True)
    ]
    wanted = tuple(
        _local(spec, sbp, count, index)
        for spec, sbp in zip(call.outputs, candidate.outputs, strict=True)
    )
    op = ops.op(call.op).op
    attrs = op.part_attrs(call, wanted)
    try:
        part = make_call(op, call.name, specs, attrs, outputs=call.output_count)
    except OpError:
        return None
    return part if part.outputs == wanted else None


def _local(spec: TensorSpec, sbp: Sbp, count: int, index: int) -> TensorSpec:
    if not isinstance(sbp, Split):
        return spec
    shape = list(spec.shape)
    start, stop = balanced(shape[sbp.axis], count, index)
    shape[sbp.axis] = stop - start
    return spec.with_shape(tuple(shape))


def _moved_bytes(
    candidate: SbpSignature, arriving: Sequence[Sbp | None], call: OpCall, count: int
) -> float:
    return sum(
        moved_bytes(have, want, spec.nbytes, count)
        for have, want, spec in zip(arriving, candidate.inputs, call.inputs, strict=True)
        if spec is not None
    )


def moved_bytes(have: Sbp | None, want: Sbp, nbytes: int, count: int) -> float:
    """Bytes that all devices together receive when a tensor is laid anew over ``count`` devices.

    What lies elsewhere (None) is brought whole to each device that wants all of it.
    """
    others = count - 1
    match have, want:
        case _ if have == want:
            return 0
        case (None, Split()):
            return nbytes
        case (None, _):
            return nbytes * count
        case (Broadcast(), _):
            return 0
        case (Split(), Broadcast()):
            return nbytes * others
        case (Split(), Split()):
            return nbytes * others / count
        case (Split(), PartialSum()):
            return nbytes * others / count
        case (PartialSum(), Split()):
            return nbytes * others
        case _:
            return 2 * nbytes * others
