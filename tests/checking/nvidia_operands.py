"""Operands of NVIDIA's examples that are no tensors with a name.

Those of block-scaled examples are handed over as bare pointers: they are drawn here, and read by their layout.
The examples draw few values (of fp4 every second one is zero), and compare with a function that torch has on a GPU
alone. So each launch is given other bytes: elements and scales at random, with sums that float32 holds exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_SCALES = np.array([0.25, 0.5, 1, 2, 3])  # those of e8m0 are the powers of two among them


def option(options: str, name: str, default: str) -> str:
    """The value of an option in a command line."""
    words = options.split()
    return words[words.index(f"--{name}") + 1] if f"--{name}" in words else default


#: By the words of the DSL's element types; tf32 lies in memory as f32.
TYPES: dict[str, Any] = {
    "Float16": np.float16, "BFloat16": ml_dtypes.bfloat16, "Float32": np.float32, "TFloat32": np.float32,
    "Float8E4M3FN": ml_dtypes.float8_e4m3fn, "Float8E5M2": ml_dtypes.float8_e5m2, "Int8": np.int8, "Uint8": np.uint8,
    "Int32": np.int32, "Int64": np.int64,
}  # fmt: skip


def read(address: int, kind: str, shape: Sequence[int], strides: Sequence[int]) -> Any:
    """A copy of what lies in the device's memory; strides in elements."""
    from warpwright.checking.device_memory import bytes_at

    dtype = np.dtype(TYPES[kind])
    size = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) * dtype.itemsize + dtype.itemsize
    words = bytes_at(address, size)[: dtype.itemsize].view(f"u{dtype.itemsize}")
    steps = tuple(s * dtype.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(words, tuple(shape), steps).copy().view(dtype)


def values_of(tensor: Any) -> Any:
    """A tensor of the DSL, as a numpy array of its type."""
    shape, strides = ([int(each) for each in one] for one in (tensor.shape, tensor.stride))
    return read(int(tensor.data_ptr), tensor.element_type.__name__, shape, strides)


def grouped(given: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """(expected, found) of each group of a grouped GEMM: its extents, strides and addresses are tensors themselves."""
    shapes, strides, addresses = (
        values_of(given[name]).tolist() for name in ("problem_shape_mnkl", "strides_abc", "tensor_address_abc")
    )
    kinds = [given[f"initial_{name}"].element_type.__name__ for name in "abc"]
    for (m, n, k, _), steps, places in zip(shapes, strides, addresses, strict=True):
        extents = (m, k), (n, k), (m, n)
        a, b, c = map(read, places, kinds, extents, steps)
        yield a.astype(np.float64) @ b.astype(np.float64).T, c


class Scaled:
    """The operands of one launch: `pointers` by the names a_ptr, b_ptr, sfa_ptr, sfb_ptr, c_ptr."""

    def __init__(self, pointers: Mapping[str, Any], options: str, seed: int) -> None:
        self.pointers, self.rng = pointers, np.random.default_rng(seed)
        self.m, self.n, self.k, self.l = map(int, option(options, "mnkl", "").split(","))
        self.kinds = {name[:-4]: pointer.dtype.__name__ for name, pointer in pointers.items()}
        self.majors = {name: option(options, f"{name}_major", "n" if name == "c" else "k") for name in "abc"}
        self.block = int(option(options, "sf_vec_size", "16"))
        self.product = self._values("a", self.m) @ self._values("b", self.n).transpose(0, 2, 1)  # (L, M, N)

    def _bytes(self, name: str, size: int) -> Any:
        from warpwright.checking.device_memory import bytes_at

        return bytes_at(int(self.pointers[f"{name}_ptr"]._pointer), size)

    def _values(self, name: str, rows: int) -> Any:
        """Draw an operand and its scales, write them, and return what they mean, (L, rows, K) in float64."""
        shape = (self.l, rows, self.k)
        kind, chosen = self.kinds[name], self.rng.integers(0, 16, shape)
        if kind == "Float4E2M1FN":
            values = FP4[chosen]
            self._bytes(name, chosen.size // 2)[...] = (chosen[..., 0::2] | chosen[..., 1::2] << 4).reshape(-1)
        else:
            values = (chosen - 8).astype(np.float64)
            stored = values if self.majors[name] == "k" else values.transpose(0, 2, 1)
            self._bytes(name, chosen.size)[...] = stored.astype(TYPES[kind]).reshape(-1).view(np.uint8)
        return values * np.repeat(self._scales(f"sf{name}", rows), self.block, axis=2)[:, :, : self.k]

    def _scales(self, name: str, rows: int) -> Any:
        """Scales (L, rows, blocks), in tiles of 128 rows by 4 blocks: PTX ISA, "Scale factor layout" of tcgen05.mma."""
        blocks = -(-self.k // self.block)
        tiles, wide = -(-rows // 128), -(-blocks // 4)
        powers = self.kinds[name] == "Float8E8M0FNU"
        values = self.rng.choice(_SCALES[:-1] if powers else _SCALES, (self.l, 128 * tiles, 4 * wide))
        bits = np.log2(values).astype(np.int64) + 127
        if not powers:
            bits = values.astype(TYPES[self.kinds[name]]).view(np.uint8)
        parts = bits.reshape(self.l, tiles, 4, 32, wide, 4)  # tile, quarter of its rows, row, tile of blocks, block
        self._bytes(name, values.size)[...] = parts.transpose(0, 1, 4, 3, 2, 5).reshape(-1)
        return values[:, :rows, :blocks]

    def result(self) -> Any:
        """What lies where the result is to be, (L, M, N), in its type."""
        kind = np.dtype(TYPES[self.kinds["c"]])
        flat = self._bytes("c", self.l * self.m * self.n * kind.itemsize).copy().view(kind)
        if self.majors["c"] == "n":
            return flat.reshape(self.l, self.m, self.n)
        return flat.reshape(self.l, self.n, self.m).transpose(0, 2, 1)
