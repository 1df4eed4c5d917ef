"""GEMMs of every format, by the hundred: one scale or element altered is found, and plans of any shape are kernels.

On a failure the message has the seed of the case, which repeats it alone: ATTACK_ONE=seed.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from tests.families.gemm.formats import GEMM, XP, computed_by, drawn, format_plan, judged
from tests.plan.tensor_space import point
from warpwright.device.held import atoms, modes_of, numbers
from warpwright.dtypes import SCALED, dtype
from warpwright.families.products.problems import multiplication
from warpwright.plan import plan
from warpwright.render import render

FIRST = int(os.environ.get("ATTACK_SEED", "0"))
ONE = os.environ.get("ATTACK_ONE")
CASES, PLANS = 300, 400
PAIRS = [("tf32", "tf32"), ("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("i8", "i8")]
PAIRS += [("mxf8_e4m3", "mxf8_e4m3"), ("mxf8_e5m2", "mxf8_e4m3"), ("mxf4", "mxf4"), ("nvf4", "nvf4")]


def seeds(number: int) -> list[int]:
    return [int(ONE)] if ONE else [FIRST * 10_000 + at for at in range(number)]


def altered(seed: int) -> str:
    """What is wrong with what is found of a kernel that takes one number for another; "" if nothing."""
    rng = random.Random(seed)
    a, b = rng.choice(PAIRS)
    plan = format_plan(a, b, "i32" if a == "i8" and rng.random() < 0.5 else "f32")
    m, n, k = rng.randint(1, 150), rng.randint(1, 150), 2 * rng.randint(1, 150)
    problem = multiplication("p", m, n, k, rng.randint(1, 2), fill="integer")
    held = drawn(plan, problem)
    right = judged(plan, problem, held, computed_by(plan, held))
    if right.wrong:
        return f"a right kernel of {a}, {b} is wrong on {problem}: {right}"
    argument = rng.choice([x for x in plan.arguments if x.name in ("a", "b", "sfa", "sfb")])
    values = numbers(XP, argument, held[argument.name])
    extents = {**problem.extents, "K": -(-k // argument.block) if argument.block else k}
    at = tuple(rng.randrange(extents[mode.partition("/")[0]]) for mode in modes_of(argument))
    changed = values.copy()
    changed[at] = rng.choice(
        [x for x in (1.0, 2.0, 4.0, -1.0, -2.0, 0.0) if x != values[at] and (x > 0 or not argument.block)]
    )
    other = dict(held)
    bits = XP.encode(changed, argument.dtype)
    if argument.block:
        other[argument.name] = atoms(XP, bits, 0)
    elif dtype(argument.dtype).bits < 8:
        low, high = (bits[..., i::2] if argument.name == "a" else bits[:, i::2] for i in (0, 1))
        other[argument.name] = (low + 16 * high.astype(np.int16)).astype(np.uint8).view(np.int8)
    else:
        other[argument.name] = bits
    exact, spoiled = computed_by(plan, held), computed_by(plan, other)
    due = int(np.count_nonzero(exact != spoiled))
    found = judged(plan, problem, held, spoiled).wrong
    return "" if found == due else f"{found} of {due} are found, {argument.name}{at} of {a}, {b} on {problem}"


def test_one_number_for_another_is_found_wherever_it_matters() -> None:
    for seed in seeds(CASES):
        told = altered(seed)
        assert not told, f"ATTACK_ONE={seed}: {told}"


def test_plans_of_any_format_are_kernels() -> None:
    """Legal ones render to Python that compiles, with the bytes of their stages in the barrier and in their copies."""
    legal = 0
    for seed in seeds(PLANS):
        rng = random.Random(seed)
        a, b = rng.choice(PAIRS)
        majors = ("k", "k") if a in ("mxf4", "nvf4") else (rng.choice("mk"), rng.choice("nk"))
        group = rng.choice((1, 2))
        changes = {
            "kernel.a.dtype": a,
            "kernel.a.major": majors[0],
            "kernel.b.dtype": b,
            "kernel.b.major": majors[1],
            "kernel.accumulator": "i32" if a == "i8" else "f32",
            "kernel.d.dtype": rng.choice(("f16", "bf16", "f32")),
            "design.tile": {"m": 128, "n": rng.choice((32, 64, 128, 256)), "k": rng.choice((32, 64, 128, 256))},
            "design.cta_group": group,
            "design.cluster": {"m": group * rng.choice((1, 2)), "n": rng.choice((1, 2))},
            "design.scheduler.kind": rng.choice(("persistent", "dynamic", "one_tile")),
            "design.store": rng.choice(("tma", "direct")),
        }
        found = plan(point(changes))
        if not found.legal:
            assert all(violation.nearest for violation in found.violations), seed
            continue
        legal += 1
        compile(render(found), f"ATTACK_ONE={seed}", "exec", dont_inherit=True)
        loaded = next(barrier for barrier in found.main.barriers if barrier.name == "loaded")
        buffers = {buffer.name: buffer for buffer in found.main.buffers}
        stage = sum(buffers[name].bytes // found.design.stages for name in ("a", "b", "sfa", "sfb") if name in buffers)
        assert loaded.transaction_bytes == group * stage, f"ATTACK_ONE={seed}"
        assert ("sfa" in buffers) == (a in SCALED), f"ATTACK_ONE={seed}"
    assert ONE or legal > PLANS // 4


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_every_problem_of_a_format_is_drawn_within_it(a: str, b: str) -> None:
    """Whatever is put into operands, each format holds it: what is read back is what was drawn."""
    plan = format_plan(a, b)
    for seed in seeds(12):
        for fill in ("normal", "integer", "nonfinite", "extreme"):
            problem = multiplication(f"p{seed}", 33, 40, 66, 2, fill=fill)  # type: ignore[arg-type]
            for argument in plan.arguments:
                if argument.kind == "scalar" or argument.role != "input":
                    continue
                values = numbers(XP, argument, GEMM.inputs(XP, plan, argument, problem, seed))
                again = XP.decode(XP.encode(values, argument.dtype), argument.dtype)
                np.testing.assert_array_equal(values, again, f"ATTACK_SEED={FIRST}: {fill} of {argument.name}")
