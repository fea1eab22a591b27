"""headrace as a backend of ``onnx.backend``: what the ONNX test suite and other tools drive.

The device is "CPU", as ONNX spells it, or the tag of any installed backend, with or without an
index ("TAG:1").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx.backend.base import Backend, BackendRep

from headrace.errors import HeadraceError, InputError
from headrace.onnx.file import limits
from headrace.onnx.file.tensors import dtype_to_onnx
from headrace.onnx.model import Model, load
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.tensor_spec import Array, TensorSpec

__all__ = ["HeadraceBackend", "HeadraceRep", "prepare", "run_model", "run_node", "supports_device"]


class HeadraceRep(BackendRep):
    """A prepared model; inputs are given in the order of the graph, without initializers."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """Run once; returns the outputs in the model's order.

        Args:
            inputs: a list of arrays or numpy scalars in graph order, or a mapping by name, or one
                array for a model with one input.
            kwargs: none are known.

        Raises:
            InputError: the number of inputs is not the model's, or one does not fit.
        """
        _refuse(kwargs, "run")
        if isinstance(inputs, (np.ndarray, np.generic)):
            inputs = [inputs]
        if not isinstance(inputs, dict):
            required = [info for info in self.model.inputs if not info.optional]
            if len(inputs) != len(required):
                raise InputError(
                    f"{self.model.name}: takes {len(required)} inputs; {len(inputs)} were given"
                )
            inputs = {info.name: value for info, value in zip(required, inputs, strict=True)}
        made = self.model.run(inputs)
        return tuple(made[info.name] for info in self.model.outputs)


class HeadraceBackend(Backend):
    """Runs ONNX models through headrace."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> HeadraceRep:
        """Load a model onto a device; errors are those of ``headrace.onnx.load``.

        ``fallback`` says what becomes of ops that the device cannot run, as it does there.
        """
        fallback = kwargs.pop("fallback", None)
        _refuse(kwargs, "prepare")
        return HeadraceRep(load(model, _device(device), fallback=fallback))

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Array, ...]:
        """Load a model, run it once and close it."""
        rep = cls.prepare(model, device, **kwargs)
        with rep.model:
            return rep.run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Array, ...]:
        """Run one node of the default domain on arrays; inputs left out are named "" in it.

        Args:
            node: the node.
            inputs: an array for each input that has a name, in order.
            device: as for ``prepare``.
            outputs_info: not needed; dtypes and shapes are inferred.
            kwargs: ``opset_version`` chooses another operator set than the newest known.

        Raises:
            InputError: there are more inputs than names, or fewer.
        """
        opset = kwargs.pop("opset_version", min(limits.OPSETS[1], _newest_opset()))
        names = [name for name in node.input if name]
        if len(inputs) != len(names):
            raise InputError(f"{node.op_type} has {len(names)} inputs; {len(inputs)} were given")
        specs = [TensorSpec.of(np.asarray(value)) for value in inputs]
        takes = [
            helper.make_tensor_value_info(name, dtype_to_onnx(spec.dtype), spec.shape)
            for name, spec in zip(names, specs, strict=True)
        ]
        gives = [
            helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None)
            for name in node.output
            if name
        ]
        graph = helper.make_graph([node], "node", takes, gives)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        return cls.run_model(model, list(inputs), device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True when the device is there and its backend loads."""
        try:
            placement = Placement.of_device(_device(device))
            return placement.devices[0][1] < default_registry().device_count(placement.tag)
        except HeadraceError:
            return False


def _device(device: str) -> str:
    """ONNX writes "CPU", "CPU:0"; tags are written as their plugins do."""
    tag, colon, index = device.partition(":")
    return (tag.lower() if tag.isupper() else tag) + colon + index


def _refuse(kwargs: dict[str, Any], function: str) -> None:
    if kwargs:
        raise InputError(f"{function} knows no argument {', '.join(map(repr, sorted(kwargs)))}")


def _newest_opset() -> int:
    import onnx.defs

    return onnx.defs.onnx_opset_version()


prepare = HeadraceBackend.prepare
run_model = HeadraceBackend.run_model
run_node = HeadraceBackend.run_node
supports_device = HeadraceBackend.supports_device
