"""Loops: how often a body runs, what each run is given, and what becomes of what it makes.

Every shape of a job is known when it is built, so a loop is written out: the body takes the place
of the node once for each run. How often that is must be known while the model is imported. ``Scan``
runs as often as an axis is long. ``Loop`` runs as its trip count and its condition say; where they
are computed from a few numbers that are fed, the values of these become a part of the job. Where it
takes more, the host runs the body: see ``headrace.onnx.importing.run_loop``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from onnx import GraphProto, ValueInfoProto

from headrace.errors import HeadraceError, ResourceLimitError
from headrace.light_dataclass import dataclass
from headrace.onnx.file import limits
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.node import Node, ValueNeeded
from headrace.onnx.importing.site import Site
from headrace.onnx.importing.values import Value
from headrace.ops import Tensor
from headrace.tensor_spec import Array

RunBody = Callable[[Sequence[Value]], list[Value]]
"""Imports the body once more, for the inputs given; returns its outputs."""


def _loop(site: Site, node: Node, run: RunBody) -> list[Value]:
    """``Loop``: the body makes a condition, the state of the next run, and slices to be stacked."""
    body = site.attributes["body"].g
    state = [node.given(index) for index in range(2, len(site.inputs))]
    check_body(node, body, inputs=2 + len(state), outputs=1 + len(state))
    slices: list[list[Value]] = [[] for _ in body.output[1 + len(state) :]]
    scalar = scalar_like(body.input[0])
    condition: Value = node.optional(1) or node.constant(np.array(True))
    for turn in _turns(node):
        if not _holds(node, condition):
            break
        number = node.constant(np.array(turn, np.int64).reshape(scalar))
        condition, *made = run([number, condition, *state])
        state = made[: len(state)]
        for stack, tensor in zip(slices, made[len(state) :], strict=True):
            stack.append(tensor)
    outputs = body.output[1 + len(state) :]
    if not all(slices) and any(nothing_of(output, 0, str(node)) is None for output in outputs):
        number = node.constant(np.zeros(scalar, np.int64))
        slices = _one_of_each(run, [number, condition, *state], 1 + len(state)) or slices
        # Nothing reads what these are computed by, so it is not.
        return state + [_none_like(node, *made) for made in zip(slices, outputs, strict=True)]
    return state + [_stacked(node, *made) for made in zip(slices, outputs, strict=True)]


def _one_of_each(run: RunBody, given: Sequence[Value], first: int) -> list[list[Value]]:
    """The slices that a turn would make; none where the body cannot be imported for it."""
    try:
        return [[value] for value in run(given)[first:]]
    except HeadraceError:
        return []


def _none_like(node: Node, slices: Sequence[Value], declared: ValueInfoProto) -> Tensor:
    """No slices, in the shape of the one that there would be."""
    if not slices or not isinstance(slices[0], Tensor):
        return _stacked(node, [], declared)
    spec = slices[0].spec
    return node.constant(np.zeros((0, *spec.shape), spec.dtype.numpy))


def _turns(node: Node) -> Iterator[int]:
    """0, 1, ... to the trip count, or without end where the node has none."""
    count = None if node.optional(0) is None else int(_one(node, node.value(0)).item())
    turn = 0
    while count is None or turn < count:
        if turn == limits.ITERATIONS:
            raise ResourceLimitError(
                f"{node}: runs more than {limits.ITERATIONS} times; loops are written out"
            )
        yield turn
        turn += 1


def _holds(node: Node, condition: Value) -> bool:
    if not isinstance(condition, Tensor):
        node.invalid(f"its condition is {condition}, not one value")
    value = node.known(condition)
    if value is None:
        raise ValueNeeded(condition, f"{node}: its condition decides how often the body runs")
    return bool(_one(node, value).item())


def _one(node: Node, value: np.ndarray) -> np.ndarray:
    if value.size != 1:
        node.invalid(f"trip count and condition are one value; one has shape {value.shape}")
    return value


def scalar_like(declared: ValueInfoProto) -> tuple[int, ...]:
    """The shape of the number of a run: of rank 0, or of rank 1 where the body says so."""
    return (1,) * len(declared.type.tensor_type.shape.dim)


def _scan(site: Site, node: Node, run: RunBody) -> list[Value]:
    """``Scan``: the body takes one slice of each sequence in each run."""
    body = site.attributes["body"].g
    count = node.attr("num_scan_inputs")
    if node.opset < 9:
        return _scan_of_a_batch(site, node, run, body, count)
    state, sequences = _parts(node, body, [*map(node.input, range(len(site.inputs)))], count)
    given = [
        _Sequence(tensor, normal_axis(node, axis, tensor.spec.rank), bool(back))
        for tensor, axis, back in zip(
            sequences,
            _each(node, "scan_input_axes", count),
            _each(node, "scan_input_directions", count),
            strict=True,
        )
    ]
    after, slices = _walk(node, run, state, given, len(body.output) - len(state))
    outputs = zip(
        slices,
        _each(node, "scan_output_axes", len(body.output) - len(state)),
        _each(node, "scan_output_directions", len(body.output) - len(state)),
        body.output[len(state) :],
        strict=True,
    )
    return after + [
        _stacked(node, stack[::-1] if back else stack, declared, axis)
        for stack, axis, back, declared in outputs
    ]


def _scan_of_a_batch(
    site: Site, node: Node, run: RunBody, body: GraphProto, count: int
) -> list[Value]:
    """``Scan`` as it was in opset 8: everything has a batch axis, and each batch walks alone."""
    if site.inputs[0] is not None:
        node.refuse("has sequence_lens; convert the model to operator set 9 or newer")
    tensors = [node.input(index) for index in range(1, len(site.inputs))]
    states, sequences = _parts(node, body, tensors, count)
    backwards = _each(node, "directions", count)
    batch = sequences[0].spec.shape[0]
    if batch == 0:
        node.refuse("has a batch of nothing")
    results: list[list[Value]] = []
    for index in range(batch):
        given = [
            _Sequence(_element(node, tensor, 0, index), 0, bool(back))
            for tensor, back in zip(sequences, backwards, strict=True)
        ]
        state = [_element(node, tensor, 0, index) for tensor in states]
        after, slices = _walk(node, run, state, given, len(body.output) - len(state))
        stacked = zip(slices, body.output[len(state) :], strict=True)
        results.append(after + [_stacked(node, *made) for made in stacked])
    return [
        _stacked(node, of_each, declared)
        for of_each, declared in zip(zip(*results, strict=True), body.output, strict=True)
    ]


def _parts(
    node: Node, body: GraphProto, tensors: list[Tensor], count: int
) -> tuple[list[Tensor], list[Tensor]]:
    """The state and the ``count`` sequences among what a scan is given."""
    if not 1 <= count <= len(tensors):
        node.invalid(f"num_scan_inputs is {count} and the node has {len(tensors)} inputs")
    first = len(tensors) - count
    check_body(node, body, inputs=len(tensors), outputs=first)
    return tensors[:first], tensors[first:]


@dataclass(frozen=True, slots=True)
class _Sequence:
    """A tensor whose slices along an axis go to the runs of a body, the last first if so said."""

    tensor: Tensor
    axis: int
    backwards: bool

    @property
    def length(self) -> int:
        return self.tensor.spec.shape[self.axis]

    def element(self, node: Node, turn: int) -> Tensor:
        index = self.length - 1 - turn if self.backwards else turn
        return _element(node, self.tensor, self.axis, index)


def _walk(
    node: Node,
    run: RunBody,
    state: Sequence[Value],
    sequences: Sequence[_Sequence],
    stacks: int,
) -> tuple[list[Value], list[list[Value]]]:
    """Run the body for each element of the sequences; returns the state and the slices made."""
    lengths = {sequence.length for sequence in sequences}
    if len(lengths) != 1:
        node.invalid(f"the sequences have {sorted(lengths)} elements; they need equally many")
    (length,) = lengths
    if length > limits.ITERATIONS:
        raise ResourceLimitError(
            f"{node}: runs {length} times; loops are written out, {limits.ITERATIONS} times at most"
        )
    slices: list[list[Value]] = [[] for _ in range(stacks)]
    values = list(state)
    for turn in range(length):
        made = run([*values, *(sequence.element(node, turn) for sequence in sequences)])
        values = made[: len(state)]
        for stack, tensor in zip(slices, made[len(state) :], strict=True):
            stack.append(tensor)
    return values, slices


def _each(node: Node, name: str, count: int) -> list[int]:
    """An attribute with a number for each sequence; zeros where the node leaves it out."""
    numbers: list[int] = node.attr(name, [0] * count)
    if len(numbers) != count:
        node.invalid(f"{name} has {len(numbers)} numbers for {count} sequences")
    return numbers


def _element(node: Node, sequence: Tensor, axis: int, index: int) -> Tensor:
    shape = sequence.spec.shape
    one = node.one("slice", [sequence], starts=(index,), ends=(index + 1,), axes=(axis,))
    return node.one("reshape", [one], shape=shape[:axis] + shape[axis + 1 :])


def _stacked(
    node: Node, slices: Sequence[Value], declared: ValueInfoProto, axis: int = 0
) -> Tensor:
    """The slices along a new axis; of none, what the body declares says what there is none of."""
    if not slices:
        return _nothing(node, axis, declared)
    tensors = [part for part in slices if isinstance(part, Tensor)]
    if len(tensors) < len(slices):
        node.invalid(f"its body makes {declared.name!r}, which is stacked, and no tensor")
    shape = tensors[0].spec.shape
    place = normal_axis(node, axis, len(shape) + 1)
    parts = [
        node.one("reshape", [part], shape=(*part.spec.shape[:place], 1, *part.spec.shape[place:]))
        for part in tensors
    ]
    return parts[0] if len(parts) == 1 else node.one("concat", parts, axis=place)


def _nothing(node: Node, axis: int, declared: ValueInfoProto) -> Tensor:
    nothing = nothing_of(declared, axis, str(node))
    if nothing is None:
        node.refuse(
            f"never runs, and its body does not declare the shape of {declared.name!r}; declare it"
        )
    return node.constant(nothing)


def nothing_of(declared: ValueInfoProto, axis: int, where: str) -> Array | None:
    """No slices of what a body declares, along ``axis``; None where it declares no shape."""
    kind = declared.type.tensor_type
    dims = kind.shape.dim
    if not kind.HasField("shape") or not all(dim.HasField("dim_value") for dim in dims):
        return None
    shape = [dim.dim_value for dim in dims]
    shape.insert(axis % (len(shape) + 1), 0)
    return np.zeros(shape, dtype_from_onnx(kind.elem_type, where).numpy)


def check_body(node: Node, body: GraphProto, *, inputs: int, outputs: int) -> None:
    """Raise InvalidModelError unless the body takes and gives as much as the node does."""
    if len(body.input) != inputs or len(body.output) < outputs:
        node.invalid(
            f"its body has {len(body.input)} inputs and {len(body.output)} outputs; with the "
            f"node's inputs it needs {inputs} and {outputs} or more"
        )


WRITERS: Mapping[str, Callable[[Site, Node, RunBody], list[Value]]] = {
    "Loop": _loop,
    "Scan": _scan,
}
"""How each op that has a body is written out, by ONNX name."""
