"""The emulator: runs the PTX of a kernel on the CPU, instruction by instruction, and reports what is wrong with it.

    module = parse(ptx_text)
    memory = GlobalMemory()
    address = memory.add("a", array)                      # "in"; outputs: memory.add("d", array, "out")
    launch = Launch(grid, block, cluster, shared_bytes, params)
    result = run(module, launch, {0: TensorMap(address, extents, strides, box, 2, "128B")}, memory, seed=1)
    for finding in result.findings: print(finding)

`run` may be called any number of times on one module: its translation is kept. Each run wants its own outputs
(`GlobalMemory` counts writes; `unwritten` tells what was left out). Which kinds of finding there are: `KINDS`.

What is modelled: divergence, barriers of every kind, proxies, copies by the hardware with multicast and swizzles, the
tensor cores of Hopper and Blackwell with the rules of their registers and memory, register reallocation
(docs/emulator.md says how far; it was never compared with a Blackwell GPU). Not modelled: the order of summation in the
tensor core, races between lanes of one warp (but their order before one lane's arrival is), and caches.

How it works, package by package, each of which uses only those before it:

    numbers    what instructions that only compute compute, bit for bit
    ptx        the text: its parts, its reader, its control flow
    machine    memory, warps, the order of accesses, the scheduler, reports
    translate  blocks to Python functions; what a `Unit` is
    units      what the other instructions do, one package for each part of the hardware
    variant    built variants: their problems, operands and launches, and what is made of the findings
    mutants    altered kernels, and whether they are noticed

The packages up to `translate` know no unit. Another instruction is a row in its unit (docs/add_an_instruction.md).

The matrix products are small: set OPENBLAS_NUM_THREADS=1 before numpy is imported, or its threads only spin. These
modules import numpy and ml_dtypes alone.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping

from warpwright.emulate.machine import start
from warpwright.emulate.machine.findings import EmulatorError, Finding, Kind, UnsupportedInstruction
from warpwright.emulate.machine.launch import Launch, Options, Result
from warpwright.emulate.machine.limits import refusals
from warpwright.emulate.machine.memory import GlobalMemory, unwritten
from warpwright.emulate.machine.program import Program
from warpwright.emulate.machine.scheduler import Machine
from warpwright.emulate.ptx.reader import parse
from warpwright.emulate.ptx.syntax import MALFORMED, Module, PtxError
from warpwright.emulate.translate.translator import translate
from warpwright.emulate.units import UNITS
from warpwright.emulate.units.tma.tensor_map import TensorMap, split_box

__all__ = [
    "KINDS", "EmulatorError", "Finding", "GlobalMemory", "Kind", "Launch", "Module", "Options", "PtxError", "Result",
    "TensorMap", "UnsupportedInstruction", "parse", "program", "run", "split_box", "unwritten",
]  # fmt: skip


#: What kinds of finding a run may report.
KINDS = UNITS.kinds
_STATISTICS = ("warp_instructions", "seconds", "events", "clocks", "clusters")


def program(module: Module, kernel: str | None = None) -> Program:
    """The translation of one kernel of `module` (the only one, without a name), made once."""
    chosen = module.kernel(kernel)
    if chosen.program is None:
        chosen.program = translate(chosen, UNITS)
    translated: Program = chosen.program
    return translated


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Nobody looks for cyclic garbage: a run keeps nearly all that it makes until its end, so that searches would walk
    through all of that, again and again, and find nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@_no_collection()
def run(
    module: Module,
    launch: Launch,
    tensor_maps: Mapping[int, TensorMap],
    memory: GlobalMemory,
    seed: int = 0,
    options: Options | None = None,
    kernel: str | None = None,
) -> Result:
    """Run one launch. `tensor_maps` says what the kernel parameters that are tensor maps mean, by their index.

    `seed` draws the order of warps and the latency of copies. Raises `UnsupportedInstruction` (the PTX) and
    `EmulatorError` (the launch); what is wrong with the kernel is in the result's findings.
    """
    translated, options = program(module, kernel), options or Options()
    refused = refusals(module, translated, launch, options)
    if refused:  # a device would not start it either
        return Result(
            tuple(Finding("launch-refused", text) for text in refused), dict.fromkeys(_STATISTICS, 0), complete=False
        )
    machine = Machine(translated, launch, dict(tensor_maps), memory, seed, options)
    start.check(machine)
    try:
        seconds = machine.run()
    except MALFORMED as error:  # what no check has caught: at least it is told where that was
        raise EmulatorError(
            f"{translated.place(error)}: cannot be executed: {type(error).__name__}: {error}"
        ) from error
    statistics = {
        "warp_instructions": machine.instructions,
        "seconds": seconds,
        "events": len(machine.order.events),
        "clocks": max((w.clock for c in machine.clusters for cta in c.ctas for w in cta.warps), default=0),
        "clusters": machine.started,
    }
    result = Result(tuple(machine.report.findings), statistics, machine.trace, machine.observed, machine.complete)
    start.let_go(machine)
    return result
