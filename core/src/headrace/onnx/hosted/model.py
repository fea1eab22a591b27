"""``HostedModel``: a model with text, maps or sequences at its ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import ModelProto

from headrace.errors import UnsupportedModelError
from headrace.frontend.future import Future
from headrace.onnx.declared import info_of, inputs_of, outputs_of
from headrace.onnx.file.content import HeldContent
from headrace.onnx.file.hosted_error import HostedValuesError
from headrace.onnx.file.source import GivenModel
from headrace.onnx.file.split import joined, lists_of, split_model
from headrace.onnx.file.text import quote
from headrace.onnx.hosted.cut import cut_model
from headrace.onnx.hosted.feeds import check_feeds, check_list, list_info
from headrace.onnx.hosted.nodes import HostedNodes
from headrace.onnx.importing.lists import put_together, taken_apart
from headrace.onnx.importing.values import is_list
from headrace.onnx.lazy import LazyFile
from headrace.onnx.model import Model
from headrace.onnx.settings import ModelSettings
from headrace.onnx.signature import TensorInfo, check_array
from headrace.tensor_spec import Array, TensorSpec


class HostedModel(Model):
    """A model whose first and last nodes are run by the host, since only it has their values.

    Sequences that the device's part takes or gives are taken apart and put together here.

    Text is fed as an array of ``str``, and given back as an array of objects; a sequence is a list
    of arrays, a map a ``dict``. Everything else is as for any model. What is said of how it is
    compiled (``explain``, ``plan_for``, ``trace``) is said of the part that the device runs.
    """

    _first: HostedNodes
    _last: HostedNodes
    _lists_taken: Mapping[str, TensorInfo]  # by the device
    _lists_given: tuple[str, ...]
    _device_takes_all: bool  # that is fed, as it is, and nobody else any of it

    @classmethod
    def of(cls, given: GivenModel, settings: ModelSettings, jobs: int | None) -> HostedModel:
        """Cut a model and load what the device runs of it.

        Args:
            given: the model.
            settings: for the part that the device runs.
            jobs: how many compiled jobs it keeps; see ``load``.

        Raises:
            InvalidModelError: the model contradicts itself.
            UnsupportedModelError: what it does with such values cannot be put at an end.
        """
        split = split_model(given.content, tensors=False)
        model = ModelProto.FromString(split.message)
        parts = cut_model(model, given.name, lists_of(model, split, given.name))
        content = HeldContent(joined(parts.middle, parts.lists))
        middle = GivenModel(given.name, given.path, content)
        file = LazyFile(middle, settings.registry)
        try:
            parsed = file.parsed()
            takes, gives = inputs_of(parsed, lists=True), outputs_of(parsed, lists=True)
            made = cls(file, takes, gives, settings, jobs)
        except HostedValuesError as error:
            raise UnsupportedModelError(str(error)) from error
        made._lists_taken = {
            v.name: list_info(v, given.name) for v in parsed.graph.input if is_list(v.type)
        }
        made._lists_given = tuple(v.name for v in parsed.graph.output if is_list(v.type))
        fixed = {tensor.name for tensor in model.graph.initializer}
        infos = [
            info_of(v, f"{given.name}: input {quote(v.name)}", v.name in fixed)
            for v in model.graph.input
        ]
        made.inputs = tuple(sorted(infos, key=lambda info: info.optional))
        made.outputs = tuple(
            info_of(v, f"{given.name}: output {quote(v.name)}", False) for v in model.graph.output
        )
        made._first = HostedNodes(parts.first, given.name)
        made._last = HostedNodes(parts.last, given.name)
        read_last = {name for node in parts.last.graph.node for name in node.input}
        read_last.update(info.name for info in made.outputs)
        taken = {info.name for info in takes}
        made._device_takes_all = not parts.first.graph.output and all(
            info.kind == "tensor" and info.name in taken - read_last for info in made.inputs
        )
        return made

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """As ``Model.run``."""
        begun, fed = self._begin(feeds)
        return self._end(begun, super().run(fed))

    def submit(self, feeds: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """As ``Model.submit``; the host's last nodes run when the result is asked for."""
        begun, fed = self._begin(feeds)
        return self._submitted(fed, lambda made: self._end(begun, made))

    def _specs(
        self, feeds: Mapping[str, TensorSpec | Array]
    ) -> tuple[dict[str, TensorSpec], dict[str, Array]]:
        is_mapping = isinstance(feeds, Mapping)  # else the names' check tells
        if is_mapping and any(isinstance(value, TensorSpec) for value in feeds.values()):
            raise UnsupportedModelError(
                f"{self.name}: takes or gives text, maps or sequences, so how it is compiled is "
                "known of arrays, not of their specs"
            )
        arrays = self._arrays(self._begin(feeds)[1])
        return {name: TensorSpec.of(array) for name, array in arrays.items()}, arrays

    def _arrays(self, feeds: Mapping[str, Any]) -> dict[str, Array]:
        lists = self._lists_taken
        if not lists:
            return super()._arrays(feeds)
        arrays: dict[str, Array] = {}
        for info in self._takes:
            if info.name in lists:
                value = check_list(feeds[info.name], lists[info.name], self.name)
                arrays |= taken_apart(info.name, value)
            elif info.name in feeds:
                arrays[info.name] = check_array(feeds[info.name], info, self.name)
        return arrays

    def _begin(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Array]]:
        """What is known before the device runs, and what is fed to it."""
        if self._device_takes_all:  # which is checked there
            return {}, feeds
        known = check_feeds(feeds, self.inputs, self.name)
        known.update(self._first(known))
        return known, {info.name: known[info.name] for info in self._takes if info.name in known}

    def _end(self, known: dict[str, Any], made: Mapping[str, Array]) -> dict[str, Any]:
        known.update(made)
        known.update({name: put_together(name, made) for name in self._lists_given})
        known.update(self._last(known))
        return {info.name: known[info.name] for info in self.outputs}
