"""Text in a model file is UTF-8, or the file is damaged.

Protobuf hands out a string field that is not UTF-8 as bytes, without an error. Checked once, when
a model is read, so that a name is a ``str`` for everybody who reads it later.
"""

from __future__ import annotations

import functools

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from headrace.errors import InvalidModelError


def check_text(model: Message, where: str) -> None:
    """Check every string of a message and of the messages in it.

    Raises:
        InvalidModelError: one is not UTF-8; names the kind of message and the field.
    """
    pending = [model]
    while pending:
        message = pending.pop()
        for name, is_repeated, is_message in _fields(message.DESCRIPTOR):
            if is_message:
                if is_repeated:
                    pending += getattr(message, name)
                elif message.HasField(name):
                    pending.append(getattr(message, name))
                continue
            value = getattr(message, name)
            for text in value if is_repeated else (value,):
                if not isinstance(text, str):
                    raise InvalidModelError(
                        f"{where}: {message.DESCRIPTOR.name}.{name} is {text!r:.80}, which is not "
                        "UTF-8; the file is damaged"
                    )


@functools.cache
def _fields(descriptor: Descriptor) -> tuple[tuple[str, bool, bool], ...]:
    """Name, whether repeated, and whether a message, of the fields that can hold text.

    Other fields are never touched: reading ``raw_data`` would copy the weights.
    """
    kinds = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE)
    return tuple(
        (field.name, field.is_repeated, field.type == FieldDescriptor.TYPE_MESSAGE)
        for field in descriptor.fields
        if field.type in kinds
    )
