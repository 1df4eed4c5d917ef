"""Control flow of any shape: what each lane computes is what a naive interpreter of that lane alone computes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from tests.emulate.ptx_kit import HEADER, launch, module
from warpwright.emulate import PtxError, parse, program
from warpwright.emulate.ptx.flow import Flow
from warpwright.emulate.units import UNITS

DATA = tuple(range(2, 8))  # the registers that programs compute with, and store at their end
FUEL = 8  # counts the jumps backwards that a lane may still make
BITS = (1 << 32) - 1


# -- each lane by itself ------------------------------------------------------------------------------------------


@dataclass
class Block:
    """Operations (name, result, a, b, guard), and where it goes on: (guard or None, negated, target or None)."""

    operations: list[tuple[str, int, int, int, int]]
    branch: tuple[int | None, bool, int | None] | None  # a target of None leaves the kernel
    backwards: bool = False


def blocks_of(dice: random.Random, endless: bool) -> list[Block]:
    """Random blocks: jumps to anywhere, backwards only while there is fuel unless `endless`."""
    count = dice.randrange(2, 14)
    blocks = []
    for n in range(count):
        operations = []
        for _ in range(dice.randrange(0, 4)):
            name = dice.choice(("add", "xor", "mul", "setp", "setp", "mov", "guarded"))
            result = dice.randrange(1, 4) if name == "setp" else dice.choice(DATA)
            operations.append((name, result, dice.choice(DATA), dice.choice((*DATA, *DATA, 0)), dice.randrange(1, 4)))
        target = dice.choice((None, *range(count), *range(count)))
        kind = dice.choice(("none", "jump", "if", "if", "if", "if"))
        backwards = target is not None and target <= n
        if kind == "jump" and backwards and not endless:
            kind = "if"
        guard = None if kind == "jump" else dice.randrange(1, 4)
        leaves = guard is None and target is None  # without a guard nobody leaves: most programs reach their end
        branch = None if kind == "none" or leaves else (guard, dice.random() < 0.5, target)
        blocks.append(Block(operations, branch, backwards))
    return blocks


def text_of(blocks: list[Block], start: dict[int, int | None], endless: bool) -> str:
    lines = [f" mov.b32 %r{FUEL}, 9;", *(f" setp.gt.u32 %p{p}, %r0, {7 * p};" for p in (1, 2, 3))]
    lines += [f" mov.b32 %r{r}, {'%r0' if value is None else value};" for r, value in start.items()]
    for n, block in enumerate(blocks):
        lines.append(f"B{n}:")
        for name, result, a, b, guard in block.operations:
            lines.append(
                {
                    "add": f" add.s32 %r{result}, %r{a}, %r{b};",
                    "xor": f" xor.b32 %r{result}, %r{a}, %r{b};",
                    "mul": f" mul.lo.s32 %r{result}, %r{a}, 5;",
                    "mov": f" mov.b32 %r{result}, {a};",
                    "setp": f" setp.lt.u32 %p{result}, %r{a}, %r{b};",
                    "guarded": f" @%p{guard} add.s32 %r{result}, %r{a}, 3;",
                }[name]
            )
        if block.branch:
            guard, negated, target = block.branch
            predicate = f"%p{guard}"
            if block.backwards and guard is not None and not endless:
                lines += [f" add.s32 %r{FUEL}, %r{FUEL}, -1;", f" setp.gt.s32 %p4, %r{FUEL}, 0;"]
                lines += [f" {'not.pred' if negated else 'mov.pred'} %p5, {predicate};", " and.pred %p5, %p5, %p4;"]
                predicate, negated = "%p5", False
            at = "" if guard is None else f" @{'!' if negated else ''}{predicate}"
            lines.append(f"{at} ret;" if target is None else f"{at} bra B{target};")
    lines += [" mul.wide.u32 %rd20, %r0, 4;", " add.s64 %rd21, %rd0, %rd20;"]
    lines += [f" st.global.b32 [%rd21+{128 * i}], %r{r};" for i, r in enumerate(DATA)]
    return "\n".join(lines)


def lane_alone(blocks: list[Block], start: dict[int, int | None], lane: int, endless: bool) -> list[int] | None:
    """What one lane leaves: zeros where it returns early, None where it never ends."""
    r = {0: lane, **{n: lane if value is None else value for n, value in start.items()}}
    p = {n: lane > 7 * n for n in (1, 2, 3)}
    fuel, at, steps = 9, 0, 0
    while at < len(blocks):
        steps += 1
        if steps > 3000:
            return None
        block = blocks[at]
        for name, result, a, b, guard in block.operations:
            if name == "setp":
                p[result] = r[a] < r[b]
            elif name != "guarded" or p[guard]:
                value = {"add": r[a] + r[b], "xor": r[a] ^ r[b], "mul": r[a] * 5, "mov": a, "guarded": r[a] + 3}[name]
                r[result] = value & BITS
        at += 1
        if block.branch:
            guard, negated, target = block.branch
            taken = guard is None or p[guard] != negated
            if block.backwards and guard is not None and not endless:
                fuel -= 1
                taken = taken and fuel > 0
            if taken:
                if target is None:
                    return [0] * len(DATA)
                at = target
    return [r[n] for n in DATA]


def random_start(dice: random.Random) -> dict[int, int | None]:
    """What the registers begin with; None is the index of the lane."""
    return {r: dice.choice((None, 1, 7, 20)) for r in DATA}


@pytest.mark.parametrize("seed", range(120))
def test_random_flow_is_right_in_every_lane(seed: int) -> None:
    dice = random.Random(seed)
    blocks, start = blocks_of(dice, False), random_start(dice)
    want = np.array([lane_alone(blocks, start, lane, False) for lane in range(32)], np.uint32).T
    outcome = launch(text_of(blocks, start, False), {"o": np.zeros(32 * len(DATA), np.uint32)}, seed=seed)
    assert outcome.kinds == []
    assert (outcome.arrays["o"].view(np.uint32).reshape(want.shape) == want).all()


@pytest.mark.parametrize("seed", range(40))
def test_a_lane_that_never_ends_is_a_livelock(seed: int) -> None:
    """With jumps backwards that nothing bounds: loops without an exit, entered from several places."""
    dice = random.Random(1000 + seed)
    blocks, start = blocks_of(dice, True), random_start(dice)
    found = [lane_alone(blocks, start, lane, True) for lane in range(32)]
    outcome = launch(text_of(blocks, start, True), {"o": np.zeros(32 * len(DATA), np.uint32)}, seed=seed, budget=4000)
    assert outcome.kinds == (["livelock"] if None in found else [])
    if None not in found:
        want = np.array(found, np.uint32).T
        assert (outcome.arrays["o"].view(np.uint32).reshape(want.shape) == want).all()


def test_what_an_outer_branch_parts_stays_parted_behind_an_inner_join() -> None:
    """Both sides of the inner branch are known to be divergent before the outer branch is: so is where they meet."""
    body = """
 mov.b32 %r3, 0;
 mov.b32 %r4, 0;
 mov.b32 %r2, 0;
 setp.gt.u32 %p2, %r0, 20;
LOOP:
 setp.gt.u32 %p1, %r2, 10;
 @%p1 bra REST;
 @%p2 bra A;
 add.s32 %r4, %r4, 1;
 bra INNER;
A:
 add.s32 %r4, %r4, 2;
INNER:
 add.s32 %r3, %r3, 5;
REST:
 add.s32 %r5, %r5, 1;
 add.s32 %r2, %r0, 0;
 setp.lt.u32 %p3, %r5, 3;
 @%p3 bra LOOP;
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 st.global.b32 [%rd21], %r3;
"""
    outcome = launch(" mov.b32 %r5, 0;\n" + body, {"o": np.zeros(32, np.uint32)})
    assert outcome.arrays["o"].view(np.uint32).tolist() == [15] * 11 + [5] * 21


# -- where lanes meet ---------------------------------------------------------------------------------------------


def structured(
    dice: random.Random, depth: int, labels: Iterator[int], slots: Iterator[int], mask: int
) -> tuple[str, dict[int, int]]:
    """Nested ifs, and the active lanes that each place must see: (text, slot -> mask)."""
    text, want = "", {}
    for _ in range(dice.randrange(1, 3)):
        if depth and mask:
            limit, label = dice.randrange(33), next(labels)
            chosen = mask & ((1 << limit) - 1)
            then, seen = structured(dice, depth - 1, labels, slots, chosen)
            other, more = structured(dice, depth - 1, labels, slots, mask & ~chosen)
            text += f" setp.ge.u32 %p{depth}, %r0, {limit};\n @%p{depth} bra E{label};\n{then} bra J{label};\n"
            text += f"E{label}:\n{other}J{label}:\n"
            want |= seen | more
        slot = next(slots)
        text += f" activemask.b32 %r9;\n st.global.b32 [%rd0+{4 * slot}], %r9;\n"
        want[slot] = mask
    return text, want


@pytest.mark.parametrize("seed", range(25))
def test_lanes_meet_where_the_branch_ends(seed: int) -> None:
    text, want = structured(random.Random(seed), 3, iter(range(1000)), iter(range(1000)), BITS)
    outcome = launch(text, {"o": np.zeros(1000, np.uint32)}, seed=seed)
    got = outcome.arrays["o"].view(np.uint32)
    assert {slot: int(got[slot]) for slot in want} == want


# -- how long it takes --------------------------------------------------------------------------------------------


def shape(kind: str, count: int) -> str:
    """Kernels of `count` branches."""
    test = " setp.gt.u32 %p1, %r0, {i};\n @%p1 bra {to};\n add.s32 %r2, %r2, 1;\n"
    if kind == "nested":
        return "".join(test.format(i=i % 32, to=f"L{i}") for i in range(count)) + "".join(
            f"L{i}:\n add.s32 %r2, %r2, 3;\n" for i in reversed(range(count))
        )
    if kind == "loops":
        return "".join(f"L{i}:\n add.s32 %r2, %r2, 1;\n" for i in range(count)) + "".join(
            test.format(i=i % 32, to=f"L{i}") for i in reversed(range(count))
        )
    if kind == "backwards":  # each register of a chain rests on the next one in the text, and a branch on each
        ends = "".join(f"L{i}:\n" for i in range(count))
        chain = "".join(
            f"M{i}:\n mov.b32 %r{a}, %r{b};\n setp.gt.u32 %p1, %r{a}, 3;\n @%p1 bra L{i};\n"
            for i, a, b in ((i, 2 + i % 390, 2 + (i + 1) % 390) for i in range(count))
        )
        return " mov.b32 %r391, %r0;\nTOP:\n" + chain + ends + " setp.gt.u32 %p2, %r3, 99;\n @%p2 bra TOP;\n"
    to = {"ifs": "L{i}", "exits": "END"}[kind]
    after = "L{i}:\n" if kind == "ifs" else ""
    return "".join(test.format(i=i % 32, to=to.format(i=i)) + after.format(i=i) for i in range(count)) + "END:\n"


@pytest.mark.parametrize("kind", ["ifs", "nested", "loops", "exits", "backwards"])
def test_control_flow_is_near_linear_in_branches(kind: str) -> None:
    seconds = []
    for count in (500, 4000):
        kernel = module(shape(kind, count), 1).kernel()
        best = 9e9
        for _ in range(2):
            started = time.process_time()
            flow = Flow(kernel, UNITS.traits)
            best = min(best, time.process_time() - started)
        seconds.append(best)
        assert len(flow.blocks) > count
    assert seconds[1] < 40 * seconds[0], seconds  # eight times as many: what is quadratic takes 64 times as long


# -- what is no flow ----------------------------------------------------------------------------------------------


def test_blocks_that_nothing_leads_to_change_nothing() -> None:
    body = " mov.b32 %r9, 5;\n bra REST;\nDEAD:\n add.s32 %r9, %r9, %r0;\n @%p1 bra DEAD;\n bra DEAD;\nREST:\n"
    outcome = launch(body + " st.global.b32 [%rd0], %r9;\n", {"o": np.zeros(1, np.uint32)})
    assert outcome.kinds == []
    assert outcome.arrays["o"].view(np.uint32).tolist() == [5]


def test_control_that_runs_off_the_end_is_refused() -> None:
    text = HEADER.format(params="", threads=32, loads="", body=" setp.eq.u32 %p1, %r0, 0;\n @%p1")
    with pytest.raises(PtxError, match="runs off the end"):
        program(parse(text))
