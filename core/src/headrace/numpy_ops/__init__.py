"""Every op computed in numpy, on host arrays: for constant folding, and for plugins to use.

``FUNCTIONS[op](call, inputs, outputs)`` writes the outputs. The compiler folds constants with
``evaluate``; a plugin whose memory can be seen as numpy arrays gets a kernel for every op from
``kernel_entries`` and replaces those that it does better. These functions are code under test: the
oracle in ``headrace.testing.reference`` is written apart from them and shares nothing.

Start with ``function.py``; one file per family, with the stems of ``headrace.ops``.
"""

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
    from headrace.numpy_ops.collective import NUMPY_COLLECTIVES
    from headrace.numpy_ops.function import NumpyFunction
    from headrace.numpy_ops.kernel import NumpyKernel, kernel_entries
    from headrace.numpy_ops.scale import scaled
    from headrace.numpy_ops.table import FUNCTIONS, evaluate

__all__ = [
    "FUNCTIONS", "NUMPY_COLLECTIVES", "NumpyFunction", "NumpyKernel", "evaluate", "kernel_entries",
    "scaled",
]  # fmt: skip

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "headrace.numpy_ops.collective": "NUMPY_COLLECTIVES",
            "headrace.numpy_ops.function": "NumpyFunction",
            "headrace.numpy_ops.kernel": "NumpyKernel kernel_entries",
            "headrace.numpy_ops.scale": "scaled",
            "headrace.numpy_ops.table": "FUNCTIONS evaluate",
        },
    )
