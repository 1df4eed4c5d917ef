"""Checks of one kernel's shared memory traffic: mbarriers, their transactions, named barriers and bulk copies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from warpwright.build.artifact import Finding
from warpwright.dtypes import dtype
from warpwright.plan.types import Barrier, Copy, KernelPlan

__all__ = ["RULES", "barrier_at", "listed"]

Facts = Mapping[str, Any]
_MBARRIER_BYTES = 8


def _mbarrier_offsets(plan: KernelPlan) -> list[tuple[Barrier, int]]:
    """Each mbarrier of the plan with the offset of its first stage; barriers share a buffer in table order."""
    buffers = {b.name: b.offset for b in plan.buffers if b.space == "shared"}
    result = []
    for barrier in plan.barriers:
        if barrier.kind == "mbarrier" and barrier.buffer in buffers:
            result.append((barrier, buffers[barrier.buffer]))
            buffers[barrier.buffer] += _MBARRIER_BYTES * barrier.stages
    return result


def barrier_at(plan: KernelPlan, offset: int | None) -> Barrier | None:
    """The barrier whose stages cover `offset`, if any."""
    for barrier, start in _mbarrier_offsets(plan):
        if offset is not None and start <= offset < start + _MBARRIER_BYTES * barrier.stages:
            return barrier
    return None


def _mbarriers(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Each stage of each mbarrier is initialised once, where the plan puts it, with the planned arrival count."""
    inits = facts["ptx"]["mbarriers"]
    planned = [b for b in plan.barriers if b.kind == "mbarrier"]
    stages = sum(b.stages for b in planned)
    # Whose place is not constant may be made by several groups of warps, each of which makes its own.
    apart = bool(inits) and not any(i["exact"] for i in inits) and stages % len(inits) == 0
    inits = [*inits] * (stages // len(inits) if apart else 1)
    if len(inits) != stages:
        yield Finding("mbarrier.count", str(stages), str(len(inits)), wrong=True)
    counts = Counter(i["arrivals"] for i in inits)
    expected = Counter[int]()
    for barrier in planned:
        expected[barrier.arrivals] += barrier.stages
    followed = all(i["offset"] is not None and i["exact"] for i in inits)
    if not followed or any(not b.buffer for b in planned):
        if counts != expected:
            yield Finding("mbarrier.arrivals", _counts(expected), _counts(counts), wrong=True)
        return
    at = {i["offset"]: i["arrivals"] for i in inits}
    for barrier, start in _mbarrier_offsets(plan):
        found = [at.pop(start + _MBARRIER_BYTES * stage, "none") for stage in range(barrier.stages)]
        if any(f != barrier.arrivals for f in found):
            yield Finding(f"mbarrier.arrivals[{barrier.name}]", str(barrier.arrivals), listed(found), wrong=True)
    if at:
        yield Finding("mbarrier.offset", "only the barriers of the plan", f"also at offsets {listed(at)}", wrong=True)


def _announces(barrier: Barrier, count: int | None) -> bool:
    """Whether an expect-tx of `count` bytes (None: no constant) is one of the barrier's."""
    if barrier.partial:
        return count is None or 0 < count <= barrier.transaction_bytes
    return count == barrier.transaction_bytes


def _in_parts(plan: KernelPlan, facts: Facts) -> set[int]:
    """Offsets at which several expect-tx, each of which announces too little, make up the bytes of the barrier."""
    parts = dict[int, list[int]]()
    for expect in facts["ptx"]["expect_tx"]:
        barrier = barrier_at(plan, expect["offset"])
        if barrier and not _announces(barrier, expect["bytes"]):
            parts.setdefault(expect["offset"], []).append(expect["bytes"] or 0)
    due = {offset: barrier.transaction_bytes for offset in parts if (barrier := barrier_at(plan, offset))}
    return {offset for offset, made in parts.items() if all(made) and sum(made) == due[offset]}


def _transactions(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Every expect-tx announces the bytes of its barrier, and every barrier that counts bytes has one.

    Bytes that are no constant are right where the last phases may bring fewer. Several that announce parts of a stage's
    bytes are right where they make up the whole.
    """
    missing = {b.name: b for b in plan.barriers if b.kind == "mbarrier" and b.transaction_bytes}
    counting = list(missing.values())
    shared = _in_parts(plan, facts)
    for expect in facts["ptx"]["expect_tx"]:
        barrier = barrier_at(plan, expect["offset"])
        matching = [b for b in ([barrier] if barrier else counting) if _announces(b, expect["bytes"])]
        if not matching and expect["offset"] not in shared:
            name = barrier.name if barrier else "?"
            allowed = {barrier.transaction_bytes} if barrier else {b.transaction_bytes for b in counting}
            found = "no constant" if expect["bytes"] is None else str(expect["bytes"])
            yield Finding(f"expect_tx.bytes[{name}]", listed(sorted(allowed)) or "none", found, wrong=True)
        for known in [barrier] if barrier else matching:
            missing.pop(known.name, None)
    for name, barrier in missing.items():
        yield Finding(f"expect_tx.bytes[{name}]", str(barrier.transaction_bytes), "no expect_tx", wrong=True)


def _named_barriers(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """A named barrier that the plan does not have, or with another thread count; 0 without a count is the whole CTA."""
    threads = {id_: b.arrivals for b in plan.barriers if b.kind == "named" for id_ in b.ids}
    for use in sorted({(u["id"], u["threads"]) for u in facts["ptx"]["named_barriers"]}, key=str):
        id_, count = use
        whole_cta = id_ == 0 and count in (0, plan.threads) and 0 not in threads
        if id_ is None or whole_cta or (id_ in threads and count in (threads[id_], None)):
            continue
        expected = f"{threads[id_]} threads" if id_ in threads else f"ids {listed(sorted(threads))}"
        yield Finding(f"named_barrier[{id_}]", expected, f"{count} threads", wrong=True)


def _run_bytes(copy: Copy) -> int:
    return math.prod(copy.box) * dtype(copy.dtype).bits // 8


def _copies(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Bulk copies per buffer: kind, direction, dimensions, multicast, length, and a multiple of the planned number.

    The length of a copy without a tensor map counts where it is a constant: the last run of a problem may be shorter.
    """
    buffers = {b.name: range(b.offset, b.offset + b.bytes) for b in plan.buffers if b.space == "shared"}
    seen: Counter[int] = Counter()
    for found in facts["ptx"]["copies"]:
        matching = [
            (index, c)
            for index, c in enumerate(plan.copies)
            if (c.kind, c.direction) == (found["kind"], found["direction"])
            and (found["offset"] is None or found["offset"] in buffers.get(c.buffer, ()))
            and (c.direction == "store" or found["multicast"] == (c.multicast > 1))
            and (c.kind == "bulk" or len(c.box) == found["dimensions"])
        ]
        if not matching:
            dimensions = f" {found['dimensions']}d" if found["dimensions"] else ""
            multicast = " multicast" if found["multicast"] else ""
            kind = f"{found['kind']} {found['direction']}{dimensions}{multicast} at {found['offset']}"
            yield Finding("copy.kind", "a copy of the plan", kind, wrong=True)
        lengths = sorted({_run_bytes(c) for _, c in matching})
        if lengths and found["bytes"] not in (None, *lengths):
            name = ", ".join(dict.fromkeys(c.tensor for _, c in matching))
            yield Finding(f"copy.bytes[{name}]", listed(lengths), str(found["bytes"]), wrong=True)
        seen.update(index for index, _ in matching)
    for index, c in enumerate(plan.copies):
        if seen[index] == 0 or seen[index] % c.instructions:
            expected = f"a multiple of {c.instructions} {c.direction}s"
            yield Finding(f"copy.instructions[{c.tensor}]", expected, str(seen[index]), wrong=seen[index] == 0)


def listed(values: Any) -> str:
    return ", ".join(str(v) for v in values)


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{n} x {value}" for value, n in sorted(counts.items(), key=str)) or "none"


RULES = (_mbarriers, _transactions, _named_barriers, _copies)
