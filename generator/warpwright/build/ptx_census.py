"""What the PTX of each kernel contains of what a plan promises: barriers, transactions, copies, MMAs, registers."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from warpwright.build.ptx_tensor_memory import cta_group, launch_control, tensor_memory
from warpwright.build.ptx_values import Statement, Value, Values, statements

__all__ = ["is_mma", "kernel_parameters", "ptx_census"]

_ENTRY = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern)\s+)?\.entry\s+([\w$]+)\s*\((.*?)\)", re.DOTALL | re.MULTILINE)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+[\w$]+(?:\[(\d+)\])?")
_WIDTH = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4}
_MMA = re.compile(r"(^|\.)mma(_\w+)?(\.|$)")
_BULK = re.compile(r"cp\.(reduce\.)?async\.bulk\.(tensor\.|shared|global)")


def _entries(ptx: str) -> list[tuple[str, str, str]]:
    """Return name, parameter list and text of each kernel; the text begins with what the module declares for all."""
    found = list(_ENTRY.finditer(ptx))
    if not found:
        raise ValueError("the PTX holds no kernel")
    ends = [match.start() for match in found[1:]] + [len(ptx)]
    head = ptx[: found[0].start()]
    return [(m[1], m[2], head + ptx[m.start() : end]) for m, end in zip(found, ends, strict=True)]


def kernel_parameters(ptx: str) -> dict[str, list[int]]:
    """Return the size in bytes of each parameter, in order, of each kernel in `ptx` by its compiled name.

    Raises ValueError where there is no kernel.
    """
    return {name: _sizes(parameters) for name, parameters, _ in _entries(ptx)}


def _sizes(parameters: str) -> list[int]:
    return [_WIDTH.get(kind, 8) * int(count or 1) for _, kind, count in _PARAMETER.findall(parameters)]


def is_mma(opcode: str) -> bool:
    """Whether a PTX opcode is one of the matrix products, of any generation: `mma` is a word of all of them."""
    return _MMA.search(opcode) is not None


def _directive(ptx: str, name: str) -> list[int]:
    match = re.search(rf"^\s*\.{name}\s+([\d, ]+)", ptx, re.MULTILINE)
    return [int(n) for n in match[1].split(",")] if match else []


def _address(value: Value) -> dict[str, Any]:
    """An address in dynamic shared memory: its constant offset, and whether that is all of it."""
    return {"offset": value.shared_offset, "exact": not value.dynamic}


def _copy(statement: Statement, values: Values) -> dict[str, Any]:
    """One bulk copy; `offset` is that of its shared-memory side, `mbarrier` that of what a load completes on, `bytes`
    of a run without a tensor map, `group` 2 where it may complete on the mbarrier of the other CTA of a pair.

    Directions are load (from global memory), store (to it) and peer (to another CTA's shared memory).
    """
    target, _, source = statement.opcode.partition(".shared")
    direction = "store" if ".global" in target else "load" if ".global" in source else "peer"
    brackets = [o for o in statement.operands if o.startswith("[")]
    dimensions = re.search(r"\.tensor\.(\d)d", statement.opcode)
    after = statement.operands.index(brackets[1]) + 1
    signal = values.of(brackets[2]).shared_offset if len(brackets) > 2 and direction != "store" else None
    return {
        "kind": "tensor" if dimensions else "bulk",
        "direction": direction,
        "dimensions": int(dimensions[1]) if dimensions else 0,
        "bytes": None if dimensions else values.of(statement.operands[after]).known,
        "multicast": ".multicast" in statement.opcode,
        "reduce": ".reduce." in statement.opcode,
        "offset": values.of(brackets[1 if direction == "store" else 0]).shared_offset,
        "mbarrier": signal,
        "group": cta_group(statement.opcode),
    }


def ptx_census(ptx: str) -> dict[str, dict[str, Any]]:
    """Return what each kernel of `ptx` contains, by compiled name in order, as plain JSON values.

    Offsets are bytes from the base of dynamic shared memory, None where the address cannot be followed; counts of
    instructions are static (a loop body counts once). Numbers that are not constants are None.
    Raises ValueError where there is no kernel.
    """
    return {name: _census(text, parameters) for name, parameters, text in _entries(ptx)}


def _census(ptx: str, parameters: str) -> dict[str, Any]:
    body = statements(ptx)
    values = Values(ptx, body)
    opcodes = Counter(s.opcode for s in body)
    census: dict[str, Any] = {
        "parameters": _sizes(parameters),
        "threads": _directive(ptx, "reqntid"),
        "min_blocks": next(iter(_directive(ptx, "minnctapersm")), None),
        "opcodes": dict(sorted(opcodes.items())),
        "mmas": {opcode: number for opcode, number in sorted(opcodes.items()) if is_mma(opcode)},
        "mbarriers": [],
        "expect_tx": [],
        "arrives": [],
        "named_barriers": [],
        "copies": [],
        "tensor_memory": tensor_memory(body, values),
        "launch_control": launch_control(body, values),
    }
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
        elif _BULK.match(op):
            census["copies"].append(_copy(s, values))
        elif op.startswith("setmaxnreg."):
            setmaxnreg[op.split(".")[1]].append(int(operands[0]))
        elif re.match(r"(bar|barrier)\.(cta\.)?(sync|arrive|red)", op) and "cluster" not in op:
            threads = values.of(operands[1]).known if len(operands) > 1 else 0
            census["named_barriers"].append({"id": values.of(operands[0]).known, "threads": threads})
    census["setmaxnreg"] = {kind: sorted(v) for kind, v in setmaxnreg.items()}
    census["mbarriers"].sort(key=lambda b: (b["offset"] is None, b["offset"] or 0))
    return census
