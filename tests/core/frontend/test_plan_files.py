"""Plan files: what is saved runs elsewhere and gives the same; what is wrong with one is said."""

# No `from __future__ import annotations`: the annotations of jobs below name local variables.

import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_backends import OPS, far, near

import headrace as flow
import headrace.typing as tp
from headrace.device import HostBuffer
from headrace.errors import (
    CheckpointError,
    DeviceUnavailableError,
    InputError,
    JobError,
    PlanError,
    Reason,
    SessionError,
)
from headrace.frontend.plan_file import read_plan_file, write_plan_file
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.plan.saved import PluginVersion
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import Array, TensorSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
W = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def session_on(tag: str, registry: BackendRegistry) -> flow.Session:
    """A session with job ``clamp``, relu(x + W), on a device of ``tag``."""
    session = flow.Session(registry)
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement(tag, "0:1"))

    @flow.global_function(function_config=config, session=session)
    def clamp(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return flow.relu(x + W)

    return session


@pytest.fixture(params=["near", "far"])
def saved(
    request: pytest.FixtureRequest, registry: BackendRegistry, tmp_path: Path
) -> Iterator[Path]:
    """The plan file of job ``clamp``, on each toy backend."""
    with session_on(request.param, registry) as session:
        session.save_plan("clamp", tmp_path / "clamp.any-name")
    return tmp_path / "clamp.any-name"


def change(path: Path, **fields: object) -> None:
    """Write the file again with other fields; its checksums are right."""
    file = read_plan_file(path)
    blobs = [file.weights[w.name] for w in file.saved.weights]
    write_plan_file(path, file.saved._replace(**fields), [b.copy() for b in blobs])


def test_a_saved_job_gives_what_the_job_gives(saved: Path, registry: BackendRegistry) -> None:
    """By a registry that had no part in compiling it, as in another process."""
    fresh = BackendRegistry.from_modules({"near": near(), "far": far()})
    with flow.load_plan(saved, registry=fresh) as plan:
        assert dict(plan.inputs) == {"x": TensorSpec((2, 3), "float32")}
        (result,) = plan.run({"x": X}).values()
        np.testing.assert_array_equal(result, np.maximum(X + W, 0))
        (again,) = plan.run({"x": -X}).values()
        np.testing.assert_array_equal(again, np.maximum(W - X, 0))
        assert list(plan.outputs.values()) == [TensorSpec.of(result)]
    with pytest.raises(SessionError):
        plan.run({"x": X})


@pytest.mark.parametrize("tag", ["near", "far"])
def test_variables_of_a_loaded_plan_take_a_checkpoint(
    tag: str, registry: BackendRegistry, tmp_path: Path
) -> None:
    """They begin as initialized, not as the session had them; one that does not fit is refused."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement(tag, "0:1"))
    with flow.Session(registry) as session:

        @flow.global_function(function_config=config, session=session)
        def learn(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
            total = flow.get_variable("total", (2, 3), initializer=flow.ones_initializer())
            flow.assign(total, total + x)
            return total

        learn(X)
        session.save_plan("learn", tmp_path / "learn.plan")
        held = session.get_all_variables()
    with flow.load_plan(tmp_path / "learn.plan", registry=registry) as plan:
        assert plan.get_all_variables()["total"].tolist() == np.ones((2, 3)).tolist()
        plan.load_variables(held)
        np.testing.assert_array_equal(plan.run({"x": X})["result"], 1 + X)
        with pytest.raises(CheckpointError, match="no variable is called 'totl'; there is 'total'"):
            plan.load_variables({"totl": X})
        with pytest.raises(CheckpointError, match=r"'total' must be float32\[2, 3\], of rank 2"):
            plan.load_variables({"total": X[0]})
        np.testing.assert_array_equal(plan.get_all_variables()["total"], 1 + X + X)
    with pytest.raises(SessionError):
        plan.get_all_variables()


def test_equal_jobs_give_equal_files(tmp_path: Path, registry: BackendRegistry) -> None:
    """And one that is there is replaced."""
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_text("what was here before")
        with session_on("far", registry) as session:
            session.save_plan("clamp", path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == paths


def test_weights_of_a_host_device_are_used_where_they_lie(tmp_path: Path) -> None:
    """They are the mapped file, aligned, and nobody can write to them."""
    seen: list[Array] = []

    class Looking(NumpyKernel):
        def bind(self, context, inputs, outputs, workspace):
            seen.extend(b.memory for b in inputs if isinstance(b, HostBuffer))
            return super().bind(context, inputs, outputs, workspace)

    registry = BackendRegistry.from_modules({"near": near(OPS, Looking)})
    with session_on("near", registry) as session:
        session.save_plan("clamp", tmp_path / "plan")
    with flow.load_plan(tmp_path / "plan", registry=registry):
        (weight,) = [memory for memory in seen if not memory.flags.writeable]
        base: object = weight
        while isinstance(base, np.ndarray):
            assert not base.flags.owndata
            base = base.base
        assert isinstance(base, mmap.mmap)
        assert weight.tobytes() == W.tobytes()
        assert weight.ctypes.data % 64 == 0


def test_feeds_that_do_not_fit_are_refused(saved: Path, registry: BackendRegistry) -> None:
    """The file, the input, and what it takes are named."""
    with flow.load_plan(saved, registry=registry) as plan:
        for feeds, message in (
            ({}, r"clamp\.any-name: input 'x' was not given; its inputs are 'x': float32\[2, 3\]"),
            ({"x": X, "y": X}, "no input is called 'y'"),
            ({"x": X[:1]}, r"input 'x' must be float32\[2, 3\] and its shape is \(1, 3\)"),
            ({"x": X.astype(np.float64)}, "its dtype is float64"),
        ):
            with pytest.raises(InputError, match=message):
                plan.run(feeds)
        assert len(plan.run({"x": X})) == 1


def test_every_truncation_is_refused(saved: Path, registry: BackendRegistry) -> None:
    """However much of the end is missing, or too much."""
    data = saved.read_bytes()
    for size in [*range(400), *range(400, len(data), 61), len(data) - 1]:
        saved.write_bytes(data[:size])
        with pytest.raises(PlanError, match=r"clamp\.any-name: is (no compiled|cut|damaged)"):
            flow.load_plan(saved, registry=registry)
    saved.write_bytes(data + b"\0")
    with pytest.raises(PlanError, match="damaged or cut short"):
        flow.load_plan(saved, registry=registry)


def test_every_changed_byte_is_refused(saved: Path, registry: BackendRegistry) -> None:
    """In the prelude, the header, the padding and the weights."""
    data = saved.read_bytes()
    used = [position for position, byte in enumerate(data) if byte]
    for position in sorted({*used, *range(128), *range(0, len(data), 61)}):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        saved.write_bytes(changed)
        with pytest.raises(PlanError):
            flow.load_plan(saved, registry=registry)


@given(data=st.binary(max_size=300))
def test_whatever_follows_the_magic_is_a_plan_error(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Numbers in a prelude are believed by nobody: nothing of their size is allocated."""
    path = tmp_path_factory.mktemp("plans") / "plan"
    path.write_bytes(b"\x8bHRPLN\r\n" + data)
    with pytest.raises(PlanError):
        flow.load_plan(path)


def test_another_layout_is_named_with_both_versions(saved: Path, registry: BackendRegistry) -> None:
    """The version comes before all that it may change."""
    data = bytearray(saved.read_bytes())
    data[8] = 7
    saved.write_bytes(data)
    with pytest.raises(PlanError, match="a plan file of version 7, and this headrace reads 2"):
        flow.load_plan(saved, registry=registry)


def test_another_headrace_or_plugin_is_named(saved: Path, registry: BackendRegistry) -> None:
    """What the plan was compiled with, what is here, and what to do."""
    versions = read_plan_file(saved).saved.versions
    (plugin,) = versions.plugins
    for other, message in (
        (versions._replace(core="99.1"), "compiled with headrace 99.1, and here is"),
        (versions._replace(api=(1, 99)), "the contract with backends 1.99, and here is 1."),
        (
            versions._replace(plugins=(PluginVersion(plugin.tag, "headrace-toy", "7"),)),
            f"the plugin of device '{plugin.tag}' headrace-toy 7, and here is a module; compile",
        ),
    ):
        change(saved, versions=other)
        with pytest.raises(PlanError, match=f"any-name: was .*{message}"):
            flow.load_plan(saved, registry=registry)


def test_a_device_that_is_not_there_is_named(saved: Path) -> None:
    """With the file, and the reasons that any other use of the device would give."""
    nothing = BackendRegistry.from_modules({})
    with pytest.raises(DeviceUnavailableError, match="any-name: was compiled for a device") as info:
        flow.load_plan(saved, registry=nothing)
    assert info.value.reason is Reason.NOT_INSTALLED


def test_a_device_that_is_one_too_many_is_named(saved: Path, registry: BackendRegistry) -> None:
    """The one that the plan is for, and those that there are."""
    tag = read_plan_file(saved).saved.versions.plugins[0].tag
    one = vars({"near": near, "far": far}[tag]())
    entry = replace(next(iter(one["headrace_devices"]())), count=lambda: 1)
    alone = SimpleNamespace(**one | {"headrace_devices": hookimpl(lambda: [entry])})
    with pytest.raises(
        DeviceUnavailableError, match=f"any-name: .* no device {tag}:1; .* has only {tag}:0"
    ) as info:
        flow.load_plan(saved, registry=BackendRegistry.from_modules({tag: alone}))
    assert info.value.reason is Reason.NO_SUCH_INDEX


class Greedy(NumpyKernel):
    """A kernel that needs scratch memory here, and needed none where the plan was compiled."""

    def workspace_bytes(self) -> int:
        return 4096


def test_scratch_memory_that_was_not_planned_is_named(
    tmp_path: Path, registry: BackendRegistry
) -> None:
    """What the kernel needs here and what the plan has; nobody writes past the end of it."""
    with session_on("near", registry) as session:
        session.save_plan("clamp", tmp_path / "plan")
    other = BackendRegistry.from_modules({"near": near(OPS, Greedy)})
    with pytest.raises(PlanError, match=r"plan: add .* needs 4096 bytes .* and the plan has 0"):
        flow.load_plan(tmp_path / "plan", registry=other)


def test_a_kernel_that_is_gone_is_named(tmp_path: Path, registry: BackendRegistry) -> None:
    """A plugin of the same version that lost a kernel is no crash."""
    with session_on("near", registry) as session:
        session.save_plan("clamp", tmp_path / "plan")
    poorer = BackendRegistry.from_modules({"near": near(("add",))})
    with pytest.raises(PlanError, match=r"plan: relu .* device 'near' has no kernel for it"):
        flow.load_plan(tmp_path / "plan", registry=poorer)


def test_a_weight_that_is_missing_is_named(saved: Path, registry: BackendRegistry) -> None:
    """With its shape and dtype."""
    change(saved, weights=())
    with pytest.raises(PlanError, match=r"any-name: .* needs weight .* of float32\[2, 3\], and it"):
        flow.load_plan(saved, registry=registry)


def test_a_weight_outside_the_file_is_named(saved: Path, registry: BackendRegistry) -> None:
    """A header that is whole and wrong is refused as well."""
    (weight,) = read_plan_file(saved).saved.weights
    change(saved, weights=(weight._replace(offset=1 << 40),))
    with pytest.raises(PlanError, match="ends at byte 1099511627800 of 64"):
        flow.load_plan(saved, registry=registry)


def test_a_plan_that_contradicts_itself_is_refused(saved: Path, registry: BackendRegistry) -> None:
    """Checksums that are right prove nothing: the plan is checked as one compiled here is."""
    plan = read_plan_file(saved).saved.plan
    change(saved, plan=plan._replace(chunks=tuple(c._replace(nbytes=1) for c in plan.chunks)))
    with pytest.raises(PlanError, match=r"any-name: .*register .* ends at byte"):
        flow.load_plan(saved, registry=registry)


@pytest.mark.parametrize("name", ["folder", "absent/plan"])
def test_a_file_that_cannot_be_had_is_named(
    name: str, tmp_path: Path, registry: BackendRegistry
) -> None:
    """Neither read nor written."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(PlanError, match=f"{name}: (cannot be read|is no plain file)"):
        flow.load_plan(tmp_path / name, registry=registry)
    with (
        session_on("near", registry) as session,
        pytest.raises(PlanError, match=f"{name}: cannot be written"),
    ):
        session.save_plan("clamp", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_only_jobs_of_the_session_are_saved(tmp_path: Path, registry: BackendRegistry) -> None:
    """A name that it does not have is refused as when it is called."""
    with session_on("near", registry) as session, pytest.raises(JobError, match="has no job 'g'"):
        session.save_plan("g", tmp_path / "plan")
