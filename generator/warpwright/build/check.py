"""Compares what was read off a built kernel with what its plan says; each difference is one finding.

Pure functions of a plan and of the facts that the build worker extracted. Static instruction counts are compared as
multiples, since a loop may be unrolled or its first iteration peeled; everything else is compared exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from warpwright.build.artifact import Finding
from warpwright.build.ptx_census import short_name
from warpwright.plan.types import Barrier, Plan

__all__ = ["check", "verdict"]

Facts = Mapping[str, Any]
_MBARRIER_BYTES = 8


def check(plan: Plan, facts: Facts) -> tuple[Finding, ...]:
    """Return every place where `facts` (see worker.py) contradict `plan`, in a stable order."""
    found: list[Finding] = []
    for rule in (_launch, _mbarriers, _transactions, _named_barriers, _tma, _mma, _registers, _resources):
        found += rule(plan, facts)
    return tuple(found)


def verdict(findings: tuple[Finding, ...]) -> str | None:
    """Return the status that findings amount to: incorrect, degraded or None."""
    if any(f.wrong for f in findings):
        return "incorrect"
    return "degraded" if findings else None


def _launch(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Block, cluster and dynamic shared memory of the captured launch; block size compiled into the kernel."""
    launch = facts["launch"]
    if "error" in launch:
        yield Finding("launch.captured", "the host code launches a small problem", launch["error"], wrong=True)
        return
    if launch["block"] != [plan.threads, 1, 1]:
        yield Finding("launch.block", str([plan.threads, 1, 1]), str(launch["block"]), wrong=True)
    if facts["ptx"]["threads"] and facts["ptx"]["threads"][0] != plan.threads:
        yield Finding("launch.reqntid", str(plan.threads), str(facts["ptx"]["threads"][0]), wrong=True)
    if launch["cluster"] != [*plan.cluster, 1]:
        yield Finding("launch.cluster", str([*plan.cluster, 1]), str(launch["cluster"]), wrong=True)
    total = launch["shared_bytes"] + facts["static_shared_bytes"]
    if total != plan.shared_bytes:
        parts = f"{total} B ({launch['shared_bytes']} dynamic, {facts['static_shared_bytes']} static)"
        yield Finding("launch.shared_bytes", f"{plan.shared_bytes} B", parts)


def _mbarrier_offsets(plan: Plan) -> list[tuple[Barrier, int]]:
    """Each mbarrier of the plan with the offset of its first stage; barriers share a buffer in table order."""
    buffers = {b.name: b.offset for b in plan.buffers}
    result = []
    for barrier in plan.barriers:
        if barrier.kind == "mbarrier" and barrier.buffer in buffers:
            result.append((barrier, buffers[barrier.buffer]))
            buffers[barrier.buffer] += _MBARRIER_BYTES * barrier.stages
    return result


def _at(plan: Plan, offset: int | None) -> Barrier | None:
    """The barrier whose stages cover `offset`, if any."""
    for barrier, start in _mbarrier_offsets(plan):
        if offset is not None and start <= offset < start + _MBARRIER_BYTES * barrier.stages:
            return barrier
    return None


def _mbarriers(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Each stage of each mbarrier is initialised once, where the plan puts it, with the planned arrival count."""
    inits = facts["ptx"]["mbarriers"]
    planned = [b for b in plan.barriers if b.kind == "mbarrier"]
    stages = sum(b.stages for b in planned)
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
            yield Finding(f"mbarrier.arrivals[{barrier.name}]", str(barrier.arrivals), _list(found), wrong=True)
    if at:
        yield Finding("mbarrier.offset", "only the barriers of the plan", f"also at offsets {_list(at)}", wrong=True)


def _transactions(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Every expect-tx announces the bytes of its barrier, and every barrier that counts bytes has one."""
    missing = {b.name: b for b in plan.barriers if b.kind == "mbarrier" and b.transaction_bytes}
    all_bytes = {b.transaction_bytes for b in missing.values()}
    for expect in facts["ptx"]["expect_tx"]:
        barrier = _at(plan, expect["offset"])
        allowed = {barrier.transaction_bytes} if barrier else all_bytes
        name = barrier.name if barrier else "?"
        if expect["bytes"] not in allowed:
            yield Finding(f"expect_tx.bytes[{name}]", _list(sorted(allowed)), str(expect["bytes"]), wrong=True)
        for known in [b for b in missing.values() if b is barrier or (not barrier and b.transaction_bytes in allowed)]:
            missing.pop(known.name)
    for name, barrier in missing.items():
        yield Finding(f"expect_tx.bytes[{name}]", str(barrier.transaction_bytes), "no expect_tx", wrong=True)


def _named_barriers(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """A named barrier that the plan does not have, or with another thread count; 0 without a count is the whole CTA."""
    threads = {id_: b.arrivals for b in plan.barriers if b.kind == "named" for id_ in b.ids}
    for use in sorted({(u["id"], u["threads"]) for u in facts["ptx"]["named_barriers"]}, key=str):
        id_, count = use
        whole_cta = id_ == 0 and count in (0, plan.threads) and 0 not in threads
        if id_ is None or whole_cta or (id_ in threads and count in (threads[id_], None)):
            continue
        expected = f"{threads[id_]} threads" if id_ in threads else f"ids {_list(sorted(threads))}"
        yield Finding(f"named_barrier[{id_}]", expected, f"{count} threads", wrong=True)


def _tma(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Bulk tensor copies per buffer: direction, dimensions, multicast, and a multiple of the planned number."""
    buffers = {b.name: range(b.offset, b.offset + b.bytes) for b in plan.buffers}
    seen: Counter[tuple[str, int]] = Counter()
    for copy in facts["ptx"]["tma"]:
        multicast = copy["multicast"]
        names = [
            t.tensor
            for t in plan.tma
            if t.direction == copy["direction"]
            and (copy["offset"] is None or copy["offset"] in buffers.get(t.buffer, ()))
            and (copy["direction"] == "store" or multicast == (t.multicast > 1))
            and len(t.box) == copy["dimensions"]
        ]
        if not names:
            kind = f"{copy['direction']} {copy['dimensions']}d{' multicast' if multicast else ''} at {copy['offset']}"
            yield Finding("tma.kind", "a copy of the plan", kind, wrong=True)
        for name in names:
            seen[name, copy["direction"] == "load"] += 1
    for t in plan.tma:
        number = seen[t.tensor, t.direction == "load"]
        if number == 0 or number % t.instructions:
            expected = f"a multiple of {t.instructions} {t.direction}s"
            yield Finding(f"tma.instructions[{t.tensor}]", expected, str(number), wrong=number == 0)


def _mma(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """The planned MMA and no other, in PTX and in SASS; no fence or wait that ptxas had to add between MMAs.

    It adds them where accumulators are touched while MMAs are in flight, and so serialises the MMAs (C7510, C7517).
    """
    planned = short_name(plan.mma.instruction)
    for instruction, number in facts["ptx"]["wgmma"].items():
        if instruction != planned:
            yield Finding("mma.ptx", planned, instruction)
        elif number % plan.mma.per_k_tile:
            yield Finding("mma.per_k_tile", f"a multiple of {plan.mma.per_k_tile}", str(number))
    shape = f"{plan.mma.m}x{plan.mma.n}x{plan.mma.k}"
    if set(facts["sass"]["hgmma"]) != {shape}:
        yield Finding("mma.sass", shape, _list(facts["sass"]["hgmma"]) or "none", wrong=not facts["sass"]["hgmma"])
    for ptx, sass in (("wgmma_fences", "wgmma_arrives"), ("wgmma_waits", "wgmma_waits")):
        if facts["sass"][sass] > facts["ptx"][ptx]:
            yield Finding(f"mma.{ptx}", f"{facts['ptx'][ptx]}, as in the PTX", f"{facts['sass'][sass]} in the SASS")


def _registers(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Registers at launch within the plan's bound; reallocations as planned in PTX and kept in SASS."""
    if facts["registers"] > plan.entry_registers:
        yield Finding("registers.entry", f"at most {plan.entry_registers}", str(facts["registers"]))
    planned = {r.registers for r in plan.roles if r.registers is not None}
    for level in ("ptx", "sass"):
        found = facts[level]["setmaxnreg"]
        values = set(found["inc"]) | set(found["dec"])
        if values != planned:
            yield Finding(f"setmaxnreg.{level}", _list(sorted(planned)) or "none", _list(sorted(values)) or "none")


def _resources(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """No spills and no stack."""
    if facts["sass"]["local_bytes"]:
        yield Finding("spills", "0 B", f"{facts['sass']['local_bytes']} B")
    if facts["stack_bytes"]:
        yield Finding("stack", "0 B", f"{facts['stack_bytes']} B")


def _list(values: Any) -> str:
    return ", ".join(str(v) for v in values)


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{n} x {value}" for value, n in sorted(counts.items(), key=str))
