"""``CambriconContext``: one stream: a queue of CNRT and the CNNL handle that ops go through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.device import Buffer, Device, DeviceContext, Event, HostBuffer, Launch
from headrace.errors import DeviceError, LaunchError
from headrace_cambricon.device import CambriconDevice
from headrace_cambricon.errors import CambriconError
from headrace_cambricon.memory import CambriconBuffer
from headrace_cambricon.settling import CambriconEvent, StreamFate, settle

if TYPE_CHECKING:
    from headrace_cambricon import _native


class CambriconContext(DeviceContext):
    """Everything is enqueued; copies of pageable memory may wait in the driver."""

    host_synchronous = False

    def __init__(self, device: Device, stream_index: int) -> None:
        from headrace_cambricon import _native

        super().__init__(device, stream_index)
        assert isinstance(device, CambriconDevice)
        device.check_process()
        self.library = device.library
        self.stream = _native.Stream(device.library, device.index)
        self._fate = StreamFate(self.stream)
        self._scratch: list[tuple[int, int]] = []  # address and size, the largest last
        self._constants: dict[bytes, int] = {}

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        """Enqueue a copy from the host."""
        self.stream.copy_h2d(destination.address, source.address, _size(destination, source))

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        """Enqueue a copy to the host."""
        self.stream.copy_d2h(destination.address, source.address, _size(destination, source))

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        """Enqueue a copy within the device."""
        self.stream.copy_d2d(destination.address, source.address, _size(destination, source))

    def copy_peer(self, destination: Buffer, source: Buffer) -> None:
        """Enqueue a copy from another device; where there is no way to it, through the host."""
        nbytes = _size(destination, source)
        assert isinstance(source, CambriconBuffer)
        peer, here = source.device_index, self.device.index
        if not self.library.can_copy_between(here, peer):
            settle(self._fate)  # what is queued here may still use the destination
            if nbytes:
                data = self.library.download(peer, source.address, nbytes)
                self.library.upload(here, destination.address, data)
            return
        self.stream.copy_peer(destination.address, source.address, nbytes, peer)

    def synchronize(self) -> None:
        """Wait for everything that was enqueued; raises the first error of it, once."""
        settle(self._fate)
        error = self._fate.take_error()
        if error is not None:
            raise error

    def record_event(self) -> CambriconEvent:
        """Place a notifier."""
        return self._fate.record()

    def wait_event(self, event: Event) -> None:
        """Let the queue wait for a notifier of this device; for anything else the host waits."""
        if isinstance(event, CambriconEvent) and event.notifier.device == self.device.index:
            self._fate.wait(event)
        else:
            event.synchronize()

    def capture(self, launches: Sequence[Launch]) -> Launch:
        """One call for ``launches``: neighbours that are vendor calls go out without Python."""
        from headrace_cambricon import _native

        steps: list[tuple[int, Launch]] = []  # position of the first launch, and the call
        run: list[_native.Launch] = []

        def end_of_run(position: int) -> None:
            if run:
                steps.append((position - len(run), self.stream.join(run)))
                run.clear()

        for position, launch in enumerate(launches):
            if isinstance(launch, _native.Launch):
                run.append(launch)
            else:
                end_of_run(position)
                steps.append((position, launch))
        end_of_run(len(launches))

        def call() -> None:
            index = 0
            try:
                for index, launch in steps:  # noqa: B007 - `except` reads it
                    launch()
            except CambriconError as error:
                raise LaunchError(index + max(error.part, 0)) from error
            except Exception as error:
                raise LaunchError(index) from error

        return call

    def scratch(self, nbytes: int) -> int:
        """Memory of this stream for kernels whose library asks for more than was planned.

        One block for all of them, since a queue works in order. For ``bind``: it may allocate,
        which a launch must not.
        """
        if not self._scratch or self._scratch[-1][1] < nbytes:
            # Launches that were bound before keep the older, smaller one.
            address = self.library.allocate(self.device.index, nbytes)
            self._scratch.append((address, nbytes))
        return self._scratch[-1][0]

    def constant(self, data: bytes) -> int:
        """The address of a copy of ``data`` on the device, for as long as the stream is open.

        For ``bind``: it waits for the copy.
        """
        if data not in self._constants:
            address = self.library.allocate(self.device.index, len(data))
            self._constants[data] = address
            self.library.upload(self.device.index, address, data)
        return self._constants[data]

    def close(self) -> None:
        """Free what the stream owns, and destroy its handle, then its queue."""
        owned = [*(address for address, _ in self._scratch), *self._constants.values()]
        self._scratch, self._constants = [], {}
        for address in owned:
            self.library.free(self.device.index, address)
        self.stream.close()

    def __str__(self) -> str:
        return f"stream {self.stream_index} of {self.device}"


def _size(destination: Buffer, source: Buffer) -> int:
    if destination.nbytes != source.nbytes:
        raise DeviceError(
            f"a copy needs two ranges of one size; from {source.nbytes} bytes at "
            f"{source.address:#x} to {destination.nbytes} bytes at {destination.address:#x}"
        )
    return source.nbytes
