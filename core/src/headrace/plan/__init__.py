"""The contract between compiler and runtime: what a plan is, how it is stored, checked, printed.

Start with ``model.py``; ``check.py`` says whether a plan is whole, with ``covered.py`` for its
bytes, and ``dump.py`` prints it. ``saved.py`` is a plan with what another process must know to run
it. Only the codecs (``codec.py``, ``codec_values.py``, ``saved_codec.py``) see protobuf. Nothing
here compiles or runs; compiler and runtime import this package and never each other.
"""

from headrace.plan.check import check
from headrace.plan.codec import decode, encode
from headrace.plan.dump import dump
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
