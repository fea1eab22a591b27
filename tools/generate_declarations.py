"""Write what the installed `onnx` declares of its ops to `headrace.onnx.importing`.

    python tools/generate_declarations.py            write declarations.txt
    python tools/generate_declarations.py --check    write nothing; fail if it would change

The operator sets are those that headrace knows, `OPSETS` in `headrace.onnx.file.limits`, and `onnx`
must know all of them. `Declarations` in `headrace.onnx.importing.declarations` says how the file is
read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx.defs
from onnx import AttributeProto

from headrace.onnx.file.limits import OPSETS
from headrace.onnx.importing.declarations import ANY_NUMBER, Declaration

ROOT = Path(__file__).resolve().parent.parent
DESTINATION = ROOT / "core/src/headrace/onnx/importing/declarations.txt"


def declared() -> list[Declaration]:
    """All versions of all ops, in a stable order."""
    schemas: list[Any] = [*onnx.defs.get_all_schemas_with_history()]
    schemas.sort(key=lambda schema: (schema.domain, schema.name, schema.since_version))
    found: list[Declaration] = []
    for schema in schemas:
        if not schema.domain and schema.since_version > OPSETS[1]:
            continue
        # GroupNormalization of operator set 18 was deprecated after the fact, for the wrong shape
        # of its scale; nothing was there before it that would be gone, and models have it.
        was = bool(found) and (found[-1].domain, found[-1].name) == (schema.domain, schema.name)
        found.append(Declaration.of(schema, is_gone=schema.deprecated and was))
    return found


def text(declarations: Iterable[Declaration]) -> str:
    """All of the file."""
    sets: dict[str, int] = {}
    lines: list[str] = []
    for one in declarations:
        types: list[str] = []
        for letter, kinds in one.types.items():
            kept = " ".join(sorted(kinds))
            types.append(f"{letter}:{sets.setdefault(kept, len(sets))}")
        parameters = [f"{p.name}:{p.kind}{'*' if p.mixed else ''}" for p in one.parameters]
        attributes = [
            f"{name}:{AttributeProto.AttributeType.Name(kind).lower()}"
            + ("!" if name in one.required else "")
            for name, kind in one.attributes.items()
        ]
        facts = ["gone"] * one.is_gone + ["body"] * one.has_body
        head = [one.domain or "ai.onnx", one.name, str(one.since), *map(_count, one.counts)]
        parts = (head, parameters, attributes, types, facts)
        lines.append(" ; ".join(map(" ".join, parts)).rstrip())
    return "\n".join([*sets, "", *lines, ""])


def _count(counts: range) -> str:
    return f"{counts[0]}-{'' if counts[-1] == ANY_NUMBER else counts[-1]}"


def main() -> None:
    """As the text above says."""
    made = text(declared())
    if sys.argv[1:] != ["--check"]:
        DESTINATION.write_text(made, "utf-8")
    elif DESTINATION.read_text("utf-8") != made:
        raise SystemExit(f"{DESTINATION} is not what onnx {onnx.__version__} declares")


if __name__ == "__main__":
    main()
