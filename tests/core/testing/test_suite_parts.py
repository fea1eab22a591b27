"""Tags, profiles, reports and witnesses of the conformance suite."""

from __future__ import annotations

import numpy as np
import pytest
from toy_backends import far, near

from headrace.device import ConformanceProfile
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec
from headrace.testing import Case, OpenedDevice
from headrace.testing.suite.report import Outcome, as_json, floor_missed, table
from headrace.testing.suite.rules import Verdict, judge, stale_patterns
from headrace.testing.suite.tags import is_chosen, tags_of_case
from headrace.testing.suite.witness import Evidence, WitnessedRegistry

ONE = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("case", "tags"),
    [
        (Case("x", "add", (ONE, ONE)), ("ops/f/float32", "core")),
        (Case("x", "add", (ONE.astype("int8"),) * 2), ("ops/f/int8",)),
        (Case("x", "relu", (ONE,)), ("ops/f/float32",)),
        (Case("x", "clip", (None, ONE)), ("ops/f/float32",)),
        (Case("x", "fill", (), {"dtype": "int16"}), ("ops/f/int16",)),
        (Case("x", "fill", (), {"dtype": "nonsense"}), ("ops/f/other",)),
    ],
)
def test_a_case_is_about_its_family_and_dtype(case: Case, tags: tuple[str, ...]) -> None:
    """The dtype is that of the first input there is; addition of float32 is core."""
    assert tags_of_case("f", case) == tags


def test_a_tag_is_chosen_by_name_or_pattern() -> None:
    """Any pattern that fits any tag will do."""
    assert is_chosen(["core", "memory"], ["memory"])
    assert is_chosen(["ops/matmul/float32"], ["ops/*/float32"])
    assert not is_chosen(["ops/matmul/float32"], ["ops/matmul", "Core"])


PROFILE = ConformanceProfile(
    "toy",
    unsupported={"ops/*/int4": "no loads", "test_x[[]a-1]": "by name"},
    expected_failures={"*a-1*": "later", "memory": "soon"},
)


@pytest.mark.parametrize(
    ("name", "tags", "verdict"),
    [
        ("test_x[a-1]", (), Verdict("skip", "test_x[[]a-1]", "by name")),
        ("test_x[a-12]", (), Verdict("xfail", "*a-1*", "later")),
        ("test_y", ("ops/cast/int4",), Verdict("skip", "ops/*/int4", "no loads")),
        ("test_y", ("core", "memory"), Verdict("xfail", "memory", "soon")),
        ("test_y", ("ops/cast/int8",), None),
    ],
)
def test_a_profile_speaks_of_names_and_tags(
    name: str, tags: tuple[str, ...], verdict: Verdict | None
) -> None:
    """What is unsupported goes before what is expected to fail."""
    assert judge(PROFILE, name, tags) == verdict


def test_a_pattern_that_fits_nothing_is_stale() -> None:
    """Each pattern must fit a name or a tag of some test."""
    tests = [("test_x[a-1]", ["ops/cast/int8"]), ("test_y", ["memory"])]
    assert stale_patterns(PROFILE, tests) == ["ops/*/int4"]


def outcome(kind: str, *tags: str) -> Outcome:
    return Outcome("test", tags, kind, "", (), 0.1)


OUTCOMES = (
    outcome("passed", "core"),
    outcome("passed", "ops/cast/float32", "core"),
    outcome("passed", "ops/cast/float32"),
    outcome("skipped", "ops/cast/bfloat16"),
    outcome("xfailed", "ops/pool/float32"),
    outcome("failed", "ops/pool/float32"),
)


def test_the_table_counts_by_tag_and_by_dtype() -> None:
    """A dot where there is no test, letters for what did not pass."""
    assert table(OUTCOMES) == [
        "core  2",
        "          bf16    f32",
        "ops/cast    1s      2",
        "ops/pool     .  1x 1F",
    ]


def test_the_report_holds_facts_counts_and_tests() -> None:
    """And says which format it has."""
    document = as_json(OUTCOMES, {"device": "toy:0"})
    assert (document["format"], document["device"]) == (1, "toy:0")
    assert document["counts"] == {"failed": 1, "passed": 3, "skipped": 1, "xfailed": 1}
    tests = document["tests"]
    assert isinstance(tests, list)
    assert tests[1]["tags"] == ("ops/cast/float32", "core")


@pytest.mark.parametrize(
    ("floor", "missed"), [("5", False), ("6", True), ("83%", False), ("84%", True), ("0", False)]
)
def test_the_floor_counts_what_ran(floor: str, missed: bool) -> None:
    """Five of six ran: what failed ran too, what was skipped did not."""
    assert bool(floor_missed(OUTCOMES, floor)) == missed


@pytest.mark.parametrize("floor", ["-1", "nan%", "-1%", "101%", "inf%", "1.5", "%"])
def test_a_floor_that_holds_nothing_or_cannot_be_held_is_refused(floor: str) -> None:
    """A negative floor would pass an empty run, and a share of NaN would fail a full one."""
    with pytest.raises(ValueError, match="neither a number nor a share"):
        floor_missed(OUTCOMES, floor)


def test_a_share_of_nothing_is_missed() -> None:
    """A run in which nothing was collected proves nothing."""
    assert floor_missed((), "0%")


def run_on(device: str, registry: BackendRegistry) -> None:
    builder = JobGraphBuilder("job", Placement.of_device(device), fold=False)
    x = builder.input("x", TensorSpec.of(ONE))
    builder.output("y", builder.op("relu", [x])[0])
    with CompiledJob(builder.finish(), registry) as job:
        assert job.run({"x": ONE})["y"].tolist() == [1, 1]


def test_a_job_leaves_evidence_where_it_ran() -> None:
    """The device whose kernel was bound, and no other; copies alone compute nothing."""
    evidence = Evidence()
    plain = BackendRegistry.from_modules({"near": near(), "far": far()})
    registry = WitnessedRegistry(plain, evidence)
    run_on("far:1", registry)
    assert (evidence.used, evidence.computed) == ({"far:1"}, {"far:1"})
    evidence.clear()
    with OpenedDevice("far:0", registry) as opened:
        opened.upload(ONE)
    assert (evidence.used, evidence.computed) == ({"far:0"}, set())
    evidence.clear()
    run_on("near", plain)
    assert (evidence.used, evidence.computed) == (set(), set())
