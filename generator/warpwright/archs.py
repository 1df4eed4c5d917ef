"""Limits and rates of the architectures that are planned for: the only place where these numbers stand."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["H200", "SM90A", "TMA_STRIDES", "Arch", "Device", "LaunchLimits", "MmaShapes", "arch", "launch_limits"]


@dataclass(frozen=True)
class MmaShapes:
    """What the tensor-core instructions of an arch take: M, multiples of `n_step` up to `n_max`, bytes of K."""

    m: tuple[int, ...]
    n_step: int
    n_max: int
    k_bytes: int  # depth of one MMA in bytes of the operand


@dataclass(frozen=True)
class Arch:
    """What one CTA may use. Source: CUDA C++ Programming Guide, compute capabilities; PTX ISA 8.8."""

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
    mma: MmaShapes


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
    """Rates of one GPU, for the prediction; measured on it (H200: copy 4.27 TB/s, 1.5 GHz under its power limit)."""

    name: str
    sms: int
    hertz: float
    flop_per_clock: int  # dense 16-bit, per SM
    l2_bytes_per_clock: float  # per SM
    shared_bytes_per_clock: int  # per SM
    dram_bytes_per_second: float
    launch_seconds: float


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

_ARCHS = {a.name: a for a in (SM90A,)}


def arch(name: str) -> Arch:
    """Return the limits of an architecture by its target name (KeyError when it is not planned for)."""
    return _ARCHS[name]


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
