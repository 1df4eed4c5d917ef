"""Limits and rates of the architectures that are planned for: the only place where these numbers stand."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["H200", "SM90A", "Arch", "Device", "MmaShapes", "arch"]


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
