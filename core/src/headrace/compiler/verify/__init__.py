"""What each stage of compiling promises, checked when ``HEADRACE_VERIFY`` is 1, as in tests.

One file a stage; each begins with what it promises. ``Verifier`` is told every stage, and also
compares it with the one before.
"""

from typing import TYPE_CHECKING

from headrace.compiler.verify.job_graph import verify_job_graph
from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
    from headrace.compiler.verify.task_graph import verify_task_graph
    from headrace.compiler.verify.verifier import Verifier

__all__ = ["Verifier", "verify_job_graph", "verify_task_graph"]

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "headrace.compiler.verify.task_graph": "verify_task_graph",
            "headrace.compiler.verify.verifier": "Verifier",
        },
    )
