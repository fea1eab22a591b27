"""Which way an op runs over the devices of its placement: candidates, their cost, the choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import getattr_static

from headrace.compiler.sharding.layout import balanced
from headrace.errors import OpError, SbpError
from headrace.graph import Auto, OpSource, SbpHint
from headrace.light_dataclass import dataclass
from headrace.op_call import OpCall
from headrace.ops import Op, SbpSignature, make_call
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Signature:
    """One ``NdSbp`` for each input and output; absent inputs have one too."""

    inputs: tuple[NdSbp, ...]
    outputs: tuple[NdSbp, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """An input as it comes.

    Attributes:
        sbp: how it lies on the devices of the op; None when it lies elsewhere.
        cost: of a byte that a device of the op receives; see ``topology.COST``.
    """

    sbp: NdSbp | None
    cost: float = 1


@dataclass(frozen=True, slots=True)
class WantedOutput:
    """A tensor that an op makes, and its hint."""

    tensor: str
    hint: SbpHint

    def check_axes(self, call: OpCall, hierarchy: tuple[int, ...]) -> None:
        """Refuse a hint for another hierarchy.

        Raises:
            SbpError: it says more or less than the hierarchy has axes.
        """
        check_axes(self.tensor, self.hint, str(call), hierarchy)

    def along(self, axis: int) -> Sbp | None:
        """What is wanted along one axis of the hierarchy; None for no wish."""
        wish = self.hint.axes[axis]
        return None if isinstance(wish, Auto) else wish


def check_axes(tensor: str, hint: SbpHint, user: str, hierarchy: tuple[int, ...]) -> None:
    """Refuse a hint that was written for another hierarchy than that of ``user``, an op.

    Raises:
        SbpError: it says more or less than the hierarchy has axes.
    """
    if len(hint.axes) != len(hierarchy):
        shape = "x".join(map(str, hierarchy))
        raise SbpError(
            f"{hint.said_of(tensor)}, which is for a hierarchy of {len(hint.axes)} axes; {user} "
            f"runs over one of {len(hierarchy)}, [{shape}]. Give one for each axis: split, "
            "broadcast or auto"
        )


def choose_signature(
    call: OpCall,
    hierarchy: tuple[int, ...],
    arriving: Sequence[Arrival],
    wanted: Sequence[WantedOutput | None],
    ops: OpSource,
) -> Signature:
    """The signature for ``call``, axis by axis of ``hierarchy``; equal questions, equal answers.

    Of the op's candidates, with all-Broadcast last, those are left out that contradict a hint, that
    leave a device without elements, or whose parts the op itself would not make. Of the rest those
    come first whose inputs cost least to bring, then those that take most inputs as they arrive,
    then the order in which the op says them.

    Args:
        call: the logical call.
        hierarchy: of the op's placement.
        arriving: how each input lies on these same devices, and what bringing a byte of it costs.
        wanted: what the user wants of each output; None for no wish.
        ops: where ops are looked up.

    Raises:
        SbpError: no candidate fits the hints; names the op, the tensors, and the candidates.
    """
    for output in wanted:
        if output is not None:
            output.check_axes(call, hierarchy)
    axes: list[SbpSignature] = []
    first, last = call, call  # the calls of the first device and of the last one, whose parts
    for axis, count in enumerate(hierarchy):  # are the largest and the smallest
        before = [None if a.sbp is None else a.sbp.axes[axis] for a in arriving]
        hints = [None if w is None else w.along(axis) for w in wanted]
        found = [(n, c) for n, c in enumerate(_candidates(last, ops)) if _fits(c, hints)]
        ranked = sorted(
            (
                _makes_partial(c, before, call),
                _cost(c, before, arriving, last, count),
                -_matches(c, before),
                number,
                c,
            )
            for number, c in found
        )
        for *_, candidate in ranked:
            parts = _parts(first, last, candidate, count, ops)
            if parts is not None:
                axes.append(candidate)
                first, last = parts
                break
        else:
            said = [w for w in wanted if w is not None]
            tried = _tried(last, [c for _, c in found], hints, count, ops)
            raise _cannot(call, said, axis, count, tried, ops.op(call.op).op)
    return Signature(
        tuple(NdSbp(tuple(a.inputs[i] for a in axes)) for i in range(len(call.inputs))),
        tuple(NdSbp(tuple(a.outputs[i] for a in axes)) for i in range(call.output_count)),
    )


def signatures(
    call: OpCall, hierarchy: tuple[int, ...], ops: OpSource
) -> Iterator[tuple[SbpSignature, ...]]:
    """Every way to run ``call`` over ``hierarchy``: one candidate for each axis, in stable order.

    All are ways that a hint can ask for; there are exponentially many in the number of axes.
    """

    def along(
        axis: int, first: OpCall, last: OpCall, chosen: tuple[SbpSignature, ...]
    ) -> Iterator[tuple[SbpSignature, ...]]:
        if axis == len(hierarchy):
            yield chosen
            return
        for candidate in _candidates(last, ops):
            parts = _parts(first, last, candidate, hierarchy[axis], ops)
            if parts is not None:
                yield from along(axis + 1, *parts, (*chosen, candidate))

    yield from along(0, call, call, ())


def _candidates(call: OpCall, ops: OpSource) -> Iterator[SbpSignature]:
    yield from ops.op(call.op).op.sbp_signatures(call)
    yield SbpSignature((Broadcast(),) * len(call.inputs), (Broadcast(),) * call.output_count)


def _matches(candidate: SbpSignature, arriving: Sequence[Sbp | None]) -> int:
    return sum(have == want for have, want in zip(arriving, candidate.inputs, strict=True))


def _fits(candidate: SbpSignature, hints: Sequence[Sbp | None]) -> bool:
    return all(h in (None, out) for h, out in zip(hints, candidate.outputs, strict=True))


def _makes_partial(candidate: SbpSignature, arriving: Sequence[Sbp | None], call: OpCall) -> bool:
    """An input would have to be torn into terms, only to be added up again: if a user wants it."""
    return any(
        isinstance(want, PartialSum) and have != want and spec is not None
        for have, want, spec in zip(arriving, candidate.inputs, call.inputs, strict=True)
    )


def _cannot(
    call: OpCall,
    wanted: Sequence[WantedOutput],
    axis: int,
    count: int,
    tried: Sequence[str],
    op: type[Op],
) -> SbpError:
    """The error for hints that no candidate meets."""
    said = "; ".join(w.hint.said_of(w.tensor) for w in wanted)
    along = f", axis {axis} of the hierarchy" if any(len(w.hint.axes) > 1 for w in wanted) else ""
    given = ", ".join("absent" if spec is None else str(spec) for spec in call.inputs)
    made = ", ".join(map(str, call.outputs))
    can = f"What it can do: {'; '.join(tried)}"
    if not op.sbp_signatures(call):  # none but all-Broadcast, which each has
        inherited = getattr_static(op, "sbp_signatures") is vars(Op)["sbp_signatures"]
        has = "its class has" if inherited else "of tensors like these it has"
        can = f"All it can do is B: {has} no sbp_signatures, ways to share it out"
    return SbpError(
        f"{call}, which makes {made} of {given or 'nothing'}, cannot run on {count} devices{along} "
        f"as wanted: {said}. {can}"
    )


def _tried(
    call: OpCall,
    fitting: Sequence[SbpSignature],
    hints: Sequence[Sbp | None],
    count: int,
    ops: OpSource,
) -> Sequence[str]:
    """The candidates that fit a hint and why they cannot be; without one, those that can be."""
    if fitting:
        return [f"{c}, but {_why_not(c, call, count)}" for c in fitting]
    can = [str(c) for c in _candidates(call, ops) if _parts(call, call, c, count, ops)]
    few = [
        f"{hint} cannot be: {_too_few(hint, spec, count)}"
        for hint, spec in zip(hints, call.outputs, strict=True)
        if isinstance(hint, Split) and spec.shape[hint.axis] < count
    ]
    return [*can, *few]


def _too_few(split: Split, spec: TensorSpec, count: int) -> str:
    elements = spec.shape[split.axis]
    return (
        f"axis {split.axis} of {spec} has {elements} element{'s' * (elements != 1)} for {count} "
        "devices, and each needs one"
    )


def _why_not(candidate: SbpSignature, call: OpCall, count: int) -> str:
    for sbp, spec in _sides(candidate, call):
        if isinstance(sbp, Split) and spec.shape[sbp.axis] < count:
            return _too_few(sbp, spec, count)
    return f"the parts of {count} devices are not parts of its result: they do not divide evenly"


def _parts(
    first: OpCall, last: OpCall, candidate: SbpSignature, count: int, ops: OpSource
) -> tuple[OpCall, OpCall] | None:
    """What the first and the last device compute; None when a device would have nothing to do, or
    when the op makes something else of its part.
    """
    for sbp, spec in _sides(candidate, last):
        if isinstance(sbp, Split) and spec.shape[sbp.axis] < count:
            return None
    largest = _part(first, candidate, count, 0, ops)
    smallest = _part(last, candidate, count, count - 1, ops)
    return None if largest is None or smallest is None else (largest, smallest)


def _sides(candidate: SbpSignature, call: OpCall) -> Iterator[tuple[Sbp, TensorSpec]]:
    for sbps, specs in ((candidate.inputs, call.inputs), (candidate.outputs, call.outputs)):
        yield from ((b, s) for b, s in zip(sbps, specs, strict=True) if s is not None)


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


def _cost(
    candidate: SbpSignature,
    before: Sequence[Sbp | None],
    arriving: Sequence[Arrival],
    call: OpCall,
    count: int,
) -> float:
    return sum(
        moved_bytes(have, want, spec.nbytes, count) * arrival.cost
        for have, want, arrival, spec in zip(
            before, candidate.inputs, arriving, call.inputs, strict=True
        )
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
