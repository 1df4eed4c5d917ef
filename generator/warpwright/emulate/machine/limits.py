"""What a device would refuse to launch: more than the hardware has, or other than what the kernel was compiled for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from warpwright.archs import LaunchLimits, launch_limits
from warpwright.emulate.machine.findings import EmulatorError

if TYPE_CHECKING:
    from warpwright.emulate.machine.launch import Launch, Options
    from warpwright.emulate.machine.program import Program
    from warpwright.emulate.ptx.syntax import Module

#: Registers are given to warps in steps of this many for each of their threads.
_REGISTER_STEP = 8
#: Bytes of parameters: since PTX ISA 8.1 and compute capability 7.0, and before (PTX ISA, kernel function parameters).
_PARAMETERS, _PARAMETERS_BEFORE = 32_764, 4352
#: Bytes of shared memory that may be resident at once: this machine has to hold them.
_RESIDENT = 16 << 30


def refusals(module: Module, program: Program, launch: Launch, options: Options) -> list[str]:
    """Why the launch would not start on a device, [] where it would: the thing, its value, and what is allowed."""
    found = list(misshapen(launch))
    limits = launch_limits(module.target)
    if limits is not None and not found:
        found += _resources(program, launch, options, limits, module.target)
    kernel = program.kernel
    if kernel.reqntid and kernel.reqntid != launch.block:
        found.append(f"the block is {launch.block}, the kernel is compiled for .reqntid {kernel.reqntid}")
    if kernel.maxntid and launch.threads > kernel.maxntid:
        found.append(f"{launch.threads} threads per block, the kernel is compiled for .maxntid {kernel.maxntid}")
    if kernel.reqnctapercluster and kernel.reqnctapercluster != launch.cluster:
        wanted = kernel.reqnctapercluster
        found.append(f"the cluster is {launch.cluster}, the kernel is compiled for .reqnctapercluster {wanted}")
    size = 0
    for param in kernel.params:
        size = -(-size // max(1, param.align)) * max(1, param.align) + param.bytes
    most = _PARAMETERS if _version(module.version) >= (8, 1) else _PARAMETERS_BEFORE
    if size > most:
        found.append(f"{size} bytes of kernel parameters: a kernel may have {most}")
    return found


def check_resident(program: Program, launch: Launch, options: Options) -> None:
    """EmulatorError where the CTAs that are to be resident do not fit into the memory of the machine that emulates."""
    ctas = prod(launch.grid)
    for clusters in (options.clusters, len(options.only)):
        ctas = min(ctas, clusters * prod(launch.cluster)) if clusters else ctas
    each = 4096 + program.static_bytes + launch.shared_bytes
    if ctas * each > _RESIDENT:
        raise EmulatorError(
            f"{ctas} CTAs at once, each with {each} bytes of memory, are too many to be emulated: make fewer clusters"
            " resident with Options(clusters=...)"
        )


def misshapen(launch: Launch) -> Iterator[str]:
    """What no device takes of a launch's shape."""
    for axis, grid, cluster, block in zip("xyz", launch.grid, launch.cluster, launch.block, strict=True):
        if grid < 1 or cluster < 1 or grid % cluster:
            yield f"grid.{axis} {grid} is not a positive multiple of cluster.{axis} {cluster}"
        if block < 1:
            yield f"block.{axis} is {block}: a block has one thread at least in each direction"


def _resources(program: Program, launch: Launch, options: Options, limits: LaunchLimits, target: str) -> Iterator[str]:
    for what, given, allowed in (("grid", launch.grid, limits.grid), ("block", launch.block, limits.block)):
        for axis, value, most in zip("xyz", given, allowed, strict=True):
            if value > most:
                yield f"{what}.{axis} is {value}: {target} takes at most {most}"
    if launch.threads > limits.threads:
        yield f"{launch.threads} threads per block: {target} takes at most {limits.threads}"
    x, y, z = launch.cluster
    if x * y * z > limits.cluster:
        yield f"{x * y * z} CTAs per cluster: {target} takes at most {limits.cluster}"
    static, dynamic = program.static_bytes, launch.shared_bytes
    if static > limits.static_shared_bytes:
        most = limits.static_shared_bytes
        yield f"{static} bytes of static shared memory: ptxas takes at most {most}, what is more has to be dynamic"
    if static + dynamic > limits.shared_bytes:
        yield (
            f"{static + dynamic} bytes of shared memory per CTA ({dynamic} dynamic, {static} static): {target} has at"
            f" most {limits.shared_bytes}, beside what the system keeps"
        )
    warps, registers = -(-launch.threads // 32), -(-options.entry_registers // _REGISTER_STEP) * _REGISTER_STEP
    if 32 * warps * registers > limits.registers:
        yield (
            f"{launch.threads} threads of {options.entry_registers} registers take {32 * warps * registers}: a CTA may"
            f" have {limits.registers}"
        )


def _version(text: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
