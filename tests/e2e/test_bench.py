"""A model is measured beside onnxruntime, in processes of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headrace.bench import compare
from headrace.errors import BenchError


def test_both_runtimes_are_measured(device: str, model: Path) -> None:
    """Times, ratios and memory are there, and the outputs agree."""
    x = np.ones((2, 3, 2, 2), np.float32)
    steps: list[None] = []
    one, two = compare(
        model,
        {"x": x},
        device=device,
        threads=(1, 2),
        rounds=2,
        loads=2,
        after_each=lambda: steps.append(None),
    )
    assert (one.threads, two.threads, len(steps)) == (1, 2, 8)
    for measured in (one.headrace, one.peer):
        assert 0 < measured.call_seconds.p10 <= measured.call_seconds.p90
        assert 0 < measured.load_seconds.p10 <= measured.load_seconds.p90
        assert measured.peak_bytes > 1 << 20
    assert one.ratio.median > 0
    assert one.load_ratio.median > 0
    assert one.next_load_ratio.median > 0
    assert one.next_load_seconds.median != one.headrace.load_seconds.median
    assert one.difference < 1e-5


def test_what_a_runtime_says_of_a_model_is_told(device: str, model: Path) -> None:
    """With its name; the processes end."""
    with pytest.raises(BenchError, match=r"headrace with 1 thread\(s\) cannot run the model"):
        compare(model, {"x": np.ones(3, np.float32)}, device=device)
