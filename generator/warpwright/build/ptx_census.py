"""What the PTX of a kernel contains of the things a plan promises: barriers, transactions, TMA, MMA, registers."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from warpwright.build.ptx_values import Statement, Value, Values, statements

__all__ = ["kernel_parameters", "ptx_census", "short_name"]

_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+[\w$]+(?:\[(\d+)\])?")
_WIDTH = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4}


def _entries(ptx: str) -> list[tuple[str, str]]:
    return re.findall(r"\.entry\s+([\w$]+)\s*\((.*?)\)", ptx, re.DOTALL)


def kernel_parameters(ptx: str) -> list[int]:
    """Return the size in bytes of each parameter of the only kernel in `ptx`, in order.

    Raises ValueError where there is no kernel, or more than one.
    """
    entries = _entries(ptx)
    if len(entries) != 1:
        raise ValueError(f"the PTX should hold one kernel, it holds {len(entries)}: {[name for name, _ in entries]}")
    sizes = []
    for _, kind, count in _PARAMETER.findall(entries[0][1]):
        sizes.append(_WIDTH.get(kind, 8) * int(count or 1))
    return sizes


def short_name(opcode: str) -> str:
    """wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 -> wgmma.m64n256k16.f32.f16.f16"""
    return re.sub(r"\.(mma_async|sync|aligned)\b", "", opcode)


def _directive(ptx: str, name: str) -> list[int]:
    match = re.search(rf"^\s*\.{name}\s+([\d, ]+)", ptx, re.MULTILINE)
    return [int(n) for n in match[1].split(",")] if match else []


def _address(value: Value) -> dict[str, Any]:
    """An address in dynamic shared memory: its constant offset, and whether that is all of it."""
    return {"offset": value.shared_offset, "exact": not value.dynamic}


def _tma(statement: Statement, values: Values) -> dict[str, Any]:
    """One bulk tensor copy; `offset` is that of its shared-memory side, `barrier` that of its mbarrier."""
    load = ".global" in statement.opcode.partition(".shared")[2]
    brackets = [o for o in statement.operands if o.startswith("[")]
    dimensions = re.search(r"\.tensor\.(\d)d", statement.opcode)
    found: dict[str, Any] = {
        "direction": "load" if load else "store",
        "dimensions": int(dimensions[1]) if dimensions else 0,
        "multicast": ".multicast" in statement.opcode,
        "reduce": ".reduce." in statement.opcode,
        "offset": values.of(brackets[0 if load else 1]).shared_offset,
    }
    if load:
        found["barrier"] = values.of(brackets[2]).shared_offset
    return found


def ptx_census(ptx: str) -> dict[str, Any]:
    """Return what the one kernel of `ptx` contains, as plain JSON values.

    Offsets are bytes from the base of dynamic shared memory, None where the address cannot be followed; counts of
    instructions are static (a loop body counts once). Numbers that are not constants are None.
    Raises ValueError where there is not exactly one kernel.
    """
    body = statements(ptx)
    values = Values(ptx, body)
    census: dict[str, Any] = {
        "kernel": (_entries(ptx) or [("", "")])[0][0],
        "parameters": kernel_parameters(ptx),
        "threads": _directive(ptx, "reqntid"),
        "min_blocks": next(iter(_directive(ptx, "minnctapersm")), None),
        "mbarriers": [],
        "expect_tx": [],
        "arrives": [],
        "named_barriers": [],
        "tma": [],
    }
    wgmma: Counter[str] = Counter()
    setmaxnreg: dict[str, list[int]] = {"inc": [], "dec": []}
    for s in body:
        op, operands = s.opcode, s.operands
        if op.startswith("mbarrier.init"):
            count = values.of(operands[1]).known
            census["mbarriers"].append({**_address(values.of(operands[0])), "arrivals": count})
        elif op.startswith("mbarrier.") and "expect_tx" in op:
            address = next(o for o in operands if o.startswith("["))
            census["expect_tx"].append({**_address(values.of(address)), "bytes": values.of(operands[-1]).known})
        elif op.startswith("mbarrier.arrive"):
            address = next(o for o in operands if o.startswith("["))
            last = values.of(operands[-1]).known if operands[-1] != address else 1
            remote = "shared::cluster" in op
            census["arrives"].append({**_address(values.of(address)), "count": last, "remote": remote})
        elif op.startswith(("cp.async.bulk.tensor.", "cp.reduce.async.bulk.tensor.")):
            census["tma"].append(_tma(s, values))
        elif op.startswith("wgmma.mma_async"):
            wgmma[short_name(op)] += 1
        elif op.startswith("setmaxnreg."):
            setmaxnreg[op.split(".")[1]].append(int(operands[0]))
        elif re.match(r"(bar|barrier)\.(cta\.)?(sync|arrive|red)", op) and "cluster" not in op:
            threads = values.of(operands[1]).known if len(operands) > 1 else 0
            census["named_barriers"].append({"id": values.of(operands[0]).known, "threads": threads})
    census["wgmma"] = dict(sorted(wgmma.items()))
    for name, prefix in (("wgmma_fences", "wgmma.fence"), ("wgmma_waits", "wgmma.wait_group")):
        census[name] = sum(s.opcode.startswith(prefix) for s in body)
    census["setmaxnreg"] = {kind: sorted(v) for kind, v in setmaxnreg.items()}
    census["cluster_barriers"] = sum(s.opcode.startswith("barrier.cluster.") for s in body)
    census["mbarriers"].sort(key=lambda b: (b["offset"] is None, b["offset"] or 0))
    return census
