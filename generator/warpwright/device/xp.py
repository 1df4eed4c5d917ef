"""One array vocabulary over numpy and torch: the float64 mathematics of references, and storage as raw bits.

Storage is integers of the element's size ("bits"): guard patterns, poison and bitwise comparison need no float
semantics, and bfloat16 needs no support from numpy. `decode` and `encode` go between bits and numbers; elements of less
than a byte are a byte each there (device/held.py packs them).
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

import numpy as np

from warpwright.device.codes import TABLED, above, midpoints
from warpwright.device.codes import values as tabled
from warpwright.dtypes import dtype as described

__all__ = ["Array", "NumpyXp", "TorchXp", "Xp"]

Array = Any  # a numpy array or a torch tensor

#: Storage by an element's bytes.
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
#: Types that `encode` and `decode` know.
_CODED = ("f16", "bf16", "f32", "tf32", "i8", "i32", *TABLED)
#: Elements handled at once where a temporary is needed beside a large buffer.
_CHUNK = 1 << 28

_erf = np.frompyfunc(math.erf, 1, 1)


def _untyped(*functions: Any) -> tuple[Any, ...]:
    return functions


def _coded(dtype: str) -> str:
    if dtype not in _CODED:
        raise ValueError(f"{dtype}: its bits are not read as numbers here, only those of {', '.join(_CODED)}")
    return dtype


def _tabled(xp: Xp, numbers: Array, dtype: str) -> Array:
    """Codes of float64 numbers, the nearest (ties to even), as integers of one byte."""
    middle, size = xp.array(midpoints(dtype)), xp.abs(numbers)
    code = xp.search(middle, size)  # of middles below: where a number lies on one, that of the number below it
    last = len(midpoints(dtype)) - 1
    tie = (size == middle[xp.where(code > last, last, code)]) & (code % 2 == 1)
    code = xp.where(tie, code + 1, code)
    if above(dtype) is None:
        code = xp.where(code > last, last, code)
    nan = described(dtype).nan
    if nan is not None:
        code = xp.where(xp.isnan(numbers), nan & 0xFF, code)
    if not dtype.startswith("u"):
        code = code + xp.where(xp.signbit(numbers), 1 << described(dtype).bits - 1, 0)
    return xp.signed8(code)


@functools.cache
def _by_upper_half(dtype: str) -> Array:
    """Codes of the float32 numbers of which only the upper 16 bits are not zero, by these."""
    words = np.arange(1 << 16, dtype=np.uint32) << 16
    with np.errstate(invalid="ignore"):  # signalling NaNs are among them
        return _tabled(NumpyXp(), words.view(np.float32).astype(np.float64), dtype)


def _whole(xp: Xp, numbers: Array, bits: int) -> Array:
    """The nearest integers (ties to even), at the ends of the range for what is beyond."""
    low, high = xp.array(-(2.0 ** (bits - 1))), xp.array(2.0 ** (bits - 1) - 1)
    whole = xp.rint(numbers)
    return xp.where(whole < low, low, xp.where(whole > high, high, whole))


def _cut(word: Array) -> Array:
    """Bits of float32 (int32), rounded to the 10 bits of a significand that tf32 keeps, ties to even."""
    return (word + 0xFFF + ((word >> 13) & 1)) & ~0x1FFF


class NumpyXp:
    """numpy on the CPU."""

    def __init__(self) -> None:
        self.abs, self.exp, self.tanh, self.where = _untyped(np.abs, np.exp, np.tanh, np.where)
        self.maximum, self.sign, self.rint = _untyped(np.maximum, np.sign, np.rint)
        self.isnan, self.isinf, self.exp2, self.signbit = _untyped(np.isnan, np.isinf, np.exp2, np.signbit)

    def erf(self, x: Array) -> Array:
        return np.asarray(_erf(x), dtype=np.float64)

    def exponent(self, x: Array) -> Array:
        """floor(log2(|x|)) as float64; -1 for zero."""
        return np.frexp(x)[1].astype(np.float64) - 1.0

    def array(self, values: Any) -> Array:
        return np.asarray(values, dtype=np.float64)

    def index(self, values: Any) -> Array:
        return np.asarray(values, dtype=np.int64)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return np.zeros(shape)

    def matmul(self, a: Array, b: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.matmul(a, b)

    def normal(self, shape: tuple[int, ...], seed: int) -> Array:
        return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)

    def integers(self, shape: tuple[int, ...], low: int, high: int, seed: int) -> Array:
        return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(np.float32)

    def allocate(self, elements: int, size: int) -> Array:
        return np.empty(elements, dtype=_BITS[size])

    def strided(self, raw: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        byte_strides = tuple(s * raw.itemsize for s in strides)
        return np.lib.stride_tricks.as_strided(raw[offset:], shape=shape, strides=byte_strides)

    def encode(self, values: Array, dtype: str) -> Array:
        """Round to nearest even into `dtype`; returns bits of the same shape. Raises ValueError for one not known."""
        if _coded(dtype) in TABLED:
            word = values.view(np.uint32) if values.dtype == np.float32 and values.flags.c_contiguous else None
            if word is not None and not (word & 0xFFFF).any():  # as of small integers: one look into a table
                return _by_upper_half(dtype)[word >> 16]
            return _tabled(self, np.asarray(values, dtype=np.float64), dtype)
        if described(dtype).integral:
            return _whole(self, values, described(dtype).bits).astype(described(dtype).numpy)
        with np.errstate(over="ignore", invalid="ignore"):
            single = np.ascontiguousarray(values, dtype=np.float32)
            if dtype in ("f32", "tf32"):
                return single.view(np.int32) if dtype == "f32" else _cut(single.view(np.int32))
            if dtype == "f16":
                return np.ascontiguousarray(values).astype(np.float16).view(np.int16)
        word = single.view(np.uint32).astype(np.uint64)
        rounded = ((word + 0x7FFF + ((word >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(single), np.uint16(0x7FC0), rounded).view(np.int16)

    def decode(self, bits: Array, dtype: str) -> Array:
        """Return bits as float64 numbers. Raises ValueError for a dtype that is not known."""
        if _coded(dtype) in TABLED:
            return np.array(tabled(dtype))[bits.astype(np.int64) & 0xFF]
        with np.errstate(invalid="ignore"):  # signalling NaNs are expected here
            if dtype == "bf16":
                return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
            return bits.view(described(dtype).numpy or described(dtype).torch).astype(np.float64)

    def search(self, ordered: Array, x: Array) -> Array:
        """How many of some ordered numbers are below each of x."""
        return np.searchsorted(ordered, x, side="left")

    def signed8(self, x: Array) -> Array:
        """Whole numbers from 0 to 255 as bits of a byte."""
        return np.asarray(x).astype(np.uint8).view(np.int8)

    def permuted(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.transpose(x, axes)

    def count(self, bits: Array, pattern: int) -> int:
        """How many elements have exactly this pattern."""
        return int(np.count_nonzero(bits == pattern))

    def same(self, left: Array, right: Array) -> bool:
        return bool(np.array_equal(left, right))

    def checksum(self, raw: Array) -> int:
        return int(np.sum(raw, dtype=np.int64))

    def total(self, x: Array) -> float:
        return float(np.sum(x))

    def largest(self, x: Array) -> float:
        """The maximum, 0.0 of nothing."""
        return float(np.max(x)) if x.size else 0.0

    def all(self, x: Array) -> bool:
        return bool(np.all(x))

    def first(self, mask: Array) -> tuple[int, ...]:
        """Index of the first true element (there must be one)."""
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))

    def size(self, x: Array) -> int:
        return int(x.size)

    def address(self, x: Array) -> int:
        return int(x.ctypes.data)


class TorchXp:
    """torch on one device; `device` as torch names it."""

    def __init__(self, device: str = "cuda") -> None:
        torch: Any = importlib.import_module("torch")
        self.torch, self.device = torch, device
        self.abs, self.exp, self.tanh, self.erf = torch.abs, torch.exp, torch.tanh, torch.erf
        self.where, self.maximum, self.sign, self.rint = torch.where, torch.maximum, torch.sign, torch.round
        self.isnan, self.isinf, self.exp2, self.signbit = torch.isnan, torch.isinf, torch.exp2, torch.signbit

    def element(self, dtype: str) -> Any:
        """torch's name for a dtype."""
        return getattr(self.torch, described(dtype).torch)

    def exponent(self, x: Array) -> Array:
        return self.torch.frexp(x)[1].to(self.torch.float64) - 1.0

    def array(self, values: Any) -> Array:
        return self.torch.as_tensor(values, dtype=self.torch.float64, device=self.device)

    def index(self, values: Any) -> Array:
        return self.torch.as_tensor(values, dtype=self.torch.int64, device=self.device)

    def zeros(self, shape: tuple[int, ...]) -> Array:
        return self.torch.zeros(shape, dtype=self.torch.float64, device=self.device)

    def matmul(self, a: Array, b: Array) -> Array:
        return self.torch.matmul(a, b)

    def _generator(self, seed: int) -> Any:
        return self.torch.Generator(device=self.device).manual_seed(seed)

    def normal(self, shape: tuple[int, ...], seed: int) -> Array:
        return self.torch.randn(shape, generator=self._generator(seed), device=self.device)

    def integers(self, shape: tuple[int, ...], low: int, high: int, seed: int) -> Array:
        drawn = self.torch.randint(low, high + 1, shape, generator=self._generator(seed), device=self.device)
        return drawn.to(self.torch.float32)

    def allocate(self, elements: int, size: int) -> Array:
        return self.torch.empty(elements, dtype=getattr(self.torch, _BITS[size]), device=self.device)

    def strided(self, raw: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        return raw.as_strided(shape, strides, offset)

    def encode(self, values: Array, dtype: str) -> Array:
        if _coded(dtype) in TABLED:
            return _tabled(self, values.to(self.torch.float64), dtype)
        if described(dtype).integral:
            values = _whole(self, values.to(self.torch.float64), described(dtype).bits)
        bits = values.to(self.element(dtype)).view(getattr(self.torch, _BITS[described(dtype).bytes]))
        return _cut(bits) if dtype == "tf32" else bits

    def decode(self, bits: Array, dtype: str) -> Array:
        if _coded(dtype) in TABLED:
            return self.array(tabled(dtype))[bits.to(self.torch.int64) & 0xFF]
        return bits.view(self.element(dtype)).to(self.torch.float64)

    def search(self, ordered: Array, x: Array) -> Array:
        return self.torch.bucketize(x, ordered)

    def signed8(self, x: Array) -> Array:
        return x.to(self.torch.uint8).view(self.torch.int8)

    def permuted(self, x: Array, axes: tuple[int, ...]) -> Array:
        return x.permute(axes)

    def _chunks(self, bits: Array) -> list[Array]:
        if bits.numel() <= _CHUNK:
            return [bits]
        mode = max(range(bits.dim()), key=lambda d: bits.shape[d])
        return list(bits.split(max(1, bits.shape[mode] * _CHUNK // bits.numel()), dim=mode))

    def count(self, bits: Array, pattern: int) -> int:
        return int(sum((part == pattern).sum() for part in self._chunks(bits)))

    def same(self, left: Array, right: Array) -> bool:
        pairs = zip(self._chunks(left), self._chunks(right), strict=True)
        return all(bool((one == other).all()) for one, other in pairs)

    def checksum(self, raw: Array) -> int:
        return int(sum(part.sum(dtype=self.torch.int64) for part in self._chunks(raw)))

    def total(self, x: Array) -> float:
        return float(x.sum())

    def largest(self, x: Array) -> float:
        return float(x.max()) if x.numel() else 0.0

    def all(self, x: Array) -> bool:
        return bool(x.all())

    def first(self, mask: Array) -> tuple[int, ...]:
        flat = int(mask.to(self.torch.uint8).argmax())
        index = []
        for extent in reversed(mask.shape):
            index.append(flat % extent)
            flat //= extent
        return tuple(reversed(index))

    def size(self, x: Array) -> int:
        return int(x.numel())

    def address(self, x: Array) -> int:
        return int(x.data_ptr())


Xp = NumpyXp | TorchXp
