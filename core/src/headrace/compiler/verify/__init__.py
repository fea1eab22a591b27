"""What each stage of compiling promises, checked when ``HEADRACE_VERIFY`` is 1, as in tests.

One file a stage; each begins with what it promises. ``Verifier`` is told every stage, and also
compares it with the one before.
"""

from headrace.compiler.verify.job_graph import verify_job_graph
from headrace.compiler.verify.task_graph import verify_task_graph
from headrace.compiler.verify.verifier import Verifier

__all__ = ["Verifier", "verify_job_graph", "verify_task_graph"]
