"""Checks of what one kernel does with tensor memory (Blackwell), and of the SASS that ptxas made of it.

What nvdisasm 13.4 shows for sm_100a, as compiled from each of the instructions: of tcgen05.mma UTCHMMA (kind f16,
tf32), UTCQMMA (f8f6f4, mxf8f6f4), UTCIMMA (i8), UTCOMMA (mxf4, mxf4nvf4), with .4X where a factor is for 16 elements;
of commit UTCBAR, with .MULTICAST; of alloc UTCATOMSWS.FIND_AND_SET.ALIGN, twice, and of dealloc UTCATOMSWS.AND; of ld
LDTM and of st STTM with the shape (nothing for 32x32b, 16dp256bit for 16x256b) and the repetition; of cp UTCCP, of
shift UTCSHIFT; of clusterlaunchcontrol.try_cancel UGETNEXTWORKID.SELFCAST, or .BROADCAST where it is multicast. All but
ld, st and dealloc have .2CTA for cta_group::2, and so has UTMALDG. Of fences, waits and the permit none is left to see.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from warpwright.build.artifact import Finding
from warpwright.build.check_memory import barrier_at, listed
from warpwright.build.mma_descriptor import differing, planned_bits, words
from warpwright.plan.types import KernelPlan, TensorMemory

__all__ = ["RULES"]

Facts = Mapping[str, Any]
#: Hand-overs that MMAs make, by tcgen05.commit: an operand's stage back to who fills it, and sums to the epilogue.
_COMMITTED = ("consumed", "accumulated")
#: Roles of this name issue MMAs, one warp each.
_ISSUES = "consumer"
_RESPONSE_BYTES = 16  # of a request for a cluster that has not been launched
_SHAPES = {"32x32b": "", "16x64b": ".16dp64bit", "16x128b": ".16dp128bit", "16x256b": ".16dp256bit"}
_HALVES = (".16dp32bit_t0_t15", ".16dp32bit_t16_t31")  # of 16x32bx2
_PACKED = {"pack": ".PACK16BIT", "unpack": ".EXPAND16BIT"}
#: Machine instructions that only what is checked here makes.
_OWN = re.compile(r"UTC|LDTM|STTM|UGETNEXTWORKID|UTMALDG.*\.2CTA")
#: What synchronises: without it, results are unreliable.
_SYNCHRONISES = ("UTCBAR", "UTCATOMSWS", "UGETNEXTWORKID")


def _unplanned(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """A kernel whose plan has no tensor memory uses none."""
    used = {o: n for o, n in facts["ptx"]["opcodes"].items() if o.startswith("tcgen05.")}
    if used and plan.tensor_memory is None:
        names = dict.fromkeys(".".join(opcode.split(".")[:2]) for opcode in used)
        yield Finding("tensor_memory", "none", f"{sum(used.values())} instructions: {listed(names)}", wrong=True)


def _allocation(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """One allocation of the planned columns, told in a planned place, one permit given up, and all columns freed."""
    planned, found = plan.tensor_memory, facts["ptx"]["tensor_memory"]
    if planned is None:
        return
    for name, what in (("allocations", "allocated"), ("frees", "freed")):
        wanted = _allocated(planned.columns, planned.ctas)
        told = [_allocated(one["columns"], one["group"]) for one in found[name]]
        if told != [wanted]:
            yield Finding(f"tensor_memory.{what}", wanted, listed(told) or "none", wrong=True)
    groups = [one["group"] for one in found["permits"]]
    if groups != [planned.ctas]:
        told = [f"cta_group::{group}" for group in groups]
        yield Finding("tensor_memory.permit", f"given up once, cta_group::{planned.ctas}", listed(told) or "kept", True)
    for offset in (one["offset"] for one in found["allocations"]):
        inside = any(b.space == "shared" and b.offset <= offset <= b.offset + b.bytes - 4 for b in plan.buffers)
        if offset is not None and not inside:
            yield Finding("tensor_memory.address", "told in a buffer of the plan", f"at offset {offset}", wrong=True)
    for buffer in (b for b in plan.buffers if b.space == "tensor"):
        end = buffer.offset + buffer.bytes
        if buffer.offset < 0 or end > planned.columns:
            held = f"columns {buffer.offset} to {end - 1}"
            yield Finding(f"tensor_memory[{buffer.name}]", f"within {planned.columns} columns", held, wrong=True)
    yield from _one_group(planned, found)


def _allocated(columns: int | None, ctas: int) -> str:
    return f"{'?' if columns is None else columns} columns, cta_group::{ctas}"


def _one_group(planned: TensorMemory, found: Facts) -> Iterator[Finding]:
    """Every MMA and commit is for as many CTAs as the allocation: a kernel may not mix them."""
    for name in ("mmas", "commits"):
        groups = sorted({one["group"] for one in found[name]} - {planned.ctas})
        if groups:
            expected = f"cta_group::{planned.ctas}, as allocated"
            yield Finding(f"tensor_memory.{name}", expected, listed(f"cta_group::{g}" for g in groups), wrong=True)


def _descriptors(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Every instruction descriptor that is a constant is one of the plan, which is of its MMA's shape; each is used.

    Those that are set while a kernel runs are seen by the emulator alone.
    """
    for mma in (mma for mma in plan.mmas if mma.descriptor is not None):
        says = words(mma.descriptor or 0, mma.instruction)
        if (says["M"], says["N"]) != (str(mma.m), str(mma.n)):
            yield Finding("mma.shape", f"{mma.m} x {mma.n}", f"{says['M']} x {says['N']}", wrong=True)
    for instruction in dict.fromkeys(mma.instruction for mma in plan.mmas):
        planned = {mma.descriptor for mma in plan.mmas if mma.instruction == instruction}
        issued = [one["descriptor"] for one in facts["ptx"]["tensor_memory"]["mmas"] if one["opcode"] == instruction]
        known = [None if one is None else planned_bits(one, instruction) for one in issued]
        if None in planned:
            continue
        left = set[int | None](planned)
        for descriptor in dict.fromkeys(known):
            if descriptor is not None and descriptor not in planned:
                nearest = min(planned, key=lambda one: (one or 0) ^ descriptor)
                yield Finding("mma.descriptor", *differing(nearest or 0, descriptor, instruction), wrong=True)
            left.discard(descriptor)
        if left and known and not set(known) - planned:
            told = listed(f"{one:#x}" for one in sorted(each or 0 for each in left))
            yield Finding("mma.descriptor", f"one MMA at least with {told}", "none", wrong=True)


def _commits(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """What MMAs hand over is committed to its barrier and to no other, in every CTA that waits for it."""
    planned = plan.tensor_memory
    if planned is None:
        return
    names = sorted(b.name for b in plan.barriers if b.kind == "mbarrier" and b.name in _COMMITTED)
    commits = facts["ptx"]["tensor_memory"]["commits"]
    shared = planned.ctas > 1 or any(c.multicast > 1 for c in plan.copies if c.direction == "load")
    wanted = {name: planned.ctas > 1 if name == "accumulated" else shared for name in names}
    missing = set(names)
    for commit in commits:
        barrier = barrier_at(plan, commit["offset"])
        if not _followed(plan, commit):
            missing.clear()  # it may be any of them
            if names and commit["multicast"] not in wanted.values():
                yield _reaches("commit.multicast", wanted[names[0]])
        elif barrier is None or (names and barrier.name not in names):
            found = barrier.name if barrier else f"one at offset {commit['offset']}"
            yield Finding("commit.barrier", listed(names) or "an mbarrier of the plan", found, wrong=True)
        elif names:
            missing.discard(barrier.name)
            if commit["multicast"] != wanted[barrier.name]:
                yield _reaches(f"commit.multicast[{barrier.name}]", wanted[barrier.name])
            elif barrier.name == "accumulated" and commit["mask"] and commit["mask"].bit_count() != planned.ctas:
                told = f"{commit['mask'].bit_count()} CTAs"
                yield Finding(f"commit.mask[{barrier.name}]", f"{planned.ctas} CTAs", told, wrong=True)
    if len(commits) < len(names) and not missing:
        yield Finding("commit.barrier", f"a commit to each of {listed(names)}", f"{len(commits)} commits", wrong=True)
    for name in sorted(missing):
        yield Finding(f"commit.barrier[{name}]", "a commit", "none", wrong=True)


def _followed(plan: KernelPlan, commit: Facts) -> bool:
    """Whether a commit's barrier is known. Where several warps issue MMAs, each with barriers of its own, the constant
    part of an address lies as far before them as the first of these warps has warps before it."""
    several = sum(role.name.split()[0] == _ISSUES for role in plan.roles) > 1
    return commit["offset"] is not None and (commit["exact"] or not several)


def _reaches(rule: str, wanted: bool) -> Finding:
    several = "several CTAs", "its own CTA alone"
    return Finding(rule, several[not wanted], several[wanted], wrong=True)


def _pairs(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """What is loaded for a pair completes on the leader's barrier, whichever CTA loads it, and nothing else does; both
    CTAs arrive there."""
    for arrival in facts["ptx"]["arrives"]:
        barrier = barrier_at(plan, arrival["offset"])
        if barrier is not None and barrier.pair and not arrival["remote"]:
            yield Finding(f"arrive[{barrier.name}]", "at the leader's barrier", "at each CTA's own", wrong=True)
    for copy in facts["ptx"]["copies"]:
        barrier = barrier_at(plan, copy["mbarrier"])
        both = copy["group"] == 2
        if copy["direction"] == "load" and barrier is not None and both != barrier.pair:
            ways = "cta_group::2, on the leader's barrier", "on the barrier of the CTA that loads"
            yield Finding(f"copy.group[{barrier.name}]", ways[not barrier.pair], ways[not both], wrong=True)


def _launch_control(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Requests for a cluster that has not been launched: answered in a buffer of the plan, on a barrier of 16 bytes."""
    several = math.prod(plan.cluster) > 1
    buffers = [range(b.offset, b.offset + b.bytes) for b in plan.buffers if b.space == "shared"]
    for request in facts["ptx"]["launch_control"]:
        barrier = barrier_at(plan, request["offset"])
        known = request["offset"] is not None
        if known and (barrier is None or barrier.transaction_bytes != _RESPONSE_BYTES):
            found = f"{barrier.name}, of {barrier.transaction_bytes} B" if barrier else f"at {request['offset']}"
            yield Finding("launch_control.barrier", f"a barrier of {_RESPONSE_BYTES} B", found, wrong=True)
        response = request["response"]
        if response is not None and not any(response in each for each in buffers):
            yield Finding("launch_control.response", "in a buffer of the plan", f"at offset {response}", wrong=True)
        if request["multicast"] != several:
            told = "every CTA of the cluster", "the CTA that asks"
            yield Finding("launch_control.multicast", told[not several], told[several], wrong=True)


def _kept(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """The SASS has at least what the PTX asks for, and no other kind of it. Loops may be unrolled: more is right."""
    asked, found = _asked(plan, facts["ptx"]), Counter[str]()
    for opcode, number in facts["sass"]["opcodes"].items():
        if _OWN.match(opcode):
            found[_named(opcode)] += number
    planned = {mma.sass for mma in plan.mmas}
    for name in sorted({*asked, *found}):
        if name not in asked and name in {*planned, *facts["sass"]["mmas"]}:
            continue  # told by the rule of MMAs
        if found[name] < asked[name] or not asked[name]:
            few = f"at least {asked[name]}, as in the PTX" if asked[name] else "none, as in the PTX"
            yield Finding(f"sass.kept[{name}]", few, str(found[name]), wrong=name.startswith(_SYNCHRONISES))


def _named(opcode: str) -> str:
    """An opcode of SASS without what says nothing here."""
    first, *words = opcode.split(".")
    both = ".2CTA" if "2CTA" in words else ""
    if first in ("UTCCP", "UTCSHIFT", "UTMALDG"):
        return first + both
    return opcode if not first.endswith("MMA") else first + "".join(f".{w}" for w in words if w[0].isdigit())


def _asked(plan: KernelPlan, ptx: Facts) -> Counter[str]:
    """What the PTX asks for, in the machine's words."""
    tensor, asked = ptx["tensor_memory"], Counter[str]()

    def add(name: str, group: int, number: int = 1, rest: str = "") -> None:
        asked[name + (".2CTA" if group == 2 else "") + rest] += number

    for instruction, sass in dict.fromkeys((mma.instruction, mma.sass) for mma in plan.mmas):
        if instruction.startswith("tcgen05."):
            add(sass, 0, ptx["mmas"].get(instruction, 0))
    for commit in tensor["commits"]:
        add("UTCBAR", commit["group"], rest=".MULTICAST" * commit["multicast"])
    for allocation in tensor["allocations"]:
        add("UTCATOMSWS", allocation["group"], 2, ".FIND_AND_SET.ALIGN")
    add("UTCATOMSWS.AND", 0, len(tensor["frees"]))
    for move, number in tensor["moves"].items():
        way, shape, times, *packed = move.split(".")
        for part in _HALVES if shape == "16x32bx2" else (_SHAPES[shape],):
            rest = ("" if times == "x1" else f".{times}") + "".join(_PACKED[word] for word in packed)
            add({"ld": "LDTM", "st": "STTM"}[way] + part, 0, number, rest)
    for other, number in tensor["others"].items():
        add({"cp": "UTCCP", "shift": "UTCSHIFT"}[other.split(".")[0]], 2 * ("cta_group::2" in other), number)
    for copy in ptx["copies"]:
        if copy["group"] == 2:
            add("UTMALDG", 2)
    for request in ptx["launch_control"]:
        add("UGETNEXTWORKID", 0, rest=".BROADCAST" if request["multicast"] else ".SELFCAST")
    return +asked


RULES = (_unplanned, _allocation, _descriptors, _commits, _pairs, _launch_control, _kept)
