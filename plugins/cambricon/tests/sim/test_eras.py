"""What differs between the three eras: names, numbers, arguments."""

import ctypes
import re
from pathlib import Path

import pytest
from stand_in import CODES, OK, first_era, folder

TABLES = Path(__file__).parents[2] / "sim"


def exports(library: str) -> dict[str, set[int]]:
    """Each name of exports.txt, and the eras that have it."""
    lines = (TABLES / library / "exports.txt").read_text("utf-8").splitlines()
    split = (line.split() for line in lines if not line.startswith("#"))
    return {name: set(map(int, eras)) for name, *eras in split}


@pytest.mark.parametrize("library", ["cnrt", "cnnl"])
def test_an_era_has_its_names_and_no_other(sim, library):
    """Absent ones are really absent, as a binding finds out with dlsym."""
    table = exports(library)
    assert len(table) > 60
    assert {name for name in table if sim.has(name)} == {
        name for name, eras in table.items() if sim.era in eras
    }


def test_a_library_carries_the_vendors_name(start):
    """So that whatever asks for it by name does not load a second one."""
    for name in ("libcndrv.so", "libcnrt.so", "libcnnl.so"):
        assert name.encode() in (folder() / f"era{start.era}" / name).read_bytes()


def test_versions_are_of_the_era(sim):
    """Through the arguments: the return value of the first two eras means nothing."""
    numbers = [ctypes.c_int(-1) for _ in range(3)]
    status = sim.call("cnrtGetLibVersion", *map(ctypes.byref, numbers))
    assert numbers[0].value == sim.era
    assert (status == OK) == (sim.era == 6)
    if sim.era < 6:
        packed = sim.out("cnrtGetVersion", kind=ctypes.c_uint)
        assert packed == sum(n.value * s for n, s in zip(numbers, (10000, 100, 1), strict=True))
    sim.call("cnnlGetLibVersion", *map(ctypes.byref, numbers))
    assert numbers[0].value == 1


def texts(sim, function: str, code: int) -> str:
    call = getattr(sim.libraries[1 if function.startswith("cnrt") else 2], function)
    call.restype = ctypes.c_char_p
    return call(code).decode()


def test_codes_have_names_and_texts(sim):
    """Static strings for every number; the spelling of the era."""
    for meaning in CODES:
        assert texts(sim, "cnrtGetErrorStr", sim.code(meaning))
    assert texts(sim, "cnrtGetErrorStr", 424242) == "this version has no error with that number"
    if sim.era > 4:
        assert re.fullmatch("cnrtError\\w+", texts(sim, "cnrtGetErrorName", sim.code("no memory")))
    assert texts(sim, "cnnlGetErrorString", 0) == "CNNL_STATUS_SUCCESS"
    assert texts(sim, "cnnlGetErrorString", 99) == "CNNL_STATUS_BAD_PARAM"


@first_era
def test_the_first_era_has_to_be_initialised(start):
    """Every other call before cnrtInit is told so, and calls after cnrtDestroy are."""
    sim = start(initialise=False)
    pointer = ctypes.byref(ctypes.c_void_p())
    for _ in range(2):
        status = sim.code("not initialised")
        sim.refuse("cnrtMalloc", pointer, 8, kind="not-initialized", status=status)
        sim.refuse("cnnlCreate", pointer, kind="not-initialized", status=1)
        sim.check("cnrtInit", 0)
        sim.call("cnrtDestroy")


def test_a_notifier_is_destroyed_by_value_or_by_address(sim):
    """The era's other way round is recognised."""
    notifier = sim.notifier()
    variable = ctypes.c_void_p(notifier)
    if sim.has("cnrtDestroyNotifier"):
        told = sim.refuse("cnrtDestroyNotifier", notifier, kind="wrong-kind")
        assert "takes the address" in told
    if sim.has("cnrtNotifierDestroy"):
        sim.refuse("cnrtNotifierDestroy", ctypes.byref(variable), kind="wild-handle")
    assert sim.destroy_notifier(notifier) == OK


def test_the_cards_are_counted(start):
    """As many as MLUSIM_CARDS says, as few as MLU_VISIBLE_DEVICES leaves, in its order."""
    sim = start(cards=3)
    assert sim.out("cnrtGetDeviceCount", kind=ctypes.c_uint) == 3
    assert sim.select(2) == OK
    assert sim.select(3) == sim.code("bad ordinal")
    if sim.era > 4:
        assert sim.out("cnrtGetDevice", kind=ctypes.c_int) == 2
        megabytes = ctypes.c_int()
        sim.check("cnrtDeviceGetAttribute", ctypes.byref(megabytes), 0x405, 0)
        assert megabytes.value == 8192


def test_only_visible_cards_exist(start, monkeypatch):
    """The list ends at the first entry that is none."""
    monkeypatch.setenv("MLU_VISIBLE_DEVICES", "2,0,7,1")
    sim = start(cards=3)
    assert sim.out("cnrtGetDeviceCount", kind=ctypes.c_uint) == 2


def test_there_may_be_no_card(start):
    """Counting says so, and nothing works."""
    sim = start(cards=0)
    pointer, count = ctypes.byref(ctypes.c_void_p()), ctypes.c_uint(9)
    assert sim.call("cnrtGetDeviceCount", ctypes.byref(count)) == sim.code("no device")
    assert count.value == 0
    assert sim.call("cnrtMalloc", pointer, 8) == sim.code("no device")
    assert sim.call("cnrtQueueCreate", pointer) == sim.code("no device")


def test_unknown_enumerators_have_numbers_of_their_own(start):
    """Which change with the seed, unlike those that are known."""
    sim = start(seed=5)
    modes = [sim.enum(f"CNNL_SOFTMAX_MODE_{m}_DIMENSION") for m in ("HIGH", "MEDIUM", "LOW")]
    assert sorted(modes) == [1100, 1101, 1102]
    assert sim.enum("CNNL_OP_TENSOR_ADD") == 0
    assert sim.call("mlusim_enum", b"CNNL_NOTHING", ctypes.byref(ctypes.c_int())) == -1
    assert sim.call("mlusim_era") == sim.era
