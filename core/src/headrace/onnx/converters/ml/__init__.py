"""How the ops of domain ``ai.onnx.ml`` are expressed in headrace ops: one file per family.

Models of scikit-learn, XGBoost and LightGBM are made of them. What gives or takes text, or maps, is
run by the host: see ``headrace.onnx.hosted``. ``table.py`` has all converters, and is imported with
the first model that has such an op.
"""

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
    from headrace.onnx.converters.ml.table import MACHINE_LEARNING

__all__ = ["MACHINE_LEARNING"]

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__, {"headrace.onnx.converters.ml.table": "MACHINE_LEARNING"}
    )
