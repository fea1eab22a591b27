"""Which library is used, and why: ``HEADRACE_CAMBRICON_LIBRARY``.

``auto``, the default, takes the vendor's, and never the stand-in; ``sim`` takes the stand-in that
comes with this package, ``sim:4`` that of an older era; anything else is the folder that libcnrt.so
is in. A process opens one library: the driver cannot be unloaded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from headrace_cambricon.errors import LibraryError

if TYPE_CHECKING:
    from headrace_cambricon import _native

VARIABLE = "HEADRACE_CAMBRICON_LIBRARY"
HOME_VARIABLE = "NEUWARE_HOME"
USUAL_HOME = "/usr/local/neuware"
ERAS = (4, 5, 6)


@dataclass(frozen=True, slots=True)
class Choice:
    """Where to look for the library.

    Attributes:
        folder: that libcndrv.so, libcnrt.so and libcnnl.so are in; empty: where the system looks.
        why: what decided it.
        is_stand_in: it is the one that comes with this package.
    """

    folder: str
    why: str
    is_stand_in: bool = False


def choose() -> Choice:
    """What the environment says.

    Raises:
        LibraryError: it asks for an era that there is no stand-in for, or for a place that is none.
    """
    text = os.environ.get(VARIABLE) or "auto"
    if text == "auto":
        return _of_the_vendor()
    if text == "sim" or text.startswith("sim:"):
        return _stand_in(text)
    place = Path(text)
    if place.is_file():
        place = place.parent
    if not place.is_dir():
        raise LibraryError(
            f"{VARIABLE} is {text!r}, which is neither 'auto', 'sim', nor a folder with libcnrt.so"
        )
    return Choice(str(place.absolute()), f"{VARIABLE}={text}")


def _of_the_vendor() -> Choice:
    home = os.environ.get(HOME_VARIABLE)
    if home:
        return Choice(str(Path(home) / "lib64"), f"{HOME_VARIABLE}={home}")
    if Path(USUAL_HOME, "lib64").is_dir():
        return Choice(f"{USUAL_HOME}/lib64", f"found in {USUAL_HOME}")
    return Choice("", f"{HOME_VARIABLE} is not set, and there is no {USUAL_HOME}")


def _stand_in(text: str) -> Choice:
    from headrace_cambricon import _native

    _, colon, era = text.partition(":")
    if not colon:
        era = str(ERAS[-1])
    if era not in map(str, ERAS):
        raise LibraryError(
            f"{VARIABLE} is {text!r}; there is a stand-in for each of the eras "
            f"{', '.join(map(str, ERAS))}, as in 'sim:{ERAS[0]}'"
        )
    folder = Path(_native.__file__).parent / "sim" / f"era{era}"
    return Choice(str(folder), f"{VARIABLE}={text}", is_stand_in=True)


@cache
def library() -> _native.Library:
    """The library of this process, opened by the first call.

    Raises:
        LibraryError: there is none, or it lacks what this package needs; says where it was looked
            for, why there, and what to do.
    """
    from headrace_cambricon import _native

    choice = choose()
    try:
        opened = _native.Library(choice.folder)
    except LibraryError as error:
        raise LibraryError(
            f"{error} (looked in {choice.folder or 'the folders of the system'}: {choice.why}). "
            f"Set {HOME_VARIABLE} to where the vendor's SDK is installed, or {VARIABLE} to the "
            "folder of libcnrt.so; without a card, 'sim' takes the stand-in"
        ) from None
    if (
        opened.is_stand_in
        and not choice.is_stand_in
        and choice.why != f"{VARIABLE}={choice.folder}"
    ):
        raise LibraryError(
            f"{opened.runtime_path} is the stand-in and not the vendor's library ({choice.why}); "
            f"results of a stand-in must be asked for: {VARIABLE}=sim"
        )
    return opened


def opened_library() -> _native.Library | None:
    """The library, when it can be had; for questions whose answer must not depend on it."""
    try:
        return library()
    except (LibraryError, ImportError):
        return None
