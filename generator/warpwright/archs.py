"""Limits and rates of the architectures that are planned for: the only place where these numbers stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

__all__ = [
    "B200", "H200", "SM90A", "SM100A", "SM103A", "SM110A", "SM120A", "TARGETS", "TMA_STRIDES", "Arch", "Device",
    "Extents", "LaunchLimits", "MmaKind", "MmaShapes", "arch", "device", "launch_limits", "runs_on",
]  # fmt: skip


@dataclass(frozen=True)
class MmaShapes:
    """What MMAs of a warpgroup take: M, multiples of `n_step` up to `n_max`, bytes of K. Where there are none, no M."""

    m: tuple[int, ...]
    n_step: int
    n_max: int
    k_bytes: int  # depth of one MMA in bytes of the operand


@dataclass(frozen=True)
class Extents:
    """The M and N, each in ascending order, that one tcgen05.mma may have: of a pair, both CTAs' together."""

    m: tuple[int, ...]
    n: tuple[int, ...]


@dataclass(frozen=True)
class MmaKind:
    """One kind of tcgen05.mma, dense. Source: PTX ISA 9.1, 9.7.16.2.1 (shapes), 9.7.16.10.1 (majors).

    k: elements of K in one MMA, packed ones of 4 bits counted singly. alone, pair: of cta_group 1 and 2. n_step_8bit:
    the step of N by cta_group where B holds elements of 8 bits along N. mn_major: whether A and B may run along M and
    N: "any", "8-bit" (narrower elements run along K alone), "none". scaled: whether scale factors come along.
    """

    name: str  # in PTX: kind::f16
    k: int
    alone: Extents
    pair: Extents
    mn_major: str = "any"
    n_step_8bit: tuple[int, int] = (8, 16)
    scaled: bool = False

    def extents(self, cta_group: int) -> Extents:
        """Of a CTA alone (1) or of a pair (2)."""
        return self.pair if cta_group == 2 else self.alone


@dataclass(frozen=True)
class Arch:
    """What one CTA may use. Source: CUDA C++ Programming Guide, compute capabilities; PTX ISA 8.8 and 9.1.

    Tensor memory has `tensor_lanes` times `tensor_columns` words of 32 bits per SM; a CTA allocates columns in powers
    of two from `tensor_least` on (PTX ISA 9.1, 9.7.16.7). Without it, all three are 0 and there are no kinds.
    """

    name: str
    shared_bytes: int  # opt-in limit of dynamic shared memory per CTA
    shared_per_sm: int
    shared_reserved: int  # per CTA, by the driver
    registers: int  # 32-bit registers per SM
    registers_per_thread: int
    threads_per_sm: int
    ctas_per_sm: int
    named_barriers: int  # per CTA, 0 being __syncthreads
    max_cluster: int  # CTAs per cluster that this project plans for (portable limit: 8)
    tma_box: int  # largest extent of a TMA box
    tma_alignment: int  # bytes, of a base and of every stride
    mma: MmaShapes = MmaShapes(m=(), n_step=8, n_max=0, k_bytes=32)
    tensor_lanes: int = 0
    tensor_columns: int = 0
    tensor_least: int = 0
    kinds: tuple[MmaKind, ...] = ()  # of tcgen05.mma

    def kind(self, name: str) -> MmaKind:
        """Return a kind of tcgen05.mma by its name in PTX (KeyError, naming what there is, where the arch has none)."""
        for found in self.kinds:
            if found.name == name:
                return found
        raise KeyError(f"{self.name} has no kind {name}: there are {', '.join(k.name for k in self.kinds) or 'none'}")


@dataclass(frozen=True)
class LaunchLimits:
    """What one launch may ask for. Source: CUDA C++ Programming Guide, technical specifications per compute capability.

    `static_shared_bytes` is what ptxas allows; `cluster` needs the attribute for non-portable sizes above 8.
    """

    shared_bytes: int  # opt-in limit per CTA, static and dynamic together
    cluster: int  # CTAs
    static_shared_bytes: int = 49_152
    registers: int = 65_536  # 32-bit registers per CTA
    threads: int = 1024
    block: tuple[int, int, int] = (1024, 1024, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65_535, 65_535)


#: Bytes that a stride of a tensor map stays below, on every arch that has them (CUDA driver API,
#: cuTensorMapEncodeTiled).
TMA_STRIDES = 2**40


@dataclass(frozen=True)
class Device:
    """Rates of one GPU, for the prediction. Those of H200 were measured on it: copy 4.27 TB/s, 1.5 GHz under its power
    limit. hearsay: what is to be known of a prediction where no kernel of this project has been measured on it.
    """

    name: str
    sms: int
    hertz: float
    flop_per_clock: int  # dense 16-bit, per SM
    l2_bytes_per_clock: float  # per SM
    shared_bytes_per_clock: int  # per SM
    dram_bytes_per_second: float
    launch_seconds: float
    hearsay: str = ""

    @property
    def described(self) -> str:
        """Its name, with what a prediction rests on where that was not measured."""
        return f"{self.name} ({self.hearsay})" if self.hearsay else self.name

    def flop_of(self, bits: int) -> int:
        """FLOP per clock and SM, dense, of operands with so many bits: half the bits, twice as many."""
        return self.flop_per_clock * 16 // bits


SM90A = Arch(
    name="sm_90a",
    shared_bytes=232_448,
    shared_per_sm=233_472,
    shared_reserved=1024,
    registers=65_536,
    registers_per_thread=255,
    threads_per_sm=2048,
    ctas_per_sm=32,
    named_barriers=16,
    max_cluster=4,
    tma_box=256,
    tma_alignment=16,
    mma=MmaShapes(m=(64,), n_step=8, n_max=256, k_bytes=32),
)

H200 = Device(
    name="NVIDIA H200",
    sms=132,
    hertz=1.5e9,
    flop_per_clock=4096,
    l2_bytes_per_clock=46.6,
    shared_bytes_per_clock=128,
    dram_bytes_per_second=4.27e12,
    launch_seconds=4e-6,
)


def _steps(first: int, step: int, last: int = 256) -> tuple[int, ...]:
    return tuple(range(first, last + 1, step))


_DENSE = Extents((64, 128), _steps(8, 8)), Extents((128, 256), _steps(16, 16))
_SCALED = Extents((128,), _steps(8, 8)), Extents((128, 256), _steps(16, 16))
_KINDS = (
    MmaKind("f16", 16, *_DENSE),
    MmaKind("tf32", 8, *_DENSE),
    MmaKind("f8f6f4", 32, *_DENSE, mn_major="8-bit", n_step_8bit=(16, 32)),
    MmaKind("mxf8f6f4", 32, *_SCALED, mn_major="8-bit", n_step_8bit=(16, 32), scaled=True),
    MmaKind("mxf4", 64, *_SCALED, mn_major="none", scaled=True),
    MmaKind("mxf4nvf4", 64, *_SCALED, mn_major="none", scaled=True),
)
_I8 = MmaKind(
    "i8",
    32,
    Extents((64, 128), (8, 16, 24, *_steps(32, 16))),
    Extents((128, 256), _steps(32, 32)),
    n_step_8bit=(16, 32),
)

SM100A = Arch(
    name="sm_100a",
    shared_bytes=232_448,
    shared_per_sm=233_472,
    shared_reserved=1024,
    registers=65_536,
    registers_per_thread=255,
    threads_per_sm=2048,
    ctas_per_sm=32,
    named_barriers=16,
    max_cluster=8,  # portable; whether a B200 holds clusters of 16 is for it to say
    tma_box=256,
    tma_alignment=16,
    tensor_lanes=128,
    tensor_columns=512,
    tensor_least=32,
    kinds=(*_KINDS, _I8),
)

#: As sm_100a, without kind::i8 (PTX ISA 9.1, 9.7.16.2.1: sm_100a and sm_110a alone; NVVM refuses it for sm_103a). Its
#: MMAs of K = 96 with 4 bits are not planned for.
SM103A = replace(SM100A, name="sm_103a", kinds=_KINDS)

#: As sm_100a, with fewer threads and CTAs to an SM (CUDA C++ Programming Guide, compute capability 11.0).
SM110A = replace(SM100A, name="sm_110a", threads_per_sm=1536, ctas_per_sm=24)

#: Neither tcgen05 nor tensor memory: its tensor cores are those of mma.sync. CUTLASS plans it with
#: clusters of one CTA (sm120_blockscaled_mma_builder.inl).
SM120A = replace(
    SM100A,
    name="sm_120a",
    shared_bytes=101_376,
    shared_per_sm=102_400,
    threads_per_sm=1536,
    ctas_per_sm=24,
    max_cluster=1,
    tensor_lanes=0,
    tensor_columns=0,
    tensor_least=0,
    kinds=(),
)

#: No B200 has run anything of this project. What others measured (SemiAnalysisAI/microbench-blackwell at 9a068d85, a
#: B200 at 1.965 GHz) and NVIDIA's data sheet say:
B200 = Device(
    name="NVIDIA B200",
    sms=148,
    hertz=1.856e9,  # data sheet: 2.25 PFLOP/s dense in 16 bits, over 148 SMs and 8192 FLOP per clock
    flop_per_clock=8192,  # microbench: 99.4 % of it is reached
    l2_bytes_per_clock=46,  # microbench: at the least, filled by pair sharing; what L2 itself gives is not known
    shared_bytes_per_clock=128,  # microbench: the interval of MMAs is bounded by it
    dram_bytes_per_second=7.2e12,  # microbench: 64 KiB in flight per SM; the data sheet says 8 TB/s
    launch_seconds=4e-6,  # as H200
    hearsay="by a model of others' figures: no such GPU has run a kernel of this project",
)

_ARCHS = {a.name: a for a in (SM90A, SM100A, SM103A, SM110A, SM120A)}
#: Their names, which are those of the compiler's targets.
TARGETS = tuple(_ARCHS)


def arch(name: str) -> Arch:
    """Return the limits of an architecture by its target name (KeyError when it is not planned for)."""
    return _ARCHS[name]


#: Of each arch the GPU that predictions are for where nobody names one; of those without one the nearest.
_DEVICES = {"sm_90a": H200, "sm_100a": B200, "sm_103a": B200, "sm_110a": B200, "sm_120a": B200}


def device(name: str) -> Device:
    """Return the GPU that times of an architecture are told for (KeyError when it is not planned for)."""
    return _DEVICES[name]


def runs_on(target: str) -> tuple[str, bool] | None:
    """Return the compute capability ("9.0") that machine code for a target (`sm_90a`) is for, and whether it runs on
    that one alone; None for what is no target.

    Otherwise it also runs on later ones of the same generation (CUDA C++ Programming Guide, binary compatibility,
    architecture-specific features).
    """
    match = re.fullmatch(r"sm_([0-9]+)([0-9])([af]?)", target)
    return (f"{match[1]}.{match[2]}", match[3] == "a") if match else None


#: Opt-in shared memory per CTA by compute capability.
_SHARED = {
    70: 98_304, 72: 98_304, 75: 65_536, 80: 166_912, 86: 101_376, 87: 166_912, 88: 101_376, 89: 101_376,
    90: 232_448, 100: 232_448, 101: 232_448, 103: 232_448, 110: 232_448, 120: 101_376, 121: 101_376,
}  # fmt: skip


def launch_limits(target: str) -> LaunchLimits | None:
    """Return what a launch on a PTX target (`sm_90a`) may ask for, None for a target whose limits are not known."""
    number = target.removeprefix("sm_").rstrip("af")
    shared = _SHARED.get(int(number)) if number.isdecimal() else None
    if shared is None:
        return None
    return LaunchLimits(shared, 1 if int(number) < 90 else 16 if int(number) < 120 else 8)
