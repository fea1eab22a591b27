"""The contract between compiler and runtime: what a plan is, how it is stored, checked, printed.

Start with ``model.py``. Nothing here compiles or runs; compiler and runtime import this package
and never each other. Only ``codec.py`` and ``codec_values.py`` see protobuf.
"""

from headrace.plan.check import check
from headrace.plan.codec import decode, encode
from headrace.plan.dump import dump
from headrace.plan.model import (
    OP_KINDS,
    ActorDesc,
    ChunkDesc,
    JobDesc,
    JobKind,
    Plan,
    RegisterDesc,
    TaskDesc,
    TaskKind,
)

__all__ = [
    "OP_KINDS",
    "ActorDesc",
    "ChunkDesc",
    "JobDesc",
    "JobKind",
    "Plan",
    "RegisterDesc",
    "TaskDesc",
    "TaskKind",
    "check",
    "decode",
    "dump",
    "encode",
]
