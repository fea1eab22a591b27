"""How the ops of onnxruntime's own domain are expressed in headrace ops: one file per family.

Models have them that onnxruntime's tools have quantized or optimised. Each file declares its ops
next to their converters, in ``OPS``; ``table.py`` has them all, and is imported with the first
model that has one.
"""

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
    from headrace.onnx.importing.converters.microsoft.table import CONTRIB

__all__ = ["CONTRIB"]

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__, {"headrace.onnx.importing.converters.microsoft.table": "CONTRIB"}
    )
