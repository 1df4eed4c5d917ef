"""What PTX does with tensor memory (tcgen05), and the work that it takes from the grid (clusterlaunchcontrol)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from warpwright.build.ptx_values import Statement, Values

__all__ = ["launch_control", "tensor_memory"]

_GROUP = re.compile(r"\.cta_group::(\d)")
_MOVE = re.compile(r"tcgen05\.(ld|st)\.(?:red\.)?sync\.aligned\.(\w+)\.(x\d+)(?:\.(pack|unpack)::16b)?")


def cta_group(opcode: str) -> int:
    """The CTAs that an instruction is for: 2 of a pair, 1 of one CTA, 0 where its opcode does not say."""
    match = _GROUP.search(opcode)
    return int(match[1]) if match else 0


def tensor_memory(body: Sequence[Statement], values: Values) -> dict[str, Any]:
    """Return the tcgen05 instructions of a kernel, as plain JSON values; numbers that are no constants are None.

    `moves` counts loads and stores by shape (`ld.32x32b.x32`), `fences`, `waits` and `others` (cp, shift) by their
    words. An MMA's `descriptor` is that of shape and types. An allocation's `offset` is where in shared memory its
    first column is told, a commit's that of the mbarrier; its `mask` has the CTAs that it arrives at.
    """
    census: dict[str, Any] = {"mmas": [], "allocations": [], "permits": [], "frees": [], "commits": []}
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("moves", "fences", "waits", "others")}
    for s in body:
        words = s.opcode.split(".")
        if words[0] != "tcgen05":
            continue
        what, group, move = words[1], cta_group(s.opcode), _MOVE.match(s.opcode)
        if what == "mma":
            descriptor = next((o for o in s.operands[3:] if o[0] not in "[{"), "")
            census["mmas"].append({"opcode": s.opcode, "group": group, "descriptor": _bits(values, descriptor)})
        elif what == "alloc":
            place = values.of(s.operands[0])
            columns = values.of(s.operands[1]).known
            census["allocations"].append({"group": group, "columns": columns, "offset": place.shared_offset})
        elif what == "relinquish_alloc_permit":
            census["permits"].append({"group": group})
        elif what == "dealloc":
            census["frees"].append({"group": group, "columns": values.of(s.operands[1]).known})
        elif what == "commit":
            multicast = "multicast::cluster" in words
            mask = values.of(s.operands[1]).known if multicast else None
            place = values.of(s.operands[0])
            told = {"offset": place.shared_offset, "exact": not place.dynamic}
            census["commits"].append({"group": group, **told, "multicast": multicast, "mask": mask})
        elif move:
            counts["moves"]["{}.{}.{}".format(*move.groups()) + (f".{move[4]}" if move[4] else "")] += 1
        elif what.startswith(("fence", "wait")):
            counts[f"{what.partition('::')[0]}s"][what.partition("::")[2]] += 1
        else:
            counts["others"][".".join(words[1 : 4 if what == "cp" else 3])] += 1
    return census | {name: dict(sorted(found.items())) for name, found in counts.items()}


def _bits(values: Values, operand: str) -> int | None:
    """A 32-bit word as it is read by an instruction."""
    known = values.of(operand).known if operand else None
    return None if known is None else known & 0xFFFFFFFF


def launch_control(body: Sequence[Statement], values: Values) -> list[dict[str, Any]]:
    """Return each request for a cluster that has not been launched: offsets of its response and of its mbarrier."""
    return [
        {
            "response": values.of(s.operands[0]).shared_offset,
            "offset": values.of(s.operands[1]).shared_offset,
            "multicast": ".multicast::cluster::all" in s.opcode,
        }
        for s in body
        if s.opcode.startswith("clusterlaunchcontrol.try_cancel")
    ]
