"""Mutants of tcgen05 instructions: what is altered, and that each alteration of a block-scaled product shows."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from warpwright.emulate import GlobalMemory, Launch, Options, parse
from warpwright.emulate import run as emulate
from warpwright.emulate.mutants.edits import Mutant, apply, mutants

from .ptx_kit import HEADER
from .tensor_kit import AFTER, BEGIN, COLUMNS, COMMIT, END, WAIT, WAIT_LD, move, single, to_global
from .test_block_scaling import ALL_COLUMNS, CLEAR, KEEP, copies, idesc, image_of, scaled, start, ue8m0

N = 64
SECOND = idesc(N, 0, 0, sfa=1, sfb=1)


def product(group: str = ".scale_vec::1X") -> str:
    """Two MMAs of the same A and B, the first with the scales of byte 0, the second with those of byte 1."""
    issue = copies(N) + CLEAR + scaled("mxf8f6f4", group)
    issue += f" mov.b32 %r91, {SECOND};\n" + KEEP + scaled("mxf8f6f4", group) + COMMIT
    body = BEGIN.replace(f", {COLUMNS};", f", {ALL_COLUMNS};") + start(idesc(N, 0, 0))
    body += single(1, issue, "ISSUED") + WAIT + AFTER + move("ld", "32x32b", N, N) + WAIT_LD + to_global(N, "%rd1")
    return body + END.replace(f", {COLUMNS};", f", {ALL_COLUMNS};")


def ptx() -> str:
    loads = "".join(f" ld.param.b64 %rd{i}, [p{i}];\n" for i in range(2))
    return HEADER.format(params=".param .u64 p0, .param .u64 p1", threads=128, loads=loads, body=product())


def inputs() -> tuple[Any, Any]:
    """The image of shared memory, and the product."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (rows, 32)).astype(ml_dtypes.float8_e4m3fn) for rows in (128, N))
    sfa, sfb = (rng.integers(125, 130, (rows, 4)).astype(np.uint8) for rows in (128, N))
    scales = sum(ue8m0(sfa[:, j])[:, None] * ue8m0(sfb[:, j]) for j in range(2))
    return image_of(a.view(np.uint8), b.view(np.uint8), sfa, sfb), a.astype(np.float64) @ b.astype(
        np.float64
    ).T * scales


def passes(text: str, seed: int) -> bool:
    image, expected = inputs()
    out = np.zeros((128, N), np.float32)
    memory = GlobalMemory()
    params = tuple(struct.pack("<Q", memory.add(name, array, "inout")) for name, array in (("i", image), ("o", out)))
    launch = Launch((1, 1, 1), (128, 1, 1), (1, 1, 1), 32832, params)
    result = emulate(parse(text), launch, {}, memory, seed, Options(budget=200_000, limit=1))
    return not result.findings and bool((out == expected).all())


@pytest.fixture(scope="module")
def found() -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in mutants(ptx(), []) if "tcgen05" in mutant.name}


def test_each_alteration_of_a_block_scaled_product_shows(found: dict[str, Mutant]) -> None:
    text = ptx()
    assert all(passes(text, seed) for seed in (1, 2, 3))
    survivors = [name for name, mutant in found.items() if all(passes(apply(text, mutant), s) for s in (1, 2, 3))]
    assert survivors == []


def test_what_is_altered(found: dict[str, Mutant]) -> None:
    mma = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X"
    first = ["another format of A", "another format of B", "another sign", "another order of A", "another order of B"]
    scales = ["other scales of A", "next scales of A", "other scales of B", "next scales of B"]
    copy = "tcgen05.cp.cta_group::1.32x128b.warpx4"
    alloc, free = (
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32",
    )
    assert {name for name in found if name.split(" in ")[0] != name} == {
        *(f"{each} in {mma} #1" for each in [*first, "fewer columns", "adds", *scales]),
        *(f"{each} in {mma} #2" for each in scales),
        f"adds nothing in {mma} #1",
        *(f"next columns in {copy} #{n}" for n in (1, 2)),
        *(f"{size} the columns in {opcode} #1" for size in ("half", "twice") for opcode in (alloc, free)),
    }
    assert {f"delete {copy} #1", f"delete {copy} #2"} <= set(found)


@pytest.mark.parametrize(
    ("line", "name", "altered"),
    [
        ("tcgen05.cp.cta_group::1.4x256b [%r5+8], %rd1;", "next columns in",
         "{ tcgen05.cp.cta_group::1.4x256b [%r5+9], %rd1; }"),
        ("@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 64;", "twice the columns in",
         "{ .reg .b32 other; shl.b32 other, 64, 1; @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, other; }"),
        ("tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", "fewer columns in",
         "{ .reg .b32 other; sub.s32 other, %r2, 0x40000;"
         " tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, other, %p1; }"),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r1], [%r9], %rd2, %r2, [%r3], [%r4], %p1;",
         "other scales of B in",
         "{ .reg .b32 other; xor.b32 other, %r2, 0x20;"
         " tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r1], [%r9], %rd2, other, [%r3], [%r4], %p1; }"),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4, %r5, %r6}, %p1;", "adds in",
         "{ .reg .pred other; setp.eq.b32 other, 0, 0;"
         " tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4, %r5, %r6}, other; }"),
    ],
)  # fmt: skip
def test_the_text_of_a_mutant(line: str, name: str, altered: str) -> None:
    text = f".version 8.8\n.target sm_100a\n.visible .entry k()\n{{\n\t{line}\n\tret;\n}}\n"
    (mutant,) = [each for each in mutants(text, []) if each.name.startswith(name)]
    assert " ".join(apply(text, mutant).split("\n")[4].split()) == altered
