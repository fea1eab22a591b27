"""Everything a plan holds on devices while it can run: devices, streams, chunks, weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache

import numpy as np

from headrace.aligned import aligned_address
from headrace.device import Allocator, Buffer, Device, DeviceContext, HostAllocator, HostBuffer
from headrace.errors import OutOfMemoryError, PlanError, PluginError, RunError
from headrace.ids import StreamId
from headrace.memory_case import MemoryCase
from headrace.plan import CORE_KINDS, Plan, RegisterDesc, TaskDesc, TaskKind
from headrace.registry.registry import BackendRegistry
from headrace.runtime.allocations import Allocations
from headrace.runtime.devices import pool_of
from headrace.runtime.group import GroupContext
from headrace.runtime.limits import (
    check_devices,
    check_host,
    check_limit,
    check_machines,
    host_memory_limit,
)
from headrace.runtime.weights import WeightLoader
from headrace.signals import let_handlers_through
from headrace.tensor_spec import Array, TensorSpec


class Resources:
    """Acquired in the constructor, all or nothing; given back by ``close``. Within a ``Shelter``.

    Attributes:
        contexts: one for each stream of the plan.
    """

    def __init__(
        self,
        plan: Plan,
        registry: BackendRegistry,
        constants: Mapping[str, Array],
        memory_limit: int | None,
        *,
        lasting: bool = False,
        shared: bool = False,
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        """Open devices and streams, allocate the chunks, load the weights.

        Args:
            plan: what is to run.
            registry: where its devices come from.
            constants: values of its weights.
            memory_limit: bytes that this process may hold of the memory of each device, and of the
                host's; None: three quarters of the host's memory for a plan, and of devices what
                they have left.
            lasting: nobody writes to ``constants`` as long as they are held: those of host memory
                are used where they lie, if they lie well, and their part of a chunk is not touched.
            shared: they are host memory of another executor, which goes after this: lasting, and
                no part of a chunk is allocated for them.
            go_on: called between steps; what it raises ends it.

        Raises:
            UnsupportedError: the plan is for several machines; nothing is opened.
            ResourceLimitError: the plan needs more than that; nothing is allocated.
            PlanError: a weight is missing, or is not what the plan says.
            OutOfMemoryError: a device has not enough memory.
            RunError: a device failed while its weights were brought to it.
            DeviceError: a device cannot be used.
        """
        check_machines(plan)
        self._plan = plan
        self._registry = registry
        self._pool = pool_of(registry)
        memories = self._pool.memories
        # Where what is allocated of each chunk begins.
        self._begins = [_end_of_weights(plan, n) if shared else 0 for n in range(len(plan.chunks))]
        if memory_limit is not None:
            used, largest = memories.used_bytes, memories.largest_users
            check_limit(plan, self._sizes(), used, largest, memory_limit)
        self._devices: dict[tuple[str, int], Device] = {}
        self._allocated = Allocations(memories, plan.name, memory_limit)
        self._chunks: list[Buffer] = []
        self._staging = Allocations(memories, plan.name, memory_limit)  # until weights are loaded
        self._loaders: dict[int, WeightLoader] = {}  # by chunk
        self._streams: list[DeviceContext] = []  # of all devices, those that load weights as well
        self._lasting = lasting or shared
        # Weights that are used where they are, by chunk and offset of the register: the same weight
        # may be in another one, of a device, as well.
        self._lying: dict[tuple[int, int], HostBuffer] = {}
        self.contexts: dict[StreamId, DeviceContext] = {}
        try:
            self._open_streams(go_on)
            self._allocate(memory_limit, go_on)
            self._load_weights(constants, go_on)
            self._staging.give_back()
        except BaseException:
            self.close()
            raise

    def _open_streams(self, go_on: Callable[[], None]) -> None:
        for actor in self._plan.actors:
            go_on()
            if actor.stream_id not in self.contexts:
                first = self._plan.tasks[actor.tasks[0]]
                self.contexts[actor.stream_id] = self._context(actor.stream_id, first)

    def _allocate(self, memory_limit: int | None, go_on: Callable[[], None]) -> None:
        """The chunks, if devices and the host have as much left."""
        free_bytes = cache(self._free_bytes)
        check_devices(self._plan, free_bytes, self._pool.memories.largest_users)
        if memory_limit is None:
            check_host(self._plan, free_bytes, host_memory_limit())
        for chunk, nbytes in zip(self._plan.chunks, self._sizes(), strict=True):
            go_on()
            self._chunks.append(self._take(self._allocated, chunk.memory, nbytes))

    def buffer(self, register: RegisterDesc, slot: int = 0) -> Buffer:
        """The memory of one slot of a register; that of a weight on the host cannot be written."""
        buffer = self._memory(register, slot)
        if register.constant is not None and isinstance(buffer, HostBuffer):
            # A kernel that works in its input would change every later run.
            buffer.memory.flags.writeable = False
        return buffer

    def _memory(self, register: RegisterDesc, slot: int = 0) -> Buffer:
        chunk, nbytes = register.chunk, register.spec.nbytes
        lying = self._lying.get((chunk, register.offset))
        if lying is not None:  # empty ones may begin there as well
            return lying if nbytes == lying.nbytes else lying.view(0, nbytes)
        offset = register.offset + slot * register.stride - self._begins[chunk]
        return self._chunks[chunk].view(offset, nbytes)

    def _sizes(self) -> list[int]:
        """What is allocated of each chunk."""
        whole = (chunk.nbytes for chunk in self._plan.chunks)
        return [nbytes - begin for nbytes, begin in zip(whole, self._begins, strict=True)]

    @property
    def are_hosts(self) -> bool:
        """True when all memory is the host's, and all work is done when its launch returns."""
        on_host = all(isinstance(chunk, HostBuffer) for chunk in self._chunks)
        return on_host and all(context.host_synchronous for context in self.contexts.values())

    def weights(self) -> dict[str, Array]:
        """The weights of host memory by name, where they lie; gone when this is closed."""
        found = {}
        for register in self._plan.registers:
            if register.constant is not None:
                buffer = self.buffer(register)
                assert isinstance(buffer, HostBuffer)
                found[register.constant] = buffer.array(register.spec)
        return found

    @property
    def held_bytes(self) -> int:
        """Memory of the chunks, without those parts whose weights lie elsewhere on the host."""
        allocated = (
            buffer.nbytes
            for (chunk, offset), buffer in self._lying.items()
            if offset >= self._begins[chunk]
        )
        return sum(self._sizes()) - sum(allocated)

    def settle(self) -> bool:
        """Wait until no stream has work; what queued work raises was reported when it failed.

        Returns:
            False when one raised: then nobody knows whether it has come to its end.
        """
        settled = True
        for context in self._streams:
            try:
                context.synchronize()
            except Exception:  # noqa: BLE001 - the others are waited for all the same
                settled = False
        return settled

    def close(self) -> None:
        """Synchronise and close the streams, free the chunks, release the devices. Idempotent.

        What a plugin raises here stops nothing: all is given back, then the error is raised.
        """
        with self._last_first(spoilt=not self.settle()):
            for held in (self.contexts, self._loaders, self._chunks, self._devices, self._lying):
                held.clear()
            self._streams.clear()

    def _last_first(self, spoilt: bool) -> ExitStack:
        """What gives all back that is held."""
        last_first = ExitStack()
        for key in self._devices:
            last_first.callback(self._pool.release, *key)
        last_first.callback(self._allocated.give_back, spoilt=spoilt)
        last_first.callback(self._staging.give_back, spoilt=spoilt)
        for context in self._streams:
            last_first.callback(context.close)
        return last_first

    def _free_bytes(self, tag: str, index: int) -> int | None:
        """What a device says it has left; None where it does not say."""
        device = self._device(tag, index)
        ask = getattr(device, "free_bytes", None)  # that of a plugin need not derive from ours
        told: object = None if ask is None else ask()
        if told is None:
            return None
        if isinstance(told, int) and told >= 0:
            return told + self._pool.memories.kept_bytes(tag, index)
        raise PluginError(
            f"free_bytes of {type(device).__name__}, device {tag}:{index}, returned {told!r}; it "
            "must return a number of bytes, or None"
        )

    def _context(self, stream_id: StreamId, first: TaskDesc) -> DeviceContext:
        """The context of a stream, by the first task on it: all of one stream are of one sort."""
        index = stream_id.stream_index
        if first.kind in CORE_KINDS:
            return DeviceContext(Device(0), index)
        tag = self._plan.device_types.tag(stream_id.device_id.device_type)
        create = self._registry.driver(tag).context.create
        if first.kind is not TaskKind.COLLECTIVE:
            self._streams.append(create(self._device(tag, stream_id.device_id.device_index), index))
            return self._streams[-1]
        assert first.call is not None
        members: list[DeviceContext] = []
        for device_index in first.call.ints_attr("devices"):
            members.append(create(self._device(tag, device_index), index))
            self._streams.append(members[-1])
        return GroupContext(members)

    def _device(self, tag: str, index: int) -> Device:
        key = tag, index
        if key not in self._devices:
            self._devices[key] = self._pool.acquire(tag, index)
        return self._devices[key]

    def _take(self, allocations: Allocations, memory: MemoryCase, nbytes: int) -> Buffer:
        allocator, alignment_bytes = self._allocator(memory)
        return allocations.take(memory, nbytes, allocator, alignment_bytes)

    def _allocator(self, memory: MemoryCase) -> tuple[Allocator, int]:
        """What gives a memory, and what its addresses are multiples of."""
        if memory.is_host and not memory.pinned_for:
            return HostAllocator(Device(0)), HostAllocator.ALIGNMENT_BYTES
        tag = memory.pinned_for or memory.tag
        entry = self._registry.driver(tag).allocator
        if memory.pinned_for:
            return self._pinned_allocator(memory), entry.alignment_bytes
        return entry.create(self._device(tag, memory.device_index)), entry.alignment_bytes

    def _pinned_allocator(self, memory: MemoryCase) -> Allocator:
        create = self._registry.driver(memory.pinned_for).allocator.create_pinned
        if create is None:
            raise PlanError(
                f"plan {self._plan.name!r} has {memory}, and device {memory.pinned_for!r} gives "
                "none; compile again"
            )
        return create(self._device(memory.pinned_for, memory.device_index))

    def _load_weights(self, constants: Mapping[str, Array], go_on: Callable[[], None]) -> None:
        for register in self._plan.registers:
            if register.constant is not None:
                go_on()
                value = _weight(self._plan, register, constants)
                if not self._lies(register, value):
                    with self._bringing(f"weight {register.constant!r}", register.chunk):
                        self._load(register, value)
        for chunk, loader in self._loaders.items():
            with self._bringing("one of the weights", chunk):
                loader.finish()

    def _lies(self, register: RegisterDesc, value: Array) -> bool:
        """Use a weight of host memory where it lies, if that will do."""
        if not self._lasting or not isinstance(self._chunks[register.chunk], HostBuffer):
            return False
        address = aligned_address(value)
        if not value.nbytes or address is None:
            return False
        lying = HostBuffer.at(address, value.reshape(-1).view(np.uint8), value)
        self._lying[register.chunk, register.offset] = lying
        return True

    @contextmanager
    def _bringing(self, what: str, chunk: int) -> Iterator[None]:
        """What a device raises in the block says that it was about ``what``."""
        try:
            yield
        except OutOfMemoryError:
            raise
        except Exception as error:
            let_handlers_through(error)
            memory = self._plan.chunks[chunk].memory
            device = f"{memory.tag}:{memory.device_index}"
            raise RunError(
                f"job {self._plan.name!r}: {what} could not be brought to {device}: {error!r}",
                task=what,
                device=device,
            ) from error

    def _load(self, register: RegisterDesc, value: Array) -> None:
        buffer = self._memory(register)
        if isinstance(buffer, HostBuffer):
            buffer.array(register.spec)[...] = value
            return
        if register.chunk not in self._loaders:
            self._loaders[register.chunk] = self._loader(register.chunk)
        self._loaders[register.chunk].load(buffer, value)

    def _loader(self, chunk: int) -> WeightLoader:
        """What loads the weights of a chunk, which is the memory of one device."""
        memory = self._plan.chunks[chunk].memory
        driver = self._registry.driver(memory.tag)
        stream = driver.streams.create(memory.device_index).h2d()
        device = self._device(memory.tag, memory.device_index)
        context = driver.context.create(device, stream)
        self._streams.append(context)
        mine = (r for r in self._plan.registers if r.chunk == chunk and r.constant is not None)
        most_bytes = sum(r.stride for r in mine)
        if not driver.has_pinned_memory:
            return WeightLoader(context, most_bytes)
        pinned = MemoryCase.pinned(memory.tag, memory.device_index)

        def allocate(nbytes: int) -> HostBuffer:
            buffer = self._take(self._staging, pinned, nbytes)
            assert isinstance(buffer, HostBuffer)
            return buffer

        return WeightLoader(context, most_bytes, allocate)


def _end_of_weights(plan: Plan, chunk: int) -> int:
    """Where the weights that are first in a chunk end; it is not all of the chunk."""
    mine = [register for register in plan.registers if register.chunk == chunk]
    if any(register.constant is not None and not register.spec.nbytes for register in mine):
        return 0  # an empty one is nowhere else
    others = (register.offset for register in mine if register.constant is None)
    return min(others, default=0)


def _weight(plan: Plan, register: RegisterDesc, constants: Mapping[str, Array]) -> Array:
    """The value of a constant register, checked."""
    value = constants.get(register.constant or "")
    if value is None or TensorSpec.of(value) != register.spec:
        found = "is missing" if value is None else f"is {TensorSpec.of(value)}"
        raise PlanError(
            f"plan {plan.name!r} needs weight {register.constant!r} of {register.spec}, and it "
            f"{found}; give the weights that the plan was compiled with"
        )
    return value
