"""Cutting a model into what the host runs first, what the device runs, and what the host runs last.

Only the main graph is looked at: text inside branches, loops and functions is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.light_dataclass import dataclass
from headrace.onnx.file.graphs import check_graph, order, reads, wired
from headrace.onnx.file.keys import ML_DOMAIN, domain_of, function_key
from headrace.onnx.file.split import Lists
from headrace.onnx.file.text import place, quote
from headrace.onnx.hosted import kinds

_NOTHING = "headrace/nothing"


@dataclass(frozen=True, slots=True, eq=False)
class CutModel:
    """A model in three parts.

    Attributes:
        first: what the host runs before the device.
        middle: what the device runs; its inputs and outputs are tensors of numbers.
        last: what the host runs after it.
        lists: what nodes of the middle one have, by position, that the message has not.
    """

    first: ModelProto
    middle: ModelProto
    last: ModelProto
    lists: Mapping[int, Lists]


def cut_model(model: ModelProto, name: str, lists: Mapping[int, Lists]) -> CutModel:
    """Cut a model that has values of the host.

    Args:
        model: the model.
        name: of the file, for messages.
        lists: what was cut out of its nodes, by position.

    Raises:
        InvalidModelError: names in the graph do not hold, or types contradict each other.
        UnsupportedModelError: what is computed of such a value cannot be put at an end.
    """
    check_graph(model.graph, name)
    typed = ModelProto()
    typed.CopyFrom(model)
    typed.graph.value_info.extend(_types_unknown_to_onnx(model.graph))
    try:
        inferred = onnx.shape_inference.infer_shapes(typed)
    except onnx.shape_inference.InferenceError as error:
        said = str(error).partition("\n")[0]
        raise InvalidModelError(f"{name}: its types cannot be told: {said}") from error
    return _Cutting(inferred, name, lists).run()


def _types_unknown_to_onnx(graph: GraphProto) -> Iterable[ValueInfoProto]:
    maps = {i.name: i.type.map_type.value_type.tensor_type.elem_type for i in graph.input}
    for node in graph.node:
        is_of_map = node.op_type == "DictVectorizer" and domain_of(node.domain) == ML_DOMAIN
        kind = maps.get(node.input[0]) if is_of_map else kinds.result_type(node)
        if kind:
            yield helper.make_tensor_value_info(node.output[0], kind, None)


class _Cutting:
    def __init__(self, model: ModelProto, name: str, lists: Mapping[int, Lists]) -> None:
        graph = model.graph
        self._lists = {_first_made(graph.node[index]): cut for index, cut in lists.items()}
        self._model, self._name = model, name
        self._outputs = [output.name for output in graph.output]
        self._nodes = [n.node for n in order(wired(graph.node), self._outputs, name)]
        self._fixed = {t.name for t in graph.initializer}
        self._fixed |= {s.values.name for s in graph.sparse_initializer}
        self._fixed |= {node.output[0] for node in self._nodes if _is_constant(node)}
        fed = {value.name for value in graph.input} - self._fixed
        # Names by where their values are; text of the file itself is wherever it is read.
        self._early = set(fed)
        self._late: set[str] = set()
        self._light: dict[str, NodeProto] = {}  # by output: the host could make it early too
        self._hosted = {i.name for i in graph.input if not kinds.is_number_tensor(i.type)}
        self._hosted |= {t.name for t in graph.initializer if t.data_type == TensorProto.STRING}
        typed = (*graph.input, *graph.value_info, *graph.output)
        self._number_lists = {value.name for value in typed if kinds.is_number_list(value.type)}
        self._wanted = self._sequences_wanted()
        self._parts: tuple[list[NodeProto], ...] = ([], [], [])

    def run(self) -> CutModel:
        first, middle, last = self._parts
        for node in self._nodes:
            self._place(node)
        middle[:] = [node for node in middle if not self._early.issuperset(node.output)]
        given = [value.name for value in self._model.graph.input]
        made = [_made(nodes) for nodes in self._parts]
        read = [_read(nodes) for nodes in self._parts]
        results = set(self._outputs)
        device = self._part(middle, [*given, *made[0]], read[1], made[1], read[2] | results)
        if not device.graph.output:  # a job has results
            nothing = helper.make_tensor(_NOTHING, TensorProto.INT64, [0], [])
            device.graph.initializer.append(nothing)
            device.graph.output.append(helper.make_empty_tensor_value_info(_NOTHING))
        return CutModel(
            self._part(first, given, read[0], made[0], read[1] | read[2] | results),
            device,
            self._part(last, [*given, *made[0], *made[1]], read[2], made[2], results),
            {
                index: cut
                for index, node in enumerate(device.graph.node)
                if (cut := self._lists.get(_first_made(node))) is not None
            },
        )

    def _place(self, node: NodeProto) -> None:
        first, middle, last = self._parts
        if _is_constant(node):
            if kinds.holds_text(node):
                self._hosted.add(node.output[0])
            return
        given = reads(node) - self._fixed
        touched = reads(node) & self._hosted
        outputs = kinds.hosted_outputs(node, self._hosted)
        made = {node.output[i] for i in outputs} - {""}
        if node.op_type in kinds.CLASSIFIERS and outputs:
            self._refuse_late(node, given)
            self._split_classifier(node)
            return
        is_wanted = kinds.makes_sequences(node) and not self._wanted.isdisjoint(node.output)
        if not (touched or made or is_wanted or kinds.is_always_hosted(node)):
            self._refuse_late(node, given)
            middle.append(node)
            if given <= self._early | self._light.keys() and self._can_choose(node):
                self._light.update(dict.fromkeys(node.output, node))
            return
        if not kinds.can_run(node) or function_key(node) in self._functions():
            if touched <= self._number_lists and not (made or kinds.is_always_hosted(node)):
                self._refuse_late(node, given)
                middle.append(node)  # a device takes lists of numbers as their tensors
                return
            raise UnsupportedModelError(
                f"{place(self._name, node)}: headrace does not run {node.op_type} of text, maps "
                "and sequences that are fed or given back"
            )
        self._hosted |= made
        if given <= self._early | self._light.keys():
            self._make_early(given)
            first.append(node)
            self._early.update(node.output)
        else:
            last.append(node)
            self._late.update(node.output)

    def _can_choose(self, node: NodeProto) -> bool:
        return kinds.chooses(node) and function_key(node) not in self._functions()

    def _make_early(self, names: Collection[str]) -> None:
        """Have the host make what is light, before what reads it."""
        pending = sorted(names)
        while pending:
            if pending[-1] in self._early or pending[-1] in self._fixed:
                pending.pop()
                continue
            node = self._light[pending[-1]]
            missing = reads(node) - self._fixed - self._early
            if missing:
                pending.extend(sorted(missing))
            else:
                self._parts[0].append(node)
                self._early.update(node.output)

    def _refuse_external(self, part: ModelProto) -> None:
        """Only the import of numbers reads other files, and knows where they may be."""
        tensors = [*part.graph.initializer]
        tensors += [t for s in part.graph.sparse_initializer for t in (s.values, s.indices)]
        tensors += [a.t for node in part.graph.node for a in node.attribute]
        for tensor in tensors:
            if tensor.data_location == TensorProto.EXTERNAL:
                raise UnsupportedModelError(
                    f"{self._name}: tensor {quote(tensor.name)} is in another file, and is read "
                    "with text, maps or sequences; store it in the model"
                )

    def _refuse_late(self, node: NodeProto, given: Collection[str]) -> None:
        late = sorted(self._late.intersection(given))
        if late:
            raise UnsupportedModelError(
                f"{place(self._name, node)}: reads {quote(late[0])}, which the host makes of what "
                "the device has computed; such values can be outputs only"
            )

    def _split_classifier(self, node: NodeProto) -> None:
        """The device finds the place of the class among the names, the host the name."""
        _, middle, last = self._parts
        label, places = node.output[0], f"{_first_made(node)}/place"
        numbered = NodeProto()
        numbered.CopyFrom(node)
        numbered.output[0] = places
        kept = [a for a in node.attribute if a.name != kinds.CLASS_NAMES]
        names = next(a.strings for a in node.attribute if a.name == kinds.CLASS_NAMES)
        del numbered.attribute[:]
        numbered.attribute.extend(kept)
        numbers = "classlabels_int64s" if node.op_type.startswith("Tree") else "classlabels_ints"
        numbered.attribute.append(helper.make_attribute(numbers, list(range(len(names)))))
        middle.append(numbered)
        cut = self._lists.get(_first_made(node))
        if cut is not None:
            self._lists[places] = cut
        if label:
            last.append(
                helper.make_node(
                    "LabelEncoder",
                    [places],
                    [label],
                    domain=ML_DOMAIN,
                    keys_int64s=list(range(len(names))),
                    values_strings=list(names),
                )
            )
            self._hosted.add(label)
            self._late.add(label)

    def _sequences_wanted(self) -> set[str]:
        """Values that are sequences because an output, or what the host makes of it, is one."""
        wanted = {
            output.name
            for output in self._model.graph.output
            if not kinds.is_number_tensor(output.type)
        }
        for node in reversed(self._nodes):
            if kinds.makes_sequences(node) and not wanted.isdisjoint(node.output):
                made_of = {"SequenceConstruct": 0, "SplitToSequence": 0, "SequenceEmpty": 0}
                wanted.update(node.input[: made_of.get(node.op_type, 1)])
        return wanted

    def _functions(self) -> set[tuple[str, str, str]]:
        return {
            (domain_of(f.domain), f.name, getattr(f, "overload", "")) for f in self._model.functions
        }

    def _part(
        self,
        nodes: Sequence[NodeProto],
        there: Iterable[str],
        reads: Collection[str],
        made: Iterable[str],
        wanted: Collection[str],
    ) -> ModelProto:
        """A model of some of the nodes.

        Args:
            nodes: the nodes.
            there: what earlier parts and the caller have; what it ``reads`` of it is its inputs.
            reads: names that the nodes read.
            made: names that they make; those ``wanted`` are its outputs.
            wanted: names that are read later.
        """
        takes = [name for name in there if name in reads]
        gives = [name for name in made if name in wanted]
        graph = self._model.graph
        known = {v.name: v for v in (*graph.value_info, *graph.input, *graph.output)}
        read = {*reads, *gives}
        part = ModelProto()
        part.CopyFrom(self._model)
        part.graph.Clear()
        part.graph.name = graph.name
        if not any(not domain_of(entry.domain) for entry in part.opset_import):
            part.opset_import.append(helper.make_opsetid("", 17))
        if not any(domain_of(entry.domain) == ML_DOMAIN for entry in part.opset_import):
            part.opset_import.append(helper.make_opsetid(ML_DOMAIN, 3))
        constants = [n for n in self._nodes if _is_constant(n) and n.output[0] in read]
        part.graph.node.extend([*constants, *nodes])
        part.graph.initializer.extend(t for t in graph.initializer if t.name in read)
        part.graph.sparse_initializer.extend(
            s for s in graph.sparse_initializer if s.values.name in read
        )
        if nodes is not self._parts[1]:
            self._refuse_external(part)
        for name in takes:
            # What has a value in the model may be fed, to the device.
            if name not in self._fixed or nodes is self._parts[1]:
                part.graph.input.append(known.get(name, ValueInfoProto(name=name)))
        part.graph.output.extend(
            known.get(name, helper.make_empty_tensor_value_info(name)) for name in gives
        )
        return part


def _is_constant(node: NodeProto) -> bool:
    return node.op_type == "Constant" and not domain_of(node.domain)


def _first_made(node: NodeProto) -> str:
    """A name that tells a node from all others; "" of one that makes nothing."""
    return next(filter(None, node.output), "")


def _read(nodes: Iterable[NodeProto]) -> set[str]:
    return set().union(*(reads(node) for node in nodes))


def _made(nodes: Iterable[NodeProto]) -> list[str]:
    return [name for node in nodes for name in node.output if name]
