"""The cache under truncation, edits, kills and rivals."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from warpwright.build import toolchain
from warpwright.build.cache import Cache, cache_key, cache_root
from warpwright.plan.types import Argument, Plan

KEY = "ab" * 32
FILES = {"kernel.cubin": b"\x7fELF" * 100, "kernel.ptx": b".version 8.8"}
FACTS = {"registers": 168}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    cache = Cache(tmp_path)
    cache.put(KEY, FILES, FACTS)
    return cache


def test_returns_what_was_put(cache: Cache) -> None:
    entry = cache.get(KEY)
    assert entry
    assert (entry.files, entry.facts) == (FILES, FACTS)
    assert cache.get("cd" * 32) is None


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
@pytest.mark.parametrize("damage", ["truncate", "empty", "remove", "flip"])
def test_damaged_entry_is_a_miss_and_can_be_rebuilt(cache: Cache, name: str, damage: str) -> None:
    path = cache.path(KEY) / name
    data = path.read_bytes()
    if damage == "remove":
        path.unlink()
    else:
        flipped = data[:10] + bytes([data[10] ^ 1]) + data[11:]
        path.write_bytes({"truncate": data[:-7], "empty": b"", "flip": flipped}[damage])
    assert cache.get(KEY) is None
    assert not cache.path(KEY).exists()
    cache.put(KEY, FILES, FACTS)
    assert cache.get(KEY)


def test_edited_facts_are_a_miss(cache: Cache) -> None:
    path = cache.path(KEY) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["facts"]["registers"] = 40
    path.write_text(json.dumps(manifest))
    assert cache.get(KEY) is None


def test_put_over_a_damaged_entry_replaces_it(cache: Cache) -> None:
    (cache.path(KEY) / "kernel.ptx").write_bytes(b"")
    cache.put(KEY, FILES, FACTS)
    entry = cache.get(KEY)
    assert entry
    assert entry.files == FILES


def test_the_first_of_two_rivals_stays(cache: Cache) -> None:
    entry = cache.put(KEY, {"kernel.ptx": b"other"}, {})
    assert entry.files == FILES
    assert [p.name for p in cache.path(KEY).parent.iterdir()] == [KEY]


def test_interrupted_put_leaves_nothing(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.put("cd" * 32, FILES, FACTS)
    assert list(cache.path("cd" * 32).parent.iterdir()) == []


def test_half_written_entry_of_a_killed_process_is_never_read(cache: Cache) -> None:
    left_over = cache.path(KEY).parent / f".{KEY[:12]}-x.tmp"
    left_over.mkdir()
    (left_over / "kernel.ptx").write_bytes(b"half")
    assert cache.get(KEY)


def test_key_depends_on_everything_that_matters() -> None:
    here = toolchain.current()
    plan = Plan("f", "sm_90a", "label", {}, {}, entry="f", symbol="f_1", arguments=(Argument("x", "scalar", "i32"),))
    base = cache_key("source", plan, here, "-O3")
    changes = (
        {"arch": "sm_100a"},
        {"entry": "g"},
        {"symbol": "f_2"},
        {"arguments": (Argument("x", "scalar", "f32"),)},
    )
    others = {
        cache_key("source ", plan, here, "-O3"),
        cache_key("source", plan, here, "-O2"),
        *(cache_key("source", dataclasses.replace(plan, **change), here, "-O3") for change in changes),
        *(
            cache_key("source", plan, dataclasses.replace(here, **{f.name: "other"}), "-O3")
            for f in dataclasses.fields(here)
        ),
    }
    assert base not in others
    assert len(others) == 2 + len(changes) + len(dataclasses.fields(here))
    assert base == cache_key("source", dataclasses.replace(plan, label="renamed"), here, "-O3")


def test_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WARPWRIGHT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "warpwright"
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"
