"""What may be done to save memory; each can be switched off to find out what it does."""

from __future__ import annotations

from headrace.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """How the memory of a job is planned. None of it changes a bit of any result.

    Attributes:
        inplace: outputs may lie on the memory of inputs, as views of them or written over them.
        reuse: tensors that are not needed at the same time may lie on the same memory.
    """

    inplace: bool = True
    reuse: bool = True
