"""Explanations: for each op of a job where it runs, by which kernel, why, and what is copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from headrace.compiler.decision import Decision, How, PassRun
from headrace.compiler.layouts.choice import choose_format
from headrace.compiler.layouts.ways import Ways
from headrace.compiler.passes.lower_ops import judge_ops
from headrace.compiler.pipeline import Prepared, prepare
from headrace.compiler.sharding.log import BoxedTensor
from headrace.device import CollectiveEntry, KernelEntry
from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.frontend.fallback import fallback_of
from headrace.graph.job_graph import JobGraph
from headrace.light_dataclass import dataclass
from headrace.placement import Placement
from headrace.plan import OP_KINDS, Plan, TaskKind
from headrace.registry.registry import BackendRegistry

_COPIES = {
    TaskKind.COPY_H2D: "h2d",
    TaskKind.COPY_D2H: "d2h",
    TaskKind.COPY_PEER: "peer",
    TaskKind.COPY_NETWORK: "network",
}


@dataclass(frozen=True, slots=True)
class ExplainedOp:
    """One op of a job.

    Attributes:
        name: of the op in the job.
        op: what it computes, with the dtypes and shapes of its inputs.
        location: where the user wrote it, or the model's node.
        device: where it runs, as ``TAG:INDEX``; ``MACHINE:TAG:INDEX`` on a machine but the first.
        how: ``kernel``, ``decomposed``, ``fallback`` or ``unsupported``.
        kernels: what runs it: package, op, and what the kernel matches, each once.
        why: why not by a kernel of its own device; empty otherwise.
        data_format: of an op over images whose device prefers a format: which, and why that.
        h2d_bytes, d2h_bytes: copied to and from devices because this op reads elsewhere.
        peer_bytes: copied from other devices of the same kind, without the host.
        network_bytes: copied from the hosts of other machines.
    """

    name: str
    op: str
    location: str
    device: str
    how: str
    kernels: tuple[str, ...]
    why: str
    data_format: str
    h2d_bytes: int
    d2h_bytes: int
    peer_bytes: int
    network_bytes: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a job becomes.

    Attributes:
        job: its name.
        ops: its ops in order.
        result_bytes: copied from devices to give results to the caller.
        constant_bytes: weights that lie on devices.
        memory_bytes: planned for it in all; 0 when it cannot run.
        missing: what its device would need to run all of it: (op and dtype, how often).
        passes: those of plugins that ran, in order; the ops are what they made of the job.
        boxing: how each tensor of a job on several devices is brought to its readers.
    """

    job: str
    ops: tuple[ExplainedOp, ...]
    result_bytes: int
    constant_bytes: int
    memory_bytes: int
    missing: tuple[tuple[str, int], ...]
    passes: tuple[PassRun, ...]
    boxing: tuple[BoxedTensor, ...]

    @property
    def runs(self) -> bool:
        """True when every op can run."""
        return all(op.how != How.UNSUPPORTED for op in self.ops)

    def counts(self) -> dict[str, int]:
        """How many ops run in which way."""
        return dict(Counter(op.how for op in self.ops))


def explain_graph(
    graph: JobGraph,
    registry: BackendRegistry,
    options: CompileOptions = AS_USUAL,
) -> Explanation:
    """Explain a job; compiles it, opens no device. What cannot run is listed, not raised.

    Raises:
        DeviceError: a device cannot be used at all.
    """
    policy = fallback_of(options.fallback)
    prepared = prepare(graph, registry)
    decisions = judge_ops(prepared.graph, registry, policy).decisions
    if any(decision.how is How.UNSUPPORTED for decision in decisions):
        return _explain(graph.name, decisions, prepared, None, registry)
    compiled = options.compile(graph, registry)
    return _explain(graph.name, compiled.decisions, prepared, compiled.plan, registry)


def _explain(
    job: str,
    decisions: Sequence[Decision],
    prepared: Prepared,
    plan: Plan | None,
    registry: BackendRegistry,
) -> Explanation:
    copied, results = ({}, 0) if plan is None else _copied_bytes(plan)
    missing = Counter(
        f"{d.call.op} of {_dtype(d)}" for d in decisions
        if d.how in (How.UNSUPPORTED, How.FALLBACK)
    )  # fmt: skip
    return Explanation(
        job=job,
        ops=tuple(_explain_op(decision, copied, registry) for decision in decisions),
        result_bytes=results,
        constant_bytes=0 if plan is None else _constant_bytes(plan),
        memory_bytes=0 if plan is None else sum(chunk.nbytes for chunk in plan.chunks),
        missing=tuple(sorted(missing.items(), key=lambda pair: (-pair[1], pair[0]))),
        passes=prepared.passes,
        boxing=prepared.boxing,
    )


def _explain_op(
    decision: Decision, copied: Mapping[str, Counter[str]], registry: BackendRegistry
) -> ExplainedOp:
    """One op of the job; ``copied`` are the bytes by direction for each op that was made of it."""
    call = decision.call
    bytes_of = Counter[str]()
    for name in decision.ops:
        bytes_of.update(copied.get(name, {}))
    given = ", ".join("absent" if spec is None else str(spec) for spec in call.inputs)
    return ExplainedOp(
        name=call.name,
        op=f"{call.op}({given})",
        location=call.location,
        device=_device(decision.placed),
        how=str(decision.how),
        kernels=_kernels(decision, registry),
        why=decision.why,
        data_format=_format(decision, registry),
        h2d_bytes=bytes_of["h2d"],
        d2h_bytes=bytes_of["d2h"],
        peer_bytes=bytes_of["peer"],
        network_bytes=bytes_of["network"],
    )


def _copied_bytes(plan: Plan) -> tuple[dict[str, Counter[str]], int]:
    """Bytes by direction for each op that causes copies, and those of results."""
    producer = {register: task for task in plan.tasks for register in task.outputs}
    readers: dict[int, str] = {}
    for task in plan.tasks:
        if task.kind in OP_KINDS or task.kind is TaskKind.FOREIGN_OUTPUT:
            for register in task.inputs:
                if register is not None:
                    readers.setdefault(register, _reader(task.name, task.kind))
    copied: dict[str, Counter[str]] = {}
    results = 0
    for task in reversed(plan.tasks):
        if task.kind not in _COPIES:
            continue
        (source,), (made,) = task.inputs, task.outputs
        assert source is not None
        # A copy that feeds another copy belongs to whoever reads the last one.
        reader = readers.get(made, "")
        if source in producer and producer[source].kind in _COPIES:
            readers.setdefault(source, reader)
        nbytes = plan.registers[made].spec.nbytes
        if reader:
            copied.setdefault(reader, Counter())[_COPIES[task.kind]] += nbytes
        else:
            results += nbytes
    return copied, results


def _reader(name: str, kind: TaskKind) -> str:
    """The op that reads; nobody, for what the caller gets."""
    return name if kind in OP_KINDS else ""


def _constant_bytes(plan: Plan) -> int:
    return sum(r.spec.nbytes for r in plan.registers if r.constant is not None)


def _kernels(decision: Decision, registry: BackendRegistry) -> tuple[str, ...]:
    texts = [kernel_text(op, e, decision.placed, registry) for op, e in decision.kernels]
    return tuple(dict.fromkeys(texts))


def _format(decision: Decision, registry: BackendRegistry) -> str:
    backend = registry.backend(decision.asked.tag)
    choice = choose_format(decision.call, backend, Ways(registry))
    return "" if choice is None else f"{choice.data_format}: {choice.why}"


def kernel_text(
    op: str, entry: KernelEntry | CollectiveEntry, placement: Placement, registry: BackendRegistry
) -> str:
    """What runs an op: package, op, and what the kernel matches."""
    backend = registry.backend(placement.tag)
    return f"{backend.distribution or backend.tag}: {op} for {entry.match}"


def _dtype(decision: Decision) -> str:
    specs = [spec for spec in decision.call.inputs if spec is not None] or [*decision.call.outputs]
    return specs[0].dtype.name


def _device(placement: Placement) -> str:
    machine = placement.devices[0][0]
    indices = ",".join(str(index) for _, index in placement.devices)
    return f"{machine}:" * bool(machine) + f"{placement.tag}:{indices}"
