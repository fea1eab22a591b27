"""The store of plans: what is in its folder, how large it may get, and who else may use it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.frontend.plan_cache import PlanStore

KEYS = [digit * 64 for digit in "0123456789"]


@pytest.fixture
def store(tmp_path: Path) -> PlanStore:
    """A store in a folder that is not there yet."""
    return PlanStore(tmp_path / "plans")


def age(path: Path, seconds: float) -> None:
    """Let ``path`` have been used that long ago."""
    used = path.stat().st_mtime - seconds
    os.utime(path, (used, used))


def test_a_note_is_found_again_by_another_store(store: PlanStore) -> None:
    """Whatever JSON can say; each key has its own."""
    for key, value in zip(KEYS, (["a", 1], {"b": None}, "text"), strict=False):
        store.keep_note(key, value)
        assert PlanStore(store.folder).note(key) == value
    assert store.note(KEYS[5]) is None


def test_what_was_used_longest_ago_is_first(store: PlanStore) -> None:
    """Taking something is using it."""
    for number, key in enumerate(KEYS[:4]):
        store.keep_note(key, number)
        age(store.folder / f"{key}.note", 100 - number)
    assert store.note(KEYS[0]) == 0
    assert [file.path.stem for file in store.files()] == [KEYS[1], KEYS[2], KEYS[3], KEYS[0]]


def test_what_others_put_there_is_left_alone(store: PlanStore) -> None:
    """By clearing as by trimming: only names that the store gives are its own."""
    store.keep_note(KEYS[0], 0)
    others = [".hidden", "holiday.plan", "abc.note", f"{KEYS[0]}.txt", KEYS[0]]
    for name in others:
        (store.folder / name).write_text("mine")
        age(store.folder / name, 10**6)
    assert len(store.files()) == 1
    small = PlanStore(store.folder, 1)
    small._trim()
    assert store.files() == []
    store.keep_note(KEYS[0], 0)
    assert store.clear() == []
    assert sorted(path.name for path in store.folder.iterdir()) == sorted(others)


def test_what_was_never_finished_goes_after_an_hour(store: PlanStore) -> None:
    """Until then somebody may be writing it, on a slow disk; the size counts it all the same."""
    store.keep_note(KEYS[0], 0)
    old, new = (store.folder / f".{KEYS[1]}.plan.{pid}-0123abcd" for pid in (1, 2))
    for path, seconds in ((old, 3700), (new, 3000)):
        path.write_bytes(bytes(100))
        age(path, seconds)
    store._trim()
    assert (old.exists(), new.exists()) == (False, True)
    PlanStore(store.folder, 99)._trim()
    assert not new.exists()


def test_a_file_of_somebody_else_is_not_read(
    store: PlanStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that others may write to is no way to hand somebody a plan."""
    store.keep_note(KEYS[0], 1)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert store.note(KEYS[0]) == (1 if owner == 0 else None)
    link = store.folder / f"{KEYS[1]}.note"
    monkeypatch.setattr(os, "getuid", lambda: owner)
    link.symlink_to(store.folder / f"{KEYS[0]}.note")
    assert store.note(KEYS[1]) == 1  # a link of the user's own


def test_a_store_without_a_folder_answers_nothing(store: PlanStore) -> None:
    """And makes none by asking."""
    assert store.plan(KEYS[0]) is None
    assert store.note(KEYS[0]) is None
    assert store.files() == store.clear() == []
    assert not store.folder.exists()
