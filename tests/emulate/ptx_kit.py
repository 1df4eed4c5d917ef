"""Small PTX kernels for tests: a body of instructions between a fixed set of registers and an exit."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate import GlobalMemory, Launch, Module, Options, Result, TensorMap, parse, run

HEADER = """
.version 8.8
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry kernel({params})
.reqntid {threads}, 1, 1
{{
 .reg .pred %p<20>;
 .reg .b16 %rs<40>;
 .reg .b32 %r<400>;
 .reg .b64 %rd<60>;
 mov.u32 %r0, %tid.x;
 mov.b32 %r1, smem;
{loads}
{body}
 ret;
}}
"""


@dataclass
class Outcome:
    """The result of a run, and the buffers by name."""

    result: Result
    arrays: dict[str, Any]

    @property
    def kinds(self) -> list[str]:
        return [finding.kind for finding in self.result.findings]

    def message(self, kind: str) -> str:
        return next(f.message for f in self.result.findings if f.kind == kind)


def module(body: str, buffers: int, maps: int = 0, threads: int = 32) -> Module:
    """Buffers come in %rd0, %rd1, ...; tensor maps in %rd50, %rd51, ..."""
    names = [f".param .u64 p{i}" for i in range(buffers)]
    names += [f".param .align 64 .b8 m{i}[128]" for i in range(maps)]
    loads = [f" ld.param.b64 %rd{i}, [p{i}];" for i in range(buffers)]
    loads += [f" mov.b64 %rd{50 + i}, m{i};\n cvta.param.u64 %rd{50 + i}, %rd{50 + i};" for i in range(maps)]
    return parse(HEADER.format(params=", ".join(names), threads=threads, loads="\n".join(loads), body=body))


def launch(
    body: str,
    buffers: Mapping[str, Any] | None = None,
    *,
    threads: int = 32,
    shared: int = 4096,
    cluster: int = 1,
    grid: int = 0,
    maps: Sequence[Any] = (),
    seed: int = 0,
    out: Sequence[str] = (),
    **options: Any,
) -> Outcome:
    """Run `body`. `maps`: functions of the buffers' addresses that give a TensorMap, or the bytes of one, which nobody
    then describes. `out`: outputs, else inout."""
    buffers = buffers or {}
    memory = GlobalMemory()
    addresses = {n: memory.add(n, a, "out" if n in out else "inout") for n, a in buffers.items()}
    made = [make(addresses) for make in maps]
    params = [struct.pack("<Q", a) for a in addresses.values()]
    params += [each if isinstance(each, bytes) else b"\xaa" * 128 for each in made]
    meaning = {len(buffers) + i: each for i, each in enumerate(made) if isinstance(each, TensorMap)}
    grid = grid or cluster
    what = Launch((grid, 1, 1), (threads, 1, 1), (cluster, 1, 1), shared, tuple(params))
    code = module(body, len(buffers), len(maps), threads)
    result = run(code, what, meaning, memory, seed, Options(**options))
    return Outcome(result, {n: b.data for n, b in memory.buffers.items()})


def lanes(body: str, *inputs: Any, result: str = "%r9", threads: int = 32, clean: bool = True) -> Any:
    """Run `body` with one 32-bit input per thread in %r2, %r3, ...; each thread's `result`, as uint32."""
    arrays = {f"i{n}": np.ascontiguousarray(np.broadcast_to(np.asarray(v), threads)) for n, v in enumerate(inputs)}
    arrays["o"] = np.zeros(threads, np.uint32)
    loads = " mul.wide.u32 %rd20, %r0, 4;\n"
    for n in range(len(inputs)):
        loads += f" add.s64 %rd21, %rd{n}, %rd20;\n ld.global.b32 %r{2 + n}, [%rd21];\n"
    store = f" add.s64 %rd21, %rd{len(inputs)}, %rd20;\n st.global.b32 [%rd21], {result};\n"
    outcome = launch(loads + body + store, arrays, threads=threads, out=["o"])
    assert not clean or outcome.kinds == []
    return outcome.arrays["o"].view(np.uint32)


def uniform(body: str, *inputs: Any, result: str = "%r9") -> Any:
    """The same one element at a time, with the inputs in uniform registers: the other code path."""
    count = np.broadcast(*inputs).size
    arrays = {f"i{n}": np.ascontiguousarray(np.broadcast_to(np.asarray(v), count)) for n, v in enumerate(inputs)}
    arrays["o"] = np.zeros(count, np.uint32)
    loop = " mov.b64 %rd20, 0;\nLOOP:\n"
    for n in range(len(inputs)):
        loop += f" add.s64 %rd21, %rd{n}, %rd20;\n ld.global.b32 %r{2 + n}, [%rd21];\n"
    loop += body + f" add.s64 %rd21, %rd{len(inputs)}, %rd20;\n st.global.b32 [%rd21], {result};\n"
    loop += f" add.s64 %rd20, %rd20, 4;\n setp.lt.u64 %p19, %rd20, {4 * count};\n @%p19 bra LOOP;\n"
    outcome = launch(loop, arrays)
    assert outcome.kinds == []
    return outcome.arrays["o"].view(np.uint32)
