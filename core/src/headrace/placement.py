"""``Placement``: the devices that run an op, as text such as ``("cpu", "0:0-3")``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from headrace.errors import PlacementError
from headrace.ids import DEVICE_INDEX_BITS
from headrace.light_dataclass import dataclass

_DEVICES = re.compile(r"(\d+):(\d+)(?:-(\d+))?\Z")
_RANGE = re.compile(r"\d+-\d+\Z")
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """A device tag, the (machine, device) pairs, and the hierarchy they are seen in.

    Devices are sorted by machine, then index; parallel ids count them in that order. The product
    of ``hierarchy`` is the number of devices; by default it is one axis.

    Example:
        >>> p = Placement.parse("cpu", "0:0-3", hierarchy=(2, 2))
        >>> p.parallel_num, p.devices[3], str(p)
        (4, (0, 3), 'cpu 0:0-3 [2x2]')
    """

    tag: str
    devices: tuple[tuple[int, int], ...]
    hierarchy: tuple[int, ...]

    @staticmethod
    def parse(tag: object, devices: object, hierarchy: Sequence[int] | None = None) -> Placement:
        """Read ``"machine:first-last"`` (or ``"machine:index"``), or a list of them.

        The types are wide because texts come from users; what is no text is refused as such.

        Raises:
            PlacementError: malformed text, a device named twice, last before first, or a hierarchy
                whose product is not the number of devices.
        """
        if not isinstance(tag, str) or not _TAG.match(tag):
            raise PlacementError(f"{tag!r} is not a device tag; write for example 'cpu'")
        pairs: list[tuple[int, int]] = []
        for text in devices if isinstance(devices, (list, tuple)) else [devices]:
            match = _DEVICES.match(text) if isinstance(text, str) else None
            if match is None:
                raise PlacementError(
                    f"{text!r} does not say which devices; write 'machine:first-last', "
                    "for example '0:0-3', or 'machine:index'"
                )
            machine, first = int(match[1]), int(match[2])
            last = int(match[3]) if match[3] is not None else first
            if last < first:
                raise PlacementError(f"{text!r} ends before it begins: last {last} < first {first}")
            if last >= 1 << DEVICE_INDEX_BITS:
                raise PlacementError(
                    f"{text!r} names device {last}; devices of a machine are 0 to "
                    f"{(1 << DEVICE_INDEX_BITS) - 1}"
                )
            pairs += [(machine, index) for index in range(first, last + 1)]
        if not pairs:
            raise PlacementError(f"a placement on {tag!r} needs at least one device")
        if len(set(pairs)) != len(pairs):
            twice = sorted({p for p in pairs if pairs.count(p) > 1})
            raise PlacementError(f"devices {twice} are named twice in {devices!r}")
        shape = tuple(hierarchy) if hierarchy is not None else (len(pairs),)
        if math.prod(shape) != len(pairs) or any(d < 1 for d in shape):
            raise PlacementError(f"hierarchy {shape} does not hold {len(pairs)} devices")
        return Placement(tag, tuple(sorted(pairs)), shape)

    @staticmethod
    def of_device(device: object) -> Placement:
        """Read ``TAG`` or ``TAG:INDEX`` as one device of machine 0.

        Raises:
            PlacementError: the text is neither.
        """
        tag, colon, index = device.partition(":") if isinstance(device, str) else ("", "", "")
        if not tag or (colon and not index.isdecimal()):
            raise PlacementError(
                f"{device!r} is not a device; write TAG or TAG:INDEX, or TAG:FIRST-LAST "
                "where several will do"
            )
        return Placement.parse(tag, f"0:{index or 0}")

    @staticmethod
    def of_devices(devices: object) -> Placement:
        """Read ``TAG:FIRST-LAST`` as devices of machine 0, or one device as ``of_device`` does.

        Example:
            >>> place = Placement.of_devices("cpu:0-3")
            >>> str(place), place.name
            ('cpu 0:0-3', 'cpu:0-3')

        Raises:
            PlacementError: the text is neither.
        """
        tag, _, indices = devices.partition(":") if isinstance(devices, str) else ("", "", "")
        if _RANGE.match(indices):
            return Placement.parse(tag, f"0:{indices}")
        return Placement.of_device(devices)

    @property
    def name(self) -> str:
        """Its devices as ``of_devices`` reads them, if they are a range of machine 0."""
        machine, first = self.devices[0]
        last = self.devices[-1][1]
        if self.parallel_num == 1 and not machine:
            return f"{self.tag}:{first}"
        if self.devices == tuple((0, index) for index in range(first, last + 1)):
            return f"{self.tag}:{first}-{last}"
        return str(self)

    def device(self, parallel_id: int) -> Placement:
        """One of its devices, as a placement of its own.

        Example:
            >>> print(Placement.parse("cpu", "0:0-3").device(2))
            cpu 0:2
        """
        return Placement(self.tag, (self.devices[parallel_id],), (1,))

    @property
    def parallel_num(self) -> int:
        """Number of devices."""
        return len(self.devices)

    def __str__(self) -> str:
        runs: list[list[int]] = []  # machine, first, last
        for machine, index in self.devices:
            if runs and runs[-1][0] == machine and runs[-1][2] == index - 1:
                runs[-1][2] = index
            else:
                runs.append([machine, index, index])
        text = ",".join(f"{m}:{a}" if a == b else f"{m}:{a}-{b}" for m, a, b in runs)
        shape = "x".join(map(str, self.hierarchy))
        return f"{self.tag} {text}" + (f" [{shape}]" if len(self.hierarchy) > 1 else "")
