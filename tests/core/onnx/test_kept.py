"""Plans that are kept on disk: found again when all is the same, and only then."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import INT64, info, model, node
from toy_backends import far, host, near

from headrace.device import KernelEntry
from headrace.errors import FallbackWarning, ModelError, ResourceLimitError, SettingError
from headrace.numpy_ops import FUNCTIONS, NumpyKernel, kernel
from headrace.onnx import Model, load
from headrace.registry.registry import BackendRegistry
from headrace.registry.tables import KernelTable
from headrace.tensor_spec import Array, TensorSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
W = np.linspace(-1, 1, 1200, dtype=np.float32).reshape(400, 3)

SUM = model(
    [node("Add", "x w", "t"), node("Relu", "t", "y")],
    [info("x", ["n", 3])],
    weights={"w": W[:1]},
)
LARGE = model(
    [node("Add", "x w", "t"), node("Mul", "t c", "y")],
    [info("x", [1, 3])],
    weights={"w": W, "c": np.full((400, 3), 2, np.float32)},
)
RESHAPE = model(
    [node("Reshape", "x s", "y")],
    [info("x", None), info("s", None, INT64)],
)


class Kept:
    """Loads models as a fresh process would, and counts how often one was parsed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.parsed = 0
        self.identity: str | None = "this code"
        self.kernel: type[NumpyKernel] = NumpyKernel
        self._path = folder / "model.onnx"
        monkeypatch.setenv("HEADRACE_CACHE", str(folder / "cache"))
        monkeypatch.setenv("HEADRACE_PLAN_CACHE", "")
        monkeypatch.setattr("headrace.onnx.kept.identity_of", lambda *_: self.identity)
        from headrace.onnx.file import read

        real = read.parse_model

        def parse(*args: Any) -> Any:
            self.parsed += 1
            return real(*args)

        monkeypatch.setattr(read, "parse_model", parse)

    def load(self, source: Any = None, **options: Any) -> Model:
        """Load ``source`` as the file ``model.onnx``; None means what lies there."""
        if source is not None:
            self._path.write_bytes(source.SerializeToString())
        backends = {
            "near": near(tuple(FUNCTIONS), self.kernel),
            "cpu": host(),
            "far": far(),
        }
        return load(
            self._path,
            options.pop("device", "near"),
            registry=BackendRegistry.from_modules(backends),
            **options,
        )

    def move(self, name: str) -> None:
        """Give the model's file another name, in a folder that may be new."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        self._path = self._path.rename(path)

    def run(self, source: Any, **feeds: Array) -> Array:
        """The output ``y`` of one run."""
        with self.load(source) as loaded:
            return loaded.run(feeds)["y"]

    def files(self, kind: str = "plan") -> list[Path]:
        """What was kept."""
        return sorted((self.folder / "cache/plans").glob(f"*.{kind}"))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A cache folder of its own, and the wish to have it used."""
    return Kept(tmp_path, monkeypatch)


def test_a_kept_plan_gives_the_same_without_a_look_into_the_model(kept: Kept) -> None:
    """Results, signature and passes are those of the model that was compiled."""
    with kept.load(SUM) as first, kept.load() as second:
        for loaded in (first, second):
            np.testing.assert_array_equal(loaded.run({"x": X})["y"], np.maximum(X + W[:1], 0))
        with kept.load() as third:
            np.testing.assert_array_equal(third.run({"x": X})["y"], np.maximum(X + W[:1], 0))
            assert (third.inputs, third.outputs) == (first.inputs, first.outputs)
            plan = third.plan_for({"x": X})
            tasks = tuple(task._replace(kernel=None) for task in plan.tasks)
            assert plan._replace(tasks=tasks) == first.plan_for({"x": X})
            assert third.passes_for({"x": X}) == first.passes_for({"x": X})
    assert kept.parsed == 1


def test_a_weight_that_is_an_output_lies_on_the_host_and_on_the_device(kept: Kept) -> None:
    """Each has memory of its own, also where the host's is the file of the plan."""
    proto = model(
        [node("Add", "x w", "y"), node("Identity", "w", "z")],
        [info("x", [2, 3])],
        outputs=[info("y", None), info("z", None)],
        weights={"w": W[:1]},
    )
    for _ in range(2):
        with kept.load(proto, device="far") as loaded:
            results = loaded.run({"x": X})
        np.testing.assert_array_equal(results["y"], X + W[:1])
        np.testing.assert_array_equal(results["z"], W[:1])


def test_the_kernels_of_a_kept_plan_are_found_by_name(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin is not asked for its lists; it may have others, which nobody looks at."""
    kept.run(SUM, x=X)
    lists = []
    real = KernelTable.__init__

    def listed(table: KernelTable, entries: Iterable[KernelEntry]) -> None:
        lists.append(table)
        real(table, entries)

    monkeypatch.setattr(KernelTable, "__init__", listed)
    np.testing.assert_array_equal(kept.run(None, x=X), np.maximum(X + W[:1], 0))
    assert (kept.parsed, lists) == (1, [])


def test_a_kernel_that_is_there_no_more_is_selected_anew(kept: Kept) -> None:
    """The model is compiled again, which keeps another plan."""

    class Gone(NumpyKernel):
        pass

    Gone.__module__, Gone.__qualname__ = "headrace.numpy_ops.kernel", "Gone"
    kernel.Gone = Gone  # type: ignore[attr-defined]
    kept.kernel = Gone
    kept.run(SUM, x=X)
    assert kept.parsed == 1
    del kernel.Gone  # type: ignore[attr-defined]
    kept.kernel = NumpyKernel
    for _ in range(2):
        np.testing.assert_array_equal(kept.run(None, x=X), np.maximum(X + W[:1], 0))
        assert kept.parsed == 2


def test_each_shape_has_its_plan(kept: Kept) -> None:
    """A shape that was not seen is compiled, beside one that was kept."""
    kept.run(SUM, x=X)
    with kept.load() as loaded:
        for rows in (1, 2, 3, 1):
            x = np.ones((rows, 3), np.float32)
            np.testing.assert_array_equal(loaded.run({"x": x})["y"], np.maximum(x + W[:1], 0))
        assert "Relu" in {n.op_type for n in loaded.explain({"x": X}).nodes}
    assert len(kept.files()) == 3


def test_another_model_of_the_same_name_is_another_model(kept: Kept) -> None:
    """One weight that differs in one bit is enough."""
    np.testing.assert_array_equal(kept.run(LARGE, x=X[:1]), (X[:1] + W) * 2)
    other = onnx.ModelProto.FromString(LARGE.SerializeToString())
    changed = W.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], np.float32(2))
    other.graph.initializer[0].raw_data = changed.tobytes()
    np.testing.assert_array_equal(kept.run(other, x=X[:1]), (X[:1] + changed) * 2)
    assert kept.parsed == 2


def test_weights_that_the_model_has_are_not_stored_again(kept: Kept) -> None:
    """The plan says where they lie in the model's file, or in its external data."""
    kept.run(LARGE, x=X[:1])
    (path,) = kept.files()
    assert W.tobytes() not in path.read_bytes()
    assert path.stat().st_size < W.nbytes + 4096
    np.testing.assert_array_equal(kept.run(None, x=X[:1]), (X[:1] + W) * 2)
    assert kept.parsed == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("device", "near:1"),
        ("device", "far"),
        ("fallback", "error"),
        ("enable_inplace", False),
        ("enable_reuse_mem", False),
    ],
)
def test_what_else_decides_a_plan_is_part_of_its_key(kept: Kept, option: str, value: Any) -> None:
    """Placement and options; each has its own plan, which is found again."""
    usual: dict[str, Any] = {"fallback": "allow"}
    with kept.load(SUM, **usual) as loaded:
        loaded.run({"x": X})
    for options in (usual | {option: value}, usual, usual | {option: value}):
        with kept.load(**options) as loaded:
            np.testing.assert_array_equal(loaded.run({"x": X})["y"], np.maximum(X + W[:1], 0))
    assert (kept.parsed, len(kept.files())) == (2, 2)


def test_the_name_of_the_model_is_part_of_the_key(kept: Kept) -> None:
    """It is in messages and in the plan; the folder is in neither."""
    kept.run(SUM, x=X)
    kept.move("other.onnx")
    assert kept.run(None, x=X).shape == X.shape
    kept.move("folder/other.onnx")
    assert kept.run(None, x=X).shape == X.shape
    assert (kept.parsed, len(kept.files())) == (2, 2)


def test_a_plan_whose_kernels_need_more_memory_here_is_made_again(
    kept: Kept, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a plugin did not tell: nobody writes past the end of what was planned for it."""
    kept.run(SUM, x=X)
    monkeypatch.setattr(NumpyKernel, "workspace_bytes", lambda self: 4096)
    with caplog.at_level(logging.WARNING, "headrace.plan_cache"):
        for _ in range(2):
            np.testing.assert_array_equal(kept.run(None, x=X), np.maximum(X + W[:1], 0))
    (record,) = caplog.records
    assert "needs 4096 bytes of scratch memory here, and the plan has 0" in record.getMessage()
    assert kept.parsed == 2


def test_a_limit_on_memory_holds_for_kept_plans(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no part of the key: it decides whether a plan runs, not what is in it."""
    kept.run(SUM, x=X)
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "8")
    with kept.load() as loaded, pytest.raises(ResourceLimitError, match="the limit is 8"):
        loaded.run({"x": X})
    monkeypatch.delenv("HEADRACE_MEMORY_LIMIT")
    np.testing.assert_array_equal(kept.run(None, x=X), np.maximum(X + W[:1], 0))
    assert (kept.parsed, len(kept.files())) == (1, 1)


def test_other_code_compiles_again(kept: Kept) -> None:
    """And code that cannot be told apart keeps nothing and finds nothing."""
    kept.run(SUM, x=X)
    for identity, files in (("other code", 2), (None, 2), ("other code", 2)):
        kept.identity = identity
        kept.run(SUM, x=X)
        assert len(kept.files()) == files
    assert kept.parsed == 3


def test_a_model_given_as_bytes_leaves_no_trace(kept: Kept) -> None:
    """Who decrypts a model in memory keeps it there."""
    registry = BackendRegistry.from_modules({"near": near(tuple(FUNCTIONS))})
    for source in (SUM, SUM.SerializeToString()):
        with load(source, "near", registry=registry) as loaded:
            loaded.run({"x": X})
    assert not (kept.folder / "cache").exists()


@pytest.mark.parametrize("how", ["variable", "option"])
def test_the_cache_can_be_switched_off(
    kept: Kept, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written and nothing is read."""
    options: dict[str, Any] = {"plan_cache": False} if how == "option" else {}
    if how == "variable":
        monkeypatch.setenv("HEADRACE_PLAN_CACHE", "0")
    for _ in range(2):
        with kept.load(SUM, **options) as loaded:
            loaded.run({"x": X})
    assert kept.parsed == 2
    assert not (kept.folder / "cache").exists()


def test_a_size_that_is_no_number_is_refused(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what may be written there."""
    monkeypatch.setenv("HEADRACE_PLAN_CACHE", "1 GB")
    with pytest.raises(SettingError, match="HEADRACE_PLAN_CACHE is '1 GB'; it must be 0 for no"):
        kept.load(SUM)


def damage_end(data: bytes) -> bytes:
    return data[:-1]


def damage_middle(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def damage_all(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("kind", ["plan", "note"])
@pytest.mark.parametrize("damage", [damage_end, damage_middle, damage_all])
def test_what_is_damaged_is_made_again(
    kept: Kept, kind: str, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, with the file; the next process finds it whole."""
    kept.run(SUM, x=X)
    (path,) = kept.files(kind)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    with caplog.at_level(logging.WARNING, "headrace.plan_cache"):
        np.testing.assert_array_equal(kept.run(None, x=X), np.maximum(X + W[:1], 0))
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    assert path.read_bytes() == whole
    kept.run(None, x=X)
    assert kept.parsed == 2


def test_a_value_that_decides_a_shape_is_part_of_the_key(kept: Kept) -> None:
    """Which inputs do so is found in the cache, too."""
    for _ in range(2):
        for shape in ([3, 2], [6, 1], [3, 2]):
            assert kept.run(RESHAPE, x=X, s=np.array(shape)).tolist() == X.reshape(shape).tolist()
    assert kept.parsed == 2  # once for each value
    assert len(kept.files()) == 2
    with kept.load() as loaded, pytest.raises(ModelError, match="give arrays for them"):
        loaded.plan_for({"x": X, "s": TensorSpec((2,), "int64")})


def external(folder: Path, values: Array) -> None:
    """A model whose weight is in ``model.bin``."""
    proto = model([node("Add", "x w", "y")], [info("x", [1, 3])], weights={"w": values})
    onnx.save_model(
        proto,
        folder / "model.onnx",
        save_as_external_data=True,
        location="model.bin",
        size_threshold=0,
    )


def test_external_data_that_changed_is_noticed(kept: Kept, tmp_path: Path) -> None:
    """The model's own file stays the same; each content has its plan."""
    for values in (W, W[::-1].copy(), W):
        (tmp_path / "model.bin").unlink(missing_ok=True)
        external(tmp_path, values)
        for _ in range(2):
            np.testing.assert_array_equal(kept.run(None, x=X[:1]), X[:1] + values)
    assert all(W.tobytes()[:100] not in path.read_bytes() for path in kept.files())
    assert len(kept.files()) == 2


def test_external_data_that_is_gone_is_told_as_without_the_cache(
    kept: Kept, tmp_path: Path
) -> None:
    """When the model is loaded, and by the same error."""
    external(tmp_path, W)
    kept.run(None, x=X[:1])
    (tmp_path / "model.bin").unlink()
    with pytest.raises(ModelError, match=r"initializer 'w': external file 'model\.bin' cannot"):
        kept.load()


def test_a_plan_that_warned_warns_in_every_process(kept: Kept) -> None:
    """A fallback with a warning is compiled each time; an allowed one is kept."""
    sigmoid = model([node("Sigmoid", "x", "t"), node("Relu", "t", "y")], [info("x", [2, 3])])
    for fallback, warned in (("warn", 2), ("allow", 0)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(2):
                with kept.load(sigmoid, device="far", fallback=fallback) as loaded:
                    loaded.run({"x": X})
        assert len([w for w in seen if w.category is FallbackWarning]) == warned
    assert len(kept.files()) == 1


def test_the_least_recently_used_goes_first(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The folder stays below its size; what is used stays longest."""
    for number, rows in enumerate((1, 2, 3)):
        kept.run(SUM, x=np.ones((rows, 3), np.float32))
        for path in kept.files():  # file systems count time in larger steps than this test takes
            age = path.stat().st_mtime - 100 * (3 - number)
            os.utime(path, (age, age))
    first = kept.files()
    size = sum(path.stat().st_size for path in [*kept.files(), *kept.files("note")])
    monkeypatch.setenv("HEADRACE_PLAN_CACHE", str(size))
    kept.run(None, x=np.ones((1, 3), np.float32))  # used: now the youngest
    kept.run(None, x=np.ones((4, 3), np.float32))
    gone = set(first) - set(kept.files())
    assert len(gone) in (1, 2)
    parsed = kept.parsed
    kept.run(None, x=np.ones((1, 3), np.float32))
    assert kept.parsed == parsed
    total = sum(path.stat().st_size for path in [*kept.files(), *kept.files("note")])
    assert total <= size


def test_a_folder_that_cannot_be_written_costs_the_cache_alone(kept: Kept) -> None:
    """As on a home that is read-only, or a disk that is full."""
    (kept.folder / "cache").write_text("a file in the place of the folder")
    for _ in range(2):
        np.testing.assert_array_equal(kept.run(SUM, x=X), np.maximum(X + W[:1], 0))
    assert kept.parsed == 2


def test_files_are_for_the_user_alone(kept: Kept) -> None:
    """What a model computes is for those who may read the model."""
    kept.run(SUM, x=X)
    for path in [*kept.files(), *kept.files("note")]:
        assert path.stat().st_mode & 0o077 == 0
    assert kept.files()[0].parent.stat().st_mode & 0o077 == 0


def test_a_plan_of_another_model_under_the_key_is_not_taken(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that was moved there is whole; its model is another one."""
    kept.run(SUM, x=X[:1])
    (one,) = kept.files()
    stolen = one.read_bytes()
    kept.run(LARGE, x=X[:1])
    (other,) = set(kept.files()) - {one}
    other.write_bytes(stolen)
    np.testing.assert_array_equal(kept.run(None, x=X[:1]), (X[:1] + W) * 2)


FOLDED = model(
    [node("Mul", "w two", "v"), node("MatMul", "x v", "y")],
    [info("x", ["n", 400])],
    weights={"w": W, "two": np.array(2, np.float32)},
)


def check_folded(loaded: Model, *counts: int) -> None:
    """Run ``FOLDED`` on so many rows, one after another."""
    for count in counts:
        x = np.full((count, 400), 0.5, np.float32)
        y = loaded.run({"x": x})["y"]
        np.testing.assert_allclose(y, x @ (W * 2), rtol=1e-5, atol=1e-5)


def test_plans_for_several_shapes_store_their_weights_once(kept: Kept) -> None:
    """The first has them, and the others say so: in this process, and in one that finds it."""
    with kept.load(FOLDED) as first:
        check_folded(first, 1, 2, 3)
    with kept.load() as second:
        check_folded(second, 1, 4)
    sizes = sorted(file.stat().st_size for file in kept.files())
    assert len(sizes) == 4
    assert sizes[2] + W.nbytes < sizes[3]
    parsed = kept.parsed
    for counts in ((1,), (2, 1), (3, 4), (4, 2, 1)):
        with kept.load() as loaded:
            check_folded(loaded, *counts)
    assert kept.parsed == parsed


def test_a_plan_is_made_again_when_the_one_with_its_weights_is_gone(kept: Kept) -> None:
    """It may have been removed to make room, or be damaged."""
    with kept.load(FOLDED) as first:
        check_folded(first, 1, 2, 3)
    max(kept.files(), key=lambda file: file.stat().st_size).unlink()
    with kept.load() as second:
        check_folded(second, 2, 3, 1)
    assert kept.parsed > 1
    parsed = kept.parsed
    with kept.load() as third:
        check_folded(third, 3, 2, 1)
    assert kept.parsed == parsed


def test_a_process_keeps_so_many_plans_of_a_model(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who meets a new shape in every call does not fill the cache."""
    monkeypatch.setattr("headrace.onnx.file.limits.KEPT_PLANS", 2)
    with kept.load(FOLDED) as loaded:
        check_folded(loaded, 1, 2, 3, 4)
    assert len(kept.files()) == 2
