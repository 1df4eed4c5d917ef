"""Host code runs on every CPU of its kind, and a library that does not says so before it is called."""

from __future__ import annotations

import platform
import re
import struct
import subprocess
from pathlib import Path

import pytest

from warpwright import cpu
from warpwright.build import Artifact
from warpwright.build.host_code import level_of_code, needed_level
from warpwright.build.linking import link_library
from warpwright.build.trouble import MachineError
from warpwright.device.launch import LaunchError, load_function

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are those of x86-64")

#: One instruction (or its like) of each level, as the assembler takes it.
INSTRUCTIONS = {
    "x86-64": ("addps %xmm0, %xmm1", "rep bsf %rax, %rcx", "movntq %mm0, (%rax)", "cmovne %rax, %rcx",
               "pmuludq %xmm0, %xmm1"),
    "x86-64-v2": ("popcnt %rax, %rcx", "pshufb %xmm0, %xmm1", "cmpxchg16b (%rax)", "crc32q %rax, %rcx",
                  "pmulld %xmm0, %xmm1", "roundsd $1, %xmm0, %xmm1", "movddup %xmm0, %xmm1",
                  "haddps %xmm0, %xmm1", "lahf"),
    "x86-64-v3": ("vaddps %ymm0, %ymm1, %ymm2", "movbe (%rax), %rcx", "lzcnt %rax, %rcx", "andn %rax, %rcx, %rdx",
                  "vfmadd231ps %xmm0, %xmm1, %xmm2", "shlx %rax, %rcx, %rdx"),
    "x86-64-v4": ("vaddps %zmm0, %zmm1, %zmm2", "vaddps %xmm20, %xmm1, %xmm2", "kandw %k0, %k1, %k2",
                  "vpcmpgtd %xmm1, %xmm0, %k1", "vpternlogd $1, %xmm0, %xmm1, %xmm2"),
}  # fmt: skip


def assembled(folder: Path, *instructions: str) -> Path:
    """An object with these instructions between others of every CPU, one of which takes two lines of a listing."""
    lines = ["movabs $0x6262626262c4c5c4, %rax", "rep stosb", *instructions, "ret"]
    folder.mkdir(exist_ok=True)
    (folder / "code.s").write_text(".globl f\nf:\n" + "\n".join(lines) + "\n")
    subprocess.run(["as", str(folder / "code.s"), "-o", str(folder / "code.o")], check=True)
    return folder / "code.o"


@pytest.mark.parametrize(
    ("level", "instruction"), [(level, one) for level, listed in INSTRUCTIONS.items() for one in listed]
)
def test_an_instruction_belongs_to_its_level(level: str, instruction: str, tmp_path: Path) -> None:
    assert needed_level(assembled(tmp_path, instruction)) == level


def test_the_highest_level_counts_wherever_it_stands(tmp_path: Path) -> None:
    v2, v3, v4 = (INSTRUCTIONS[f"x86-64-v{n}"][0] for n in (2, 3, 4))
    assert needed_level(assembled(tmp_path, v3, v2)) == "x86-64-v3"
    assert needed_level(assembled(tmp_path, v4, v3, v2)) == "x86-64-v4"
    assert needed_level(assembled(tmp_path)) == "x86-64"


def test_an_object_without_code_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.s").write_text("")
    subprocess.run(["as", str(tmp_path / "empty.s"), "-o", str(tmp_path / "empty.o")], check=True)
    with pytest.raises(MachineError, match=r"empty\.o: objdump finds no code"):
        needed_level(tmp_path / "empty.o")


@pytest.mark.slow
def test_a_built_kernel_runs_on_every_cpu_of_its_kind(built: tuple[Artifact, Path]) -> None:
    artifact, folder = built
    assert artifact.cpu == "x86-64"
    assert artifact.toolchain.host == "x86_64"
    assert cpu.level_of(folder / "kernel.so") == "x86-64"
    listing = subprocess.run(["objdump", "-d", str(folder / "kernel.so")], capture_output=True, text=True, check=True)
    assert len(listing.stdout.splitlines()) > 500
    assert not re.search(r"%[yz]mm|%k[0-7]|%xmm(1[6-9]|[23]\d)", listing.stdout)
    assert level_of_code(listing.stdout) == "x86-64"


@pytest.mark.parametrize(("level", "instructions"), INSTRUCTIONS.items())
def test_a_library_says_what_it_needs(level: str, instructions: tuple[str, ...], tmp_path: Path) -> None:
    object_path = assembled(tmp_path, *instructions)
    link_library(object_path, tmp_path / "code.so", needed_level(object_path))
    assert cpu.level_of(tmp_path / "code.so") == level
    link_library(object_path, tmp_path / "silent.so")
    assert cpu.level_of(tmp_path / "silent.so") == ""


def test_a_level_stands_behind_other_properties_each_filled_up_to_8_bytes() -> None:
    features, needed = struct.pack("<IIII", 0xC0000002, 4, 3, 0), struct.pack("<IIII", 0xC0008002, 4, 0b111, 0)
    long = struct.pack("<II12sI", 0xC0000001, 12, b"", 0)
    for properties in (needed, features + needed, long + features + needed):
        assert cpu._level_in(properties) == "x86-64-v3"
    assert cpu._level_in(features + long) == ""


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02", b"\x7fELF\x02" + b"\xff" * 100, b"#!/bin/sh\n" * 20])
def test_what_is_no_library_says_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(content)
    assert cpu.level_of(tmp_path / "x.so") == ""
    assert cpu.level_of(tmp_path / "none.so") == ""


def test_another_cpu_is_told_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A v4 library on a CPU of level v3: one sentence, before anything is loaded."""
    flags = [flag for level in ("x86-64-v2", "x86-64-v3") for flag in cpu.LEVELS[level]]
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: fpu sse2 {' '.join(flags)} avx512f\nprocessor\t: 1\n")
    monkeypatch.setattr(cpu, "_CPUINFO", cpuinfo)
    object_path = assembled(tmp_path, *INSTRUCTIONS["x86-64-v4"])
    library = tmp_path / "kernel.so"
    link_library(object_path, library, "x86-64-v4")
    why = (
        "kernel.so needs a CPU of level x86-64-v4, and this one lacks avx512bw, avx512cd, avx512dq, avx512vl; "
        "build it again"
    )
    assert cpu.unfit(library) == why
    with pytest.raises(LaunchError, match=re.escape(why)):
        load_function(library, "f")
    link_library(object_path, library, "x86-64-v3")
    assert cpu.unfit(library) == ""
    assert cpu.lacking("") == []
    cpuinfo.unlink()
    assert cpu.lacking("x86-64-v4") == []  # what cannot be told is left to the loader
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert cpu.lacking("x86-64") == ["x86-64"]
