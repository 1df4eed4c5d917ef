"""The emulator: runs the PTX of a kernel on the CPU, instruction by instruction, and reports what is wrong with it.

    module = parse(ptx_text)
    memory = GlobalMemory()
    address = memory.add("a", array)                      # "in"; outputs: memory.add("d", array, "out")
    launch = Launch(grid, block, cluster, shared_bytes, params)
    result = run(module, launch, {0: TensorMap(address, extents, strides, box, 2, "128B")}, memory, seed=1)
    for finding in result.findings: print(finding)

`run` may be called any number of times on one module: its translation is kept. Each run wants its own outputs
(`GlobalMemory` counts writes; `unwritten` tells what was left out). Which kinds of finding there are: `KINDS`.

What is modelled: divergence, mbarriers, named and cluster barriers, proxies, TMA with multicast and swizzles, bulk
groups, wgmma with its register rules, setmaxnreg; tcgen05 and tensor memory of Blackwell (docs/emulator.md says how
far; it was never compared with a Blackwell GPU). Not modelled: the order of summation in the tensor core, races
between lanes of one warp (but their order before one lane's arrival is), races on global memory, and caches.

How it works: `ptx` reads the text, `flow` finds blocks and what differs between lanes, `translate` and `writer`
turn blocks into Python functions (`alu`, `convert`: arithmetic; `emit*`: the rest), `machine` schedules `state`'s
fibers through them. `mbarriers`, `barriers`, `fences`, `shared`, `memory`, `tma`, `wgmma`, and for Blackwell
`tensor_memory`, `tensor_copy` and `tcgen05` are what they call, `order` says what is ordered before what, `stuck`
explains hangs. Another arch adds modules beside these, a table of handlers beside `emit_data`'s and `emit_tcgen05`'s,
and its state to `Cta`.

The matrix products are small: set OPENBLAS_NUM_THREADS=1 before numpy is imported, or its threads only spin. These
modules import numpy and ml_dtypes alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import setup
from .findings import KINDS, EmulatorError, Finding, UnsupportedInstruction
from .launch import Launch, Options, Result, TensorMap, split_box
from .machine import Machine
from .memory import GlobalMemory, unwritten
from .ptx import Module, PtxError, parse
from .translate import Program, translate

__all__ = [
    "KINDS", "EmulatorError", "Finding", "GlobalMemory", "Launch", "Module", "Options", "PtxError", "Result",
    "TensorMap", "UnsupportedInstruction", "parse", "program", "run", "split_box", "unwritten",
]  # fmt: skip


def program(module: Module, kernel: str | None = None) -> Program:
    """The translation of one kernel of `module` (the only one, without a name), made once."""
    chosen = module.kernel(kernel)
    if chosen.program is None:
        chosen.program = translate(chosen)
    translated: Program = chosen.program
    return translated


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
    machine = Machine(program(module, kernel), launch, dict(tensor_maps), memory, seed, options or Options())
    setup.check(machine)
    seconds = machine.run()
    statistics = {
        "warp_instructions": machine.instructions,
        "seconds": seconds,
        "events": len(machine.order.events),
        "clocks": max((w.clock for c in machine.clusters for cta in c.ctas for w in cta.warps), default=0),
        "clusters": machine.started,
    }
    return Result(tuple(machine.report.findings), statistics, machine.trace, machine.observed, machine.complete)
