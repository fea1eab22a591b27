"""Devices: how many there are, what is known of them, and the handle of one that is open."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from headrace.device import Device
from headrace.errors import DeviceError
from headrace_cambricon.library import choose, library, opened_library


def device_count() -> int:
    """How many devices the driver shows.

    Raises:
        LibraryError: there is no library to ask.
        CambriconError: the driver cannot be used.
    """
    return library().device_count()


class Versions(Mapping[str, str]):
    """What ``headrace devices`` shows; asked of the library when somebody looks.

    The record that holds it is made while the plugin loads, when no driver may be opened.
    """

    def __getitem__(self, name: str) -> str:
        return self._facts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts())

    def __len__(self) -> int:
        return len(self._facts())

    def _facts(self) -> dict[str, str]:
        opened = opened_library()
        if opened is None:
            return {}
        choice = choose()
        facts = {
            "CNRT": ".".join(map(str, opened.runtime_version)),
            "CNNL": ".".join(map(str, opened.network_version)),
            "library": f"{'stand-in ' if opened.is_stand_in else ''}{opened.runtime_path}",
            "because": choice.why,
        }
        names = {opened.device_name(index) for index in range(opened.device_count())}
        return {**facts, "card": " / ".join(sorted(names))} if names else facts


class CambriconDevice(Device):
    """One opened device. It holds nothing of the driver's: streams and memory do.

    Attributes:
        library: the vendor's library.
    """

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.library = library()
        self._process = os.getpid()

    def free_bytes(self) -> int | None:
        """What the driver says is free; None when it cannot tell."""
        free, total = self.library.memory(self.index)
        return free if total else None

    def check_process(self) -> None:
        """Refuse a child of fork, in which the driver does not work.

        Raises:
            DeviceError: this process is one.
        """
        if os.getpid() != self._process:
            raise DeviceError(
                f"{self} was opened before this process was forked, which the driver does not "
                "survive; start it with multiprocessing's 'spawn' method"
            )

    def __str__(self) -> str:
        return f"cambricon:{self.index}"
