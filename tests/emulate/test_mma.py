"""mma.sync of every type: which lane and register holds which element, and the sums; movmatrix."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from warpwright.emulate import UnsupportedInstruction

from .ptx_kit import lanes, launch

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8, "f32": np.float32, "s32": np.int32,
}  # fmt: skip


def places_a(k: int, size: int) -> list[list[tuple[int, int]]]:
    """[lane][element i] -> (row, column) of A, by the formulas of the PTX ISA for each shape."""
    per = 4 // size
    count = 16 * k // 32
    found = []
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        mine = []
        for i in range(count):
            if size == 4:
                row = group if i in (0, 2) else group + 8
                column = thread if i < 2 else thread + 4
            else:
                row = group if (i // per) % 2 == 0 else group + 8
                column = thread * per + i % per + (4 * per if i >= 2 * per else 0)
            mine.append((row, column))
        found.append(mine)
    return found


def places_b(k: int, size: int) -> list[list[tuple[int, int]]]:
    per = 4 // size
    return [
        [(lane % 4 * per + i % per + (4 * per if i >= per else 0), lane >> 2) for i in range(8 * k // 32)]
        for lane in range(32)
    ]


def places_c() -> list[list[tuple[int, int]]]:
    return [[((lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + i % 2) for i in range(4)] for lane in range(32)]


def fragments(matrix: Any, places: list[list[tuple[int, int]]]) -> Any:
    """(32, registers) uint32 of a matrix."""
    rows = [[matrix[at] for at in mine] for mine in places]
    return np.array(rows, dtype=matrix.dtype).view(np.uint32).reshape(32, -1)


def draw(kind: str, shape: tuple[int, int], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    low, high = {"u8": (0, 255), "s8": (-128, 127)}.get(kind, (-4, 4))
    return rng.integers(low, high, shape, endpoint=True).astype(DTYPES[kind])


def product(k: int, size: int, types: tuple[str, str, str], options: str = "", big: bool = False) -> Any:
    """(what the lanes hold, D as numpy has it, at its places)."""
    d_type, a_type, b_type = types
    a, b = draw(a_type, (16, k), 1), draw(b_type, (k, 8), 2)
    c = draw(d_type, (16, 8), 3) if d_type != "s32" else np.arange(128, dtype=np.int32).reshape(16, 8) - 64
    if big:
        c[...] = 2**31 - 5
    parts = {
        "a": fragments(a, places_a(k, size)),
        "b": fragments(b, places_b(k, size)),
        "c": fragments(c, places_c()),
    }
    body, names = "", {}
    register = 10
    for n, (name, words) in enumerate(parts.items()):
        count = words.shape[1]
        body += f" mul.wide.u32 %rd20, %r0, {4 * count};\n add.s64 %rd21, %rd{n}, %rd20;\n"
        names[name] = [f"%r{register + i}" for i in range(count)]
        for i in range(count):
            body += f" ld.global.b32 %r{register + i}, [%rd21+{4 * i}];\n"
        register += count
    d = [f"%r{100 + i}" for i in range(len(names["c"]))]
    listed = ", ".join("{" + ", ".join(each) + "}" for each in (d, *names.values()))
    body += f" mma.sync.aligned.m16n8k{k}.row.col{options}.{d_type}.{a_type}.{b_type}.{d_type} {listed};\n"
    body += f" mul.wide.u32 %rd20, %r0, {4 * len(d)};\n add.s64 %rd21, %rd3, %rd20;\n"
    body += "".join(f" st.global.b32 [%rd21+{4 * i}], {r};\n" for i, r in enumerate(d))
    out = np.zeros((32, len(d)), np.uint32)
    outcome = launch(body, {**parts, "o": out}, out=["o"])
    assert outcome.kinds == []
    wide = (np.float64, np.int64)[d_type == "s32"]
    expected = a.astype(wide) @ b.astype(wide) + c.astype(wide)
    return out, expected


@pytest.mark.parametrize(
    ("k", "size", "types"),
    [
        (8, 2, ("f32", "f16", "f16")), (16, 2, ("f32", "f16", "f16")), (8, 2, ("f16", "f16", "f16")),
        (16, 2, ("f16", "f16", "f16")), (8, 2, ("f32", "bf16", "bf16")), (16, 2, ("f32", "bf16", "bf16")),
        (4, 4, ("f32", "tf32", "tf32")), (8, 4, ("f32", "tf32", "tf32")), (16, 1, ("s32", "s8", "u8")),
        (32, 1, ("s32", "u8", "s8")), (32, 1, ("s32", "s8", "s8")), (32, 1, ("f32", "e4m3", "e5m2")),
        (16, 1, ("f16", "e4m3", "e4m3")),
    ],
)  # fmt: skip
def test_the_layouts_and_sums(k: int, size: int, types: tuple[str, str, str]) -> None:
    out, expected = product(k, size, types)
    np.testing.assert_array_equal(out, fragments(expected.astype(DTYPES[types[0]]), places_c()))


def test_integer_sums_saturate_or_wrap() -> None:
    out, expected = product(32, 1, ("s32", "u8", "u8"), ".satfinite", big=True)
    assert (expected > 2**31 - 1).any()
    np.testing.assert_array_equal(out, fragments(np.minimum(expected, 2**31 - 1).astype(np.int32), places_c()))
    out, expected = product(32, 1, ("s32", "u8", "u8"), big=True)
    np.testing.assert_array_equal(out, fragments(expected.astype(np.int32), places_c()))


def test_half_a_warp_is_a_finding() -> None:
    body = " setp.lt.u32 %p1, %r0, 16;\n @%p1 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
    body += " {%r10, %r11, %r12, %r13}, {%r2, %r3}, {%r4}, {%r5, %r6, %r7, %r8};\n"
    assert launch(body).kinds == ["convergence"]


@pytest.mark.parametrize(
    "opcode",
    [
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "mma.sync.aligned.m16n8k16.row.col.bf16.bf16.bf16.bf16",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ],
)  # fmt: skip
def test_what_is_not_emulated_is_named(opcode: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=opcode.replace(".", r"\.")):
        launch(f" {opcode} {{%r10, %r11, %r12, %r13}}, {{%r2, %r3}}, {{%r4}}, {{%r5, %r6, %r7, %r8}};\n")


def test_movmatrix_transposes() -> None:
    data = np.arange(64, dtype=np.uint16)
    out = np.zeros(32, np.uint32)
    body = """
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 ld.global.b32 %r2, [%rd21];
 movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;
 add.s64 %rd21, %rd1, %rd20;
 st.global.b32 [%rd21], %r3;
"""
    assert launch(body, {"i": data, "o": out}, out=["o"]).kinds == []
    np.testing.assert_array_equal(out.view(np.uint16), data.reshape(8, 8).T.reshape(-1))


@pytest.mark.parametrize(
    ("opcode", "registers", "a", "b", "expected"),
    [
        # tf32 are the upper 19 bits of a register
        ("f32.tf32.tf32.f32", (4, 4, 2), 0x3F801FFF, 0x3F801FFF, 0x41000000),
        ("f32.tf32.tf32.f32", (4, 4, 2), 0x3F802000, 0x3F800000, 0x41002000),
        # a NaN of any sign and payload becomes the one that a tensor core makes, in both halves
        ("f16.f16.f16.f16", (2, 2, 1), 0xFE01FE01, 0x3C003C00, 0x7FFF7FFF),
        ("f16.f16.f16.f16", (2, 2, 1), 0x7C007C00, 0x00000000, 0x7FFF7FFF),
        ("f16.f16.f16.f16", (2, 2, 1), 0x7C007C00, 0xBC00BC00, 0xFC00FC00),
    ],
)
def test_bits_that_do_not_count(opcode: str, registers: tuple[int, int, int], a: int, b: int, expected: int) -> None:
    d, first, second = registers
    lists = [[f"%r{20 + i}" for i in range(d)], ["%r2"] * first, ["%r3"] * second, ["%r4"] * d]
    listed = ", ".join("{" + ", ".join(each) + "}" for each in lists)
    body = f" mov.b32 %r2, {a};\n mov.b32 %r3, {b};\n mov.b32 %r4, 0;\n"
    body += f" mma.sync.aligned.m16n8k8.row.col.{opcode} {listed};\n"
    assert lanes(body, result=f"%r{19 + d}").tolist() == [expected] * 32
