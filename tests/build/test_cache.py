"""The cache under truncation, edits, kills and rivals."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import stat
from pathlib import Path

import pytest

from warpwright import scratch
from warpwright.build import toolchain
from warpwright.build.cache import Cache, cache_key, cache_limit, cache_root
from warpwright.errors import UserError
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
    left_over = scratch.beside(cache.path(KEY))
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


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"HOME": ""},
        {"HOME": "/"},
        {"XDG_CACHE_HOME": "relative"},
        {"HOME": "relative"},
        {"HOME": "", "XDG_CACHE_HOME": ""},
    ],
)
def test_without_a_home_the_root_is_a_folder_of_this_user_alone(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("WARPWRIGHT_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if "HOME" not in environment:  # no entry of the user in the password file either
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    root = cache_root()
    assert root == tmp_path / f"warpwright-cache-{os.getuid()}"
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    root.chmod(0o777)  # as of another user, who made it first
    assert cache_root() == Path("/dev/null/warpwright")
    cache = Cache()
    assert cache.put(KEY, FILES, FACTS).files == FILES
    assert "Not a directory" in cache.trouble
    assert cache.get(KEY) is None
    root.rmdir()
    root.symlink_to(tmp_path)
    assert cache_root() == Path("/dev/null/warpwright")


@pytest.mark.parametrize("call", ["mkdir", "write_bytes", "write_text"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_cache_that_cannot_be_written_costs_time_alone(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    cache = Cache(tmp_path)
    monkeypatch.setattr(Path, call, refuse)
    entry = cache.put(KEY, FILES, FACTS)
    assert (entry.files, entry.facts) == (FILES, FACTS)
    assert os.strerror(number) in cache.trouble
    monkeypatch.undo()
    assert cache.get(KEY) is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_entry_that_cannot_be_read_is_a_miss(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert cache.get(KEY) is None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    """A 256th of the limit holds three entries of 1000 bytes and their manifests."""
    cache = Cache(tmp_path, limit=256 * 4000)
    keys = [f"ab{n:062}" for n in range(5)]
    for age, key in enumerate(keys[:3]):
        cache.put(key, {"kernel.ptx": b"x" * 1000}, {})
        os.utime(cache.path(key) / "manifest.json", (1000 + age, 1000 + age))
    cache.put("cd" * 32, {"kernel.ptx": b"x" * 3000}, {})  # in another part, with a share of its own
    assert cache.get(keys[0])  # used now
    cache.put(keys[3], {"kernel.ptx": b"x" * 1000}, {})
    assert [cache.path(key).exists() for key in keys] == [True, False, True, True, False]
    cache.put(keys[4], {"kernel.ptx": b"x" * 9000}, {})  # larger than its part: it stays alone until the next
    assert [cache.path(key).exists() for key in keys] == [False, False, False, False, True]
    cache.put(keys[0], {"kernel.ptx": b"x"}, {})
    assert [cache.path(key).exists() for key in keys] == [True, False, False, False, False]
    assert cache.get("cd" * 32)
    assert cache.trouble == ""


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("", 4 << 30),
        ("0", 0),
        ("1000", 1000),
        ("500M", 500 << 20),
        ("4g", 4 << 30),
        ("1.5 GiB", 3 << 29),
        ("2KB", 2048),
    ],
)
def test_the_limit_is_a_size(text: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWRIGHT_CACHE_LIMIT", text)
    assert cache_limit() == limit


@pytest.mark.parametrize("text", ["-1", "4X", "many", "1e9", "9" * 400])
def test_a_limit_that_is_no_size_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWRIGHT_CACHE_LIMIT", text)
    with pytest.raises(UserError, match=r"WARPWRIGHT_CACHE_LIMIT=.*: not a size; write it as 500M or 4G"):
        Cache()


def test_clear_says_what_it_freed_and_touches_nothing_else(cache: Cache) -> None:
    cache.put("cd" * 32, {"kernel.ptx": b"x" * 1000}, {})
    (cache.root / "emulator_files.json").write_text("{}")
    (cache.root / "templates").mkdir()
    (cache.root / "templates" / "a.template").write_bytes(b"x" * 10)
    mine = cache.root / "notes.txt"
    mine.write_text("a user's own, who chose this folder")
    held = sum(path.stat().st_size for path in cache.root.rglob("*") if path.is_file() and path != mine)
    assert cache.clear() == (2, held)
    assert [path for path in cache.root.rglob("*") if path.is_file()] == [mine]
    assert cache.clear() == (0, 0)
    assert Cache(cache.root / "none").clear() == (0, 0)


def test_put_over_replaces_even_a_sound_entry(cache: Cache) -> None:
    cache.put(KEY, {"kernel.ptx": b"other"}, {}, over=True)
    entry = cache.get(KEY)
    assert entry
    assert entry.files == {"kernel.ptx": b"other"}
    assert [p.name for p in cache.path(KEY).parent.iterdir()] == [KEY]
