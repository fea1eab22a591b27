"""What ONNX declares lies in a file as the installed one declares it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx.defs
import pytest

from headrace.onnx.file.limits import OPSETS
from headrace.onnx.importing.declarations import ONNX, Declaration

pytestmark = pytest.mark.skipif(
    onnx.defs.onnx_opset_version() < OPSETS[1], reason="the installed one is older"
)


def test_the_file_is_up_to_date(root: Path) -> None:
    """`python tools/generate_declarations.py` writes it."""
    command = [sys.executable, str(root / "tools/generate_declarations.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_what_is_read_is_what_onnx_says() -> None:
    """Of each op, in each operator set."""
    schemas = onnx.defs.get_all_schemas_with_history()
    for domain, name in {(schema.domain, schema.name) for schema in schemas}:
        for opset in range(OPSETS[0], OPSETS[1] + 1):
            found = ONNX.find(domain, name, opset)
            assert (found is not None) is onnx.defs.has(name, opset, domain)
            if found is not None:
                schema: Any = onnx.defs.get_schema(name, opset, domain)
                before = onnx.defs.has(name, schema.since_version - 1, domain)
                wanted = Declaration.of(schema, is_gone=schema.deprecated and before)
                assert said(found) == said(wanted)


def said(declaration: Declaration) -> list[object]:
    """All that it says."""
    return [getattr(declaration, name) for name in Declaration.__annotations__]


def test_an_op_that_is_not_there() -> None:
    """In an earlier operator set, in none, or in another domain."""
    assert ONNX.find("", "Gelu", 20) is not None
    assert ONNX.find("", "Gelu", 19) is None
    assert ONNX.find("", "Nonsense", 20) is None
    assert ONNX.find("ai.onnx.ml", "Gelu", 20) is None
    assert "Gelu" in ONNX.names("")
    assert "Gelu" not in ONNX.names("ai.onnx.ml")
