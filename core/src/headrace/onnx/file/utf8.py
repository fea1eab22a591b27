"""Text in a model file is UTF-8, or the file is damaged.

Protobuf hands out a string field that is not UTF-8 as bytes, without an error. Checked once, when
a model is read, so that a name is a ``str`` for everybody who reads it later.
"""

from __future__ import annotations

import functools

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from onnx import ModelProto, TensorProto

from headrace.errors import InvalidModelError

_IN_PROTO3 = b"\x62\x06proto3"
"""The field ``syntax`` of a ``FileDescriptorProto``, as it is stored."""
_MOST_BYTES = 4 << 20
"""What is larger has weights in it, and is not in memory a second time."""


def check_text(model: ModelProto, message: bytes, where: str) -> None:
    """Check every string of a model and of the messages in it.

    Args:
        model: what is looked through when there is something to find, which takes long.
        message: what it was parsed from.
        where: the file, for messages.

    Raises:
        InvalidModelError: one is not UTF-8; names the kind of message and the field.
    """
    if len(message) <= _MOST_BYTES:
        try:
            _STRICT.FromString(message)
        except DecodeError:
            pass
        else:
            return
    _look_through(model, where)


def _strict() -> type[Message]:
    """A model as it would be in the other syntax of protobuf, which refuses text that is none."""
    pool = DescriptorPool()
    # Of a field that is stored twice the last one counts.
    pool.AddSerializedFile(ModelProto.DESCRIPTOR.file.serialized_pb + _IN_PROTO3)
    return GetMessageClass(pool.FindMessageTypeByName(ModelProto.DESCRIPTOR.full_name))


_STRICT = _strict()


def _look_through(model: ModelProto, where: str) -> None:
    pending: list[Message] = [model]
    while pending:
        message = pending.pop()
        if isinstance(message, TensorProto) and _is_plain(message):
            continue
        for field, value in message.ListFields():
            kind, is_repeated = _kind(field)
            if kind == FieldDescriptor.TYPE_MESSAGE:
                pending += value if is_repeated else (value,)
            elif kind == FieldDescriptor.TYPE_STRING:
                for text in value if is_repeated else (value,):
                    if not isinstance(text, str):
                        raise InvalidModelError(
                            f"{where}: {message.DESCRIPTOR.name}.{field.name} is {text!r:.80}, "
                            "which is not UTF-8; the file is damaged"
                        )


def _is_plain(tensor: TensorProto) -> bool:
    """Whether all its text is text: most messages are tensors, and listed fields are copied."""
    texts: tuple[object, ...] = (tensor.name, tensor.doc_string)
    return not tensor.external_data and all(isinstance(text, str) for text in texts)


@functools.cache
def _kind(field: FieldDescriptor) -> tuple[int, bool]:
    """The type of a field, and whether it is repeated; asking protobuf takes longer."""
    return field.type, field.is_repeated
