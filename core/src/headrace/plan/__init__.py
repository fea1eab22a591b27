"""The contract between compiler and runtime: what a plan is, how it is stored, checked, printed.

Start with ``model.py``; ``check_plan.py`` says whether a plan is whole, with ``covered.py`` for its
bytes, and ``dump_plan.py`` prints it, with ``names.py``. ``saved.py`` is a plan with what another
process must know to run it. Only the codecs (``codec.py``, ``codec_values.py``,
``saved_codec.py``) see protobuf; ``kept_codec.py`` is for the plan cache, whose readers run the
very code that wrote. Nothing here compiles or runs; compiler and runtime import this
package and never each other.
"""

from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names
from headrace.plan.model import (
    COPIES,
    CORE_KINDS,
    OP_KINDS,
    ActorDesc,
    ChunkDesc,
    CriticalSection,
    JobDesc,
    JobKind,
    Plan,
    RegisterDesc,
    TaskDesc,
    TaskKind,
    VariableDesc,
)

if TYPE_CHECKING:
    from headrace.plan.check_plan import check
    from headrace.plan.codec import decode, encode
    from headrace.plan.dump_plan import dump

__all__ = [
    "COPIES",
    "CORE_KINDS",
    "OP_KINDS",
    "ActorDesc",
    "ChunkDesc",
    "CriticalSection",
    "JobDesc",
    "JobKind",
    "Plan",
    "RegisterDesc",
    "TaskDesc",
    "TaskKind",
    "VariableDesc",
    "check",
    "decode",
    "dump",
    "encode",
]

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "headrace.plan.check_plan": "check",
            "headrace.plan.codec": "decode encode",
            "headrace.plan.dump_plan": "dump",
        },
    )
