"""The importer: a checked model and what is fed to it, as a job.

A model is imported for given shapes, and for the values of those inputs that decide shapes. Each
node is imported in one of six ways, in this order: it calls a function of the model, whose body
takes its place; it is of a plugin's domain, and becomes that plugin's op; it is an ``If``, of which
the branch taken takes its place; it is a loop, and its body takes its place as often as it runs; it
has a converter; or ONNX itself writes the op in simpler ones, and these take its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from onnx import FunctionProto, GraphProto, SparseTensorProto, TensorProto, ValueInfoProto

from headrace.aligned import Region
from headrace.errors import (
    DTypeError,
    GraphError,
    HeadraceError,
    InvalidModelError,
    OpError,
    ResourceLimitError,
    UnknownOpError,
    UnsupportedError,
    UnsupportedModelError,
)
from headrace.graph import CORE_OPS, DeviceOps
from headrace.graph.job_graph import JobGraph
from headrace.onnx.file import attributes, limits, tensors
from headrace.onnx.file.attributes import Attributes
from headrace.onnx.file.calls import declared_domains, opsets_of
from headrace.onnx.file.graphs import Wired, order, wired
from headrace.onnx.file.keys import LOOPS, ML_DOMAIN
from headrace.onnx.file.read import ModelFile
from headrace.onnx.file.text import place, quote
from headrace.onnx.importing import bodies, plugin_ops, schemas
from headrace.onnx.importing.builder import IDLE_BYTES, BoundedBuilder
from headrace.onnx.importing.converters import CONVERTERS, microsoft
from headrace.onnx.importing.converters.ml import MACHINE_LEARNING
from headrace.onnx.importing.declarations import Declaration
from headrace.onnx.importing.guesses import checks_of
from headrace.onnx.importing.measure import SUPPOSED, MeasureNeeded
from headrace.onnx.importing.node import Converter, Node, ValueNeeded
from headrace.onnx.importing.scope import Scope
from headrace.onnx.importing.select import alike, are_cheap, is_harmless
from headrace.onnx.importing.site import Site
from headrace.onnx.importing.values import Given, Value, is_list
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.onnx.importing.run_loop import JobsOf


class Importer:
    """Imports one model once; used by one thread.

    Attributes:
        builder: holds the job under construction, also after an import that did not end.
    """

    def __init__(
        self,
        file: ModelFile,
        placement: Placement,
        ops: DeviceOps = CORE_OPS,
        jobs_of: JobsOf | None = None,
    ) -> None:
        self._jobs_of = jobs_of
        # Of most weights only what is made of them stays, so they are read beside each other.
        memory = Region(sum(weight.nbytes for weight in file.weights.values()))
        self.builder = BoundedBuilder(file.name, placement, ops, memory.empty)
        self._ops = ops
        self._file = file
        self._nodes = 0
        # What all nodes of an op have: its declaration, and the converter if it has one.
        self._known: dict[tuple[str, str, int], tuple[Declaration, Converter | None]] = {}
        self._scope = Scope(file.name, file.opsets)
        # Of the model's graph: what its nodes and results read; what of it the results do, and
        # nodes that this stage does not import; and the nodes that are left.
        self._read: AbstractSet[str] = frozenset()
        self._awaited: set[str] = set()
        self._left: deque[tuple[int, Wired]] = deque()

    def run(
        self,
        specs: Mapping[str, TensorSpec],
        known: Mapping[str, Array],
        guessed: Mapping[str, Array] = MappingProxyType({}),
    ) -> JobGraph:
        """Import the model.

        Args:
            specs: of every input that is fed, and of what earlier stages found.
            known: values of those whose value becomes a part of the job. Kept: do not write.
            guessed: values of others, of which sizes are taken that should be the same for all.

        Raises:
            ValueNeeded: shapes depend on a value that is not known.
            MeasureNeeded: they depend on what is found when this stage has run.
            InvalidModelError, UnsupportedModelError, ResourceLimitError: it cannot be imported.
        """
        scope = self._scope
        own = {value.name for value in self._file.graph.input}
        for name, spec in specs.items():
            if name.startswith(SUPPOSED):
                self.builder.suppose(name, known[name])
                continue
            if name not in own:
                self.builder.give(name, spec, known.get(name))
                continue
            given = self.builder.constant(known[name]) if name in known else None
            fed = given or self.builder.input(name, spec)
            scope.bind(name, fed)
            if name in guessed and given is None:
                self.builder.guess(fed, guessed[name])
        for declared in self._file.graph.input:
            if declared.name not in specs and is_list(declared.type):
                from headrace.onnx.importing.lists import fed_as  # few models have any

                scope.bind(declared.name, fed_as(declared, self.builder.given, self._file.name))
        scope.bind_alike(self._file.alike)
        scope.bind_later(self._file.weights, self.builder.constant)
        self._bind_initializers(self._file.graph, scope)
        results = self._body(self._file.nodes, _outputs(self._file.graph), scope)
        results_by_name: dict[str, Tensor] = {}  # a name that is there twice is given once
        for output, result in zip(self._file.graph.output, results, strict=True):
            results_by_name |= self._output(output, result)
        for name, tensor in results_by_name.items():
            self.builder.output(name, tensor)
        self.builder.assume_supposed()
        assumptions = self.builder.assumptions
        for check, assumption in zip(checks_of(assumptions), assumptions, strict=True):
            for name, tensor in zip(check.outputs, assumption.tensors, strict=True):
                self.builder.output(name, tensor)
        self.builder.forget_unread()
        return self.builder.finish()

    def alive(self) -> dict[str, Tensor]:
        """What was computed, and is read by what ``look_ahead`` has left: names and tensors.

        Of tensors with several names, and of sequences, only what has a name first.
        """
        found: dict[str, tuple[str, Tensor]] = {}
        for name, value in self._scope.computed().items():
            if name in self._awaited and isinstance(value, Tensor):
                found.setdefault(value.name, (name, value))
        return dict(found.values())

    def _output(self, output: ValueInfoProto, result: Value) -> dict[str, Tensor]:
        """The outputs of the job for one of the model; checks what the model declares of it."""
        where = f"{self._file.name}: output {quote(output.name)}"
        if is_list(output.type):
            from headrace.onnx.importing.lists import given_as

            return given_as(output.name, result, self.builder.constant)
        if not isinstance(result, Tensor):
            raise UnsupportedModelError(
                f"{where}: is {result}, and is not declared as that; declare its type"
            )
        declared = output.type.tensor_type.elem_type
        if declared and tensors.dtype_from_onnx(declared, where) != result.spec.dtype:
            wanted = tensors.dtype_from_onnx(declared, where)
            raise InvalidModelError(f"{where}: is declared {wanted} and computed {result.spec}")
        return {output.name: result}

    def _graph(self, graph: GraphProto, scope: Scope) -> list[Value]:
        self._bind_initializers(graph, scope)
        wanted = _outputs(graph)
        return self._body(order(wired(graph.node), wanted, scope.where), wanted, scope)

    def _bind_initializers(self, graph: GraphProto, scope: Scope) -> None:
        where, folder, constant = scope.where, self._file.folder, self.builder.constant

        def dense(proto: TensorProto) -> Tensor:
            place = f"{where}: initializer {quote(proto.name)}"
            return constant(tensors.to_array(proto, place, folder))

        def sparse(proto: SparseTensorProto) -> Tensor:
            place = f"{where}: initializer {quote(proto.values.name)}"
            return constant(tensors.sparse_to_array(proto, place, folder))

        scope.bind_later({proto.name: proto for proto in graph.initializer}, dense)
        scope.bind_later({proto.values.name: proto for proto in graph.sparse_initializer}, sparse)

    def _body(self, nodes: Sequence[Wired], wanted: Sequence[str], scope: Scope) -> list[Value]:
        """Import the nodes, which the wanted values are computed with; returns these."""
        if scope.depth > limits.DEPTH:
            raise UnsupportedModelError(f"{scope.where}: is nested more than {limits.DEPTH} deep")
        self._nodes += len(nodes)
        if self._nodes > limits.NODES:
            raise UnsupportedModelError(
                f"{scope.where}: the model has more than {limits.NODES} nodes, functions "
                "written out"
            )
        read = set(wanted).union(*[node.reads for node in nodes])
        if scope.depth:
            for node in nodes:
                self._node(node, scope, read)
        else:
            self._read, self._awaited, self._left = read, set(wanted), deque(enumerate(nodes))
            while self._left:
                self._first_left()
        results: list[Value] = []
        for name in wanted:
            tensor = scope.get(name)
            if tensor is None:
                raise InvalidModelError(f"{scope.where}: output {quote(name)} has no value")
            results.append(tensor)
        return results

    def _first_left(self) -> None:
        """Import the first node of the model's graph that is left; it is so until that is done."""
        number, node = self._left[0]
        self.builder.node = number
        self._node(node, self._scope, self._read)
        self._left.popleft()
        if self.builder.idle_bytes > IDLE_BYTES:
            unread = self._awaited.union(*[left.reads for _, left in self._left])
            self.builder.forget_unread(self._scope.tensors(unread))

    def look_ahead(self) -> list[MeasureNeeded]:
        """Import what is left and does not depend on the node that the import ended at.

        What is measured there is measured by the same stage; otherwise each had one of its own.
        What cannot be imported waits as well: a later stage says why.
        """
        needs: list[MeasureNeeded] = []
        unknown = set[str]()
        while self._left:
            _, node = self._left[0]
            try:
                if unknown and unknown.isdisjoint(node.reads):
                    self._first_left()
                    continue
            except MeasureNeeded as need:
                needs.append(need)
            except HeadraceError:
                pass
            unknown.update(filter(None, node.outputs))
            self._awaited |= node.reads
            self._left.popleft()
        return needs

    def _node(self, node: Wired, scope: Scope, read: AbstractSet[str]) -> None:
        """Import a node of a body of which ``read`` is read."""
        outputs = node.outputs
        count = len(outputs)
        while outputs[count - 1] not in read:  # one of them is, or it would not be here
            count -= 1
        resolved = node.attributes
        if scope.attributes:  # of a function's call
            resolved = attributes.resolve(node.node.attribute, scope.attributes)
        inputs = tuple(map(scope.get, node.inputs))
        site = Site(node, inputs, resolved, count, scope, place(scope.where, node.node))
        function = self._file.functions.get(node.key)
        made = self._op(site) if function is None else self._function(site, function)
        if len(made) < count:
            raise InvalidModelError(f"{site.where}: gives {len(made)} outputs; {count} are read")
        for name, value in zip(outputs[:count], made, strict=False):
            if not name:
                continue
            if value is None:
                raise UnsupportedModelError(
                    f"{site.where}: headrace does not compute {quote(name)}, "
                    f"an output of {node.key[1]}"
                )
            if isinstance(value, Tensor) and not scope.depth:
                value = self.builder.as_found(name, value)
            scope.bind(name, value)

    def _function(self, site: Site, function: FunctionProto) -> Given:
        """Import a call of a function of the model."""
        defaults = {attribute.name: attribute for attribute in function.attribute_proto}
        return self._call(site, function, opsets_of(function.opset_import, site.where), defaults)

    def _op(self, site: Site) -> Given:
        """Import a node of an op that ONNX declares, or a plugin."""
        domain, op, _ = site.wired.key
        opset = site.scope.opsets.get(domain)
        if opset is None:
            raise InvalidModelError(
                f"{site.where}: the operator set of domain {quote(domain)} is not imported"
            )
        known = self._known.get((domain, op, opset))
        if known is None:
            if domain not in declared_domains():
                return self._plugin_op(site, domain)
            known = schemas.require(domain, op, opset, site.where), _converter(domain, op)
            self._known[domain, op, opset] = known
        declared, convert = known
        schemas.check_node(declared, site)
        if convert is not None:
            return self._convert(site, opset, convert)
        if not domain and op == "If":
            return self._branch(site)
        if not domain and op in LOOPS:
            return self._loop(site, opset)
        body = bodies.body_of(declared, site.written(), opset, site.inputs, site.where)
        if body is None:
            raise UnsupportedModelError(f"{site.where}: headrace does not run {op}-{opset}")
        # Not every body that ONNX writes says which operator sets it is written for.
        opsets = {**site.scope.opsets, **opsets_of(body.opset_import, site.where)}
        return self._call(site, body, opsets, bodies.defaults_of(declared))

    def _call(
        self,
        site: Site,
        function: FunctionProto,
        opsets: Mapping[str, int],
        defaults: Attributes,
    ) -> Given:
        """Put the body of a function in the place of its call."""
        where = f"{site.where}, in function {quote(function.name)}"
        if len(site.inputs) > len(function.input) or site.used > len(function.output):
            raise InvalidModelError(
                f"{where}: takes {len(function.input)} inputs and gives {len(function.output)} "
                f"outputs; the call has {len(site.inputs)} and {site.used}"
            )
        given = {**defaults, **site.attributes}
        # A graph that the call hands over sees what is around the call.
        outer = site.scope if site.resolved.graphs else None
        depth = site.scope.depth + 1
        scope = Scope(where, opsets, attributes=given, outer=outer, depth=depth)
        for name in function.input:
            scope.bind(name, None)
        for name, value in zip(function.input, site.inputs, strict=False):
            scope.bind(name, value)
        # A body made for a call need not compute what the call has no name for.
        given_names = site.wired.outputs[: site.used]
        called = zip(function.output, given_names, strict=False)
        wanted = [inner for inner, outer in called if outer]
        made = iter(self._body(order(wired(function.node), wanted, where), wanted, scope))
        return [next(made) if outer else None for outer in given_names]

    def _plugin_op(self, site: Site, domain: str) -> Sequence[Tensor]:
        """Add an op that a plugin brings, with the node's inputs and attributes as they are."""
        node, where = site.wired, site.where
        op = plugin_ops.find(domain, node.key[1], where, self._ops)
        attrs = plugin_ops.attrs(op, site.attributes, where)
        count = plugin_ops.output_count(op, site.used, len(node.outputs), where)
        inputs = [_tensor(value, where) for value in site.inputs]
        try:
            return self.builder.op(op.name, inputs, outputs=count, location=where, attrs=attrs)
        except DTypeError as error:
            raise UnsupportedModelError(_placed(where, error)) from error
        except OpError as error:
            raise InvalidModelError(_placed(where, error)) from error

    def _branch(self, site: Site) -> Given:
        """Put the branch that is taken in the place of an ``If``."""
        condition = _tensor(site.inputs[0], site.where)
        if condition is None:
            raise InvalidModelError(f"{site.where}: has no condition")
        if condition.spec.elements != 1:
            raise InvalidModelError(
                f"{site.where}: the condition is {condition.spec}, not one value"
            )
        branches = [site.attributes[name].g for name in ("then_branch", "else_branch")]
        for graph in branches:
            if graph.input:
                raise InvalidModelError(f"{site.where}: a branch has inputs; it takes none")
        value = self.builder.value(condition)
        if value is not None:
            return self._graph(branches[0 if value.item() else 1], site.scope.inside())
        made = self._select(site, condition, branches)
        if made is None:
            raise ValueNeeded(condition, f"{site.where}: its value decides which branch is taken")
        return made

    def _select(
        self, site: Site, condition: Tensor, branches: Sequence[GraphProto]
    ) -> list[Value] | None:
        """Both branches, and the one or the other element by element; None where that is not so."""
        if not all(map(is_harmless, branches)):
            return None
        before = self.builder.op_count
        try:
            made = [self._graph(graph, site.scope.inside()) for graph in branches]
        except (HeadraceError, ValueNeeded):  # the branch that is not taken may be anything
            return None
        pairs = alike(*made)
        if pairs is None or not are_cheap(self.builder.ops_since(before)):
            return None
        (which,) = self.builder.op("reshape", [condition], location=site.where, shape=())
        return [self.builder.op("where", [which, *pair], location=site.where)[0] for pair in pairs]

    def _loop(self, site: Site, opset: int) -> Given:
        """Put the body of a loop in its place, once for each time that it runs, or run it."""
        from headrace.onnx.importing.loops import WRITERS  # few models have loops
        from headrace.onnx.importing.run_loop import written_or_run

        graph = site.attributes["body"].g
        around = site.scope.inside()
        self._bind_initializers(graph, around)  # once: all runs share what they bring
        wanted = _outputs(graph)
        nodes = order(wired(graph.node), wanted, around.where)

        def run(given: Sequence[Value]) -> list[Value]:
            scope = around.inside()
            for value, tensor in zip(graph.input, given, strict=True):
                scope.bind(value.name, tensor)
            return self._body(nodes, wanted, scope)

        node = Node(self.builder, site, opset, self._file.folder)
        jobs_of = self._jobs_of

        # The nodes of a function's body may refer to attributes of its call, which a model has not.
        if node.op_type != "Loop" or jobs_of is None or site.scope.attributes:
            return _blamed(node, lambda: WRITERS[node.op_type](site, node, run))
        return _blamed(
            node, lambda: written_or_run(site, node, self.builder, self._file, jobs_of, run)
        )

    def _convert(self, site: Site, opset: int, convert: Converter) -> Given:
        """Run the node's converter."""
        node = Node(self.builder, site, opset, self._file.folder)
        made = _blamed(node, convert, node)
        if node.computed:
            for name, tensor in zip(site.wired.inputs, site.inputs, strict=True):
                if isinstance(tensor, Tensor) and tensor in node.computed:
                    site.scope.bind(name, node.computed[tensor])
        return made if isinstance(made, tuple) else (made,)


def _converter(domain: str, op: str) -> Converter | None:
    if not domain and op in CONVERTERS:
        return CONVERTERS[op]
    if domain == ML_DOMAIN and op in MACHINE_LEARNING:
        return MACHINE_LEARNING[op]
    if not domain and (op == "If" or op in LOOPS):  # few models need the table of the others
        return None
    contrib = microsoft.CONTRIB.get((domain, op))
    return None if contrib is None else contrib.convert


def _outputs(graph: GraphProto) -> list[str]:
    return [output.name for output in graph.output]


def _tensor(value: Value | None, where: str) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return value
    raise InvalidModelError(f"{where}: is given {value}; it takes tensors")


Made = TypeVar("Made")


def _blamed(node: Node, convert: Callable[..., Made], *given: object) -> Made:
    """What ``convert`` makes of a node; whatever is wrong is told as an error of the model."""
    try:
        return convert(*given)
    except (DTypeError, UnknownOpError, UnsupportedError) as error:
        raise UnsupportedModelError(_located(node, error)) from error
    except (OpError, GraphError) as error:
        raise InvalidModelError(_located(node, error)) from error
    except MemoryError as error:
        raise ResourceLimitError(f"{node}: there is not enough memory: {error}") from error
    except HeadraceError:
        raise
    # A converter may trip over values that no sound model has before it can say so.
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        raise InvalidModelError(
            f"{node}: its inputs or attributes do not fit ({type(error).__name__}: {error})"
        ) from error


def _located(node: Node, error: HeadraceError) -> str:
    """The message of ``error`` with the node before it, and its place said once."""
    return f"{node}: {_without(node.location, error)}"


def _placed(where: str, error: HeadraceError) -> str:
    return f"{where}: {_without(where, error)}"


def _without(location: str, error: HeadraceError) -> str:
    return str(error).replace(f" ({location})", "")
