"""The project's texts speak of the project alone, and call things by the names of the field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SKIPPED = {"build", "dist", "__pycache__", "node_modules", "wheels", "proto"}
SUFFIXES = {".c", ".cpp", ".css", ".h", ".in", ".inc", ".ini", ".js", ".md", ".proto", ".py"}
SUFFIXES |= {".html", ".json", ".pyi", ".toml", ".txt", ".yml", ""}
HOSTS = "github.com|git-lfs|git-lfs.github.com|www.apache.org|www.w3.org|json-schema.org"

RULES: dict[str, str] = {
    # what is not said: what to do instead
    r"\b(?:TODO|FIXME|XXX|HACK)\b": "finish it, or take it out",
    r"(?<![\w.)}\]*-])/(?:home|root|work|Users|mnt)/\w": "name no place of one machine",
    rf"https?://(?!(?:{HOSTS}|host|example\.org)\b)[\w.-]+": "a host that HOSTS does not list",
    r"(?i)\b(?:extra-)?index-url\b": "no registry but the reader's own",
    r"(?i)\b(?:session[- ]note|sub-?agent|hand-?over note|chat-?bot)s?\b": "speak of the project",
    r"\b(?:Onnx|onnx runtime|ONNX ?[Rr]untime|Onnxruntime)\b": "ONNX, onnxruntime",
    r"\b(?:Pytorch|Oneflow|Tensorflow|Openvino)\b": "PyTorch, OneFlow, TensorFlow, OpenVINO",
    r"(?i)\b(?:soft-max|mat-mul|d-type|data-flow|b?float-16|broadcasted|de-quantize)\b": (
        "softmax, matmul, dtype, dataflow, float16, broadcast, dequantize"
    ),
    r"(?i)\w*quantis\w*": "quantize, as the ops are called",
    r"\b(the|of|in|is|and|to|an) \1\b": "a word too many",
}


def texts(root: Path) -> Iterator[Path]:
    """What people wrote, wherever it lies in the checkout."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") for part in parts)
        if not hidden and not SKIPPED & set(parts) and path.suffix in SUFFIXES and path.is_file():
            yield path


def found(root: Path) -> list[str]:
    """`file:line: words: what to do instead`."""
    answer = []
    for path in texts(root):
        if path == Path(__file__):
            continue  # says them all
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for pattern, instead in RULES.items():
                if match := re.search(pattern, line):
                    where = f"{path.relative_to(root).as_posix()}:{number}"
                    answer.append(f"{where}: {match[0]}: {instead}")
    return answer


def test_texts_speak_of_the_project_alone(root: Path) -> None:
    """Whoever reads them knows nothing of how, where and by whom they were written."""
    assert found(root) == []


@pytest.mark.parametrize(
    "line",
    [
        "# TODO: later",
        "read /home/somebody/model.onnx",
        "pip install --index-url=mirror",
        "see https://registry.corp.example/simple",
        "as the session notes say",
        "the Onnx model",
        "the the plan",
    ],
)
def test_a_planted_word_is_found(tmp_path: Path, line: str) -> None:
    """Once, with its place."""
    (tmp_path / "page.md").write_text(f"Fine.\n{line}\n", "utf-8")
    assert [entry.partition(": ")[0] for entry in found(tmp_path)] == ["page.md:2"]
