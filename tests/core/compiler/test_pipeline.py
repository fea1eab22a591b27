"""From job graph to plan: folding, dead ops, lowering, routing, chains; and equal bytes."""

from __future__ import annotations

import numpy as np
import pytest
from toy_backends import near

from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.pipeline import compile_job
from headrace.errors import (
    DeviceUnavailableError,
    GraphError,
    OpError,
    ShapeError,
    UnknownOpError,
    UnsupportedError,
)
from headrace.graph.builder import FOLD_LIMIT_BYTES, JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.numpy_ops import NumpyKernel
from headrace.placement import Placement
from headrace.plan import TaskKind, encode
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((2, 3), "float32")


def builder(device: str = "near") -> JobGraphBuilder:
    return JobGraphBuilder("job", Placement.of_device(device))


def crossing() -> JobGraph:
    """A job that goes from one backend to the other and back."""
    b = builder("far")
    x = b.input("x", SPEC)
    w = b.constant(np.ones(3, np.float32), "w")
    (a,) = b.op("add", [x, w], name="first")
    with b.placed(Placement.of_device("near")):
        (c,) = b.op("relu", [a], name="second")
    (d,) = b.op("add", [c, a], name="third")
    b.output("y", d)
    return b.finish()


def test_what_is_fed_never_lies_where_a_result_is_read(registry: BackendRegistry) -> None:
    """The next call may be fed while the result of the one before is still on its way out."""
    b = JobGraphBuilder("job", Placement.of_device("far"))
    (y,) = b.op("relu", [b.input("x", SPEC)])
    for _ in range(4):
        (y,) = b.op("relu", [b.op("identity", [y])[0]])
    b.output("y", y)
    plan = compile_job(b.finish(), registry).plan
    (h2d,) = [task for task in plan.tasks if task.kind is TaskKind.COPY_H2D]
    (d2h,) = [task for task in plan.tasks if task.kind is TaskKind.COPY_D2H]
    assert d2h.inputs[0] is not None
    x, result = plan.registers[h2d.outputs[0]], plan.registers[d2h.inputs[0]]
    assert x.chunk == result.chunk
    assert x.offset + x.spec.nbytes <= result.offset or (
        result.offset + result.spec.nbytes <= x.offset
    )


def test_equal_jobs_give_equal_bytes(registry: BackendRegistry) -> None:
    """Compiling the same job twice gives the same plan, byte for byte."""
    assert encode(compile_job(crossing(), registry).plan) == encode(
        compile_job(crossing(), registry).plan
    )


def test_ops_of_constants_are_folded_as_they_are_added() -> None:
    """An op whose inputs are all known leaves a constant and no op."""
    b = builder()
    one = b.constant(np.array([1, 2], np.float32))
    (two,) = b.op("add", [one, one])
    np.testing.assert_array_equal(b.value(two), [2, 4])
    assert b.finish().ops == ()


def test_a_constant_is_not_blown_up() -> None:
    """An expansion past the limit is left to the device instead of being computed at once."""
    b = builder()
    one = b.constant(np.ones(1, np.float32))
    (big,) = b.op("expand", [one], shape=(FOLD_LIMIT_BYTES // 4 + 1,))
    assert b.value(big) is None
    assert [op.call.op for op in b.finish().ops] == ["expand"]


def test_dead_ops_and_constants_go() -> None:
    """What no result needs is removed; inputs stay."""
    b = builder()
    x, unused = b.input("x", SPEC), b.input("unused", SPEC)
    b.op("relu", [unused])
    b.op("add", [x, b.constant(np.ones(3, np.float32))])
    (y,) = b.op("relu", [x], name="kept")
    b.output("y", y)
    graph = remove_dead_ops(b.finish())
    assert [op.call.name for op in graph.ops] == ["kept"]
    assert not graph.constants
    assert [tensor.name for tensor in graph.inputs] == ["x", "unused"]


def test_an_op_without_a_kernel_is_decomposed() -> None:
    """add_n runs on a device that has only add, and the result keeps its name."""
    registry = BackendRegistry.from_modules({"near": near(ops=("add",))})
    b = builder()
    x = b.input("x", SPEC)
    (y,) = b.op("add_n", [x, x, x])
    b.output("y", y)
    plan = compile_job(b.finish(), registry).plan
    ops = [task.call.op for task in plan.tasks if task.call]
    assert ops == ["add", "add"]


def test_an_op_that_no_kernel_serves_is_refused_with_what_would_do() -> None:
    """The error names the op, the node, the dtypes, the device and what the device has."""
    registry = BackendRegistry.from_modules({"near": near(ops=("add",))})
    b = builder()
    (y,) = b.op("relu", [b.input("x", SPEC)], name="r", location="job.py:7")
    b.output("y", y)
    with pytest.raises(UnsupportedError, match=r"relu 'r' \(job.py:7\).*'near'.*float32\[2, 3\]"):
        compile_job(b.finish(), registry)


@pytest.mark.parametrize(
    ("placement", "error", "message"),
    [
        (Placement.parse("near", "0:7"), DeviceUnavailableError, "near:7"),
        (Placement.parse("nowhere", "0:0"), DeviceUnavailableError, "nowhere"),
    ],
)
def test_a_placement_that_cannot_be_used_says_why(
    registry: BackendRegistry, placement: Placement, error: type[Exception], message: str
) -> None:
    """A missing device and a missing backend are told apart."""
    b = builder()
    with b.placed(placement):
        (y,) = b.op("relu", [b.input("x", SPEC)])
    b.output("y", y)
    with pytest.raises(error, match=message):
        compile_job(b.finish(), registry)


def test_the_builder_refuses_what_is_not_well_formed() -> None:
    """Doubled names, foreign tensors, unknown ops and misfit shapes each have their error."""
    b = builder()
    x = b.input("x", SPEC)
    with pytest.raises(GraphError, match="two tensors called 'x'"):
        b.input("x", SPEC)
    b.op("relu", [x], name="r")
    with pytest.raises(GraphError, match="two ops called 'r'"):
        b.op("relu", [x], name="r")
    with pytest.raises(GraphError, match="no tensor of job"):
        b.op("relu", [builder().input("z", SPEC)])
    with pytest.raises(UnknownOpError, match="did you mean relu"):
        b.op("rleu", [x])
    with pytest.raises(ShapeError, match="do not broadcast"):
        b.op("add", [x, b.constant(np.ones(4, np.float32))])
    with pytest.raises(OpError, match="no attribute 'axis'"):
        b.op("relu", [x], axis=1)
    b.output("y", x)
    with pytest.raises(GraphError, match="two results called 'y'"):
        b.output("y", x)


def test_names_made_while_lowering_leave_the_users_alone() -> None:
    """A decomposition that comes first takes no name that an op behind it has."""
    registry = BackendRegistry.from_modules({"near": near(ops=("add",))})
    b = builder()
    x = b.input("x", SPEC)
    (sum_,) = b.op("add_n", [x, x, x])
    (y,) = b.op("add", [sum_, x])
    b.output("y", y)
    plan = compile_job(b.finish(), registry).plan
    names = [task.name for task in plan.tasks if task.call]
    assert names == ["add_1", "add_2", "add_0"]


def test_a_constant_too_large_to_fold_needs_a_kernel_like_any_tensor() -> None:
    """What was left to the device and the device cannot do is refused by name."""
    registry = BackendRegistry.from_modules({"near": near(ops=("add",))})
    b = builder()
    one = b.constant(np.ones(1, np.float32))
    b.output("y", *b.op("expand", [one], shape=(FOLD_LIMIT_BYTES // 4 + 1,), name="big"))
    with pytest.raises(UnsupportedError, match=r"expand 'big'.*'near'"):
        compile_job(b.finish(), registry)


def test_a_result_of_another_job_is_refused() -> None:
    """A tensor that leaked from one job cannot be returned by another."""
    leaked = builder().input("z", SPEC)
    with pytest.raises(GraphError, match="result 'y' is 'z', which is no tensor of job 'job'"):
        builder().output("y", leaked)


class Scratch(NumpyKernel):
    """A kernel that asks for scratch memory."""

    def workspace_bytes(self) -> int:
        return 64


def test_scratch_memory_never_shares_its_name_with_a_tensor() -> None:
    """An input called like the scratch of an op keeps its own memory."""
    registry = BackendRegistry.from_modules({"near": near(kernel=Scratch)})
    b = builder()
    x = b.input("relu_0#workspace", TensorSpec((16,), "float32"))
    (y,) = b.op("relu", [x])
    b.output("y", *b.op("add", [y, x]))
    plan = compile_job(b.finish(), registry).plan
    names = [register.name for register in plan.registers]
    assert len(set(names)) == len(names)
    input_, scratch = (r for r in plan.registers if "relu_0#" in r.name)
    assert (input_.name, scratch.name) == ("relu_0#workspace", "relu_0#workspace'")
    assert scratch.offset >= input_.offset + input_.spec.nbytes


def test_many_results_are_told_apart_by_their_hashes() -> None:
    """A name is compared with few others, also in a job that returns thousands of tensors."""
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    builder = JobGraphBuilder("job", Placement.of_device("cpu"))
    x = builder.input("x", TensorSpec((2,), "float32"))
    for index in range(300):
        builder.output(Name(f"y{index}"), x)
    assert len(builder.finish().outputs) == 300
    assert compared < 300
