"""The rules of gemm on sm_100a at their boundaries, as tests/plan/test_rules.py has those of sm_90a."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.plan import space
from tests.plan.boundaries import (
    WITH_C,
    Case,
    at,
    broken,
    cluster,
    holds_with_the_nearest,
    is_told,
    near,
    number,
    value,
)
from tests.plan.tensor_space import any_point, likely_point, model, point
from warpwright.plan import plan, rules

PAIR = {"design.cta_group": 2, **cluster(2, 1)}
TWO = {"design.tile.m": 256}
SMALL = {"design.tile": {"m": 128, "n": 32, "k": 32}}


def pairs(m: int, n: int) -> dict[str, Any]:
    return {"design.cta_group": 2, **cluster(m, n)}


def operands(a: str, b: str, /, **majors: str) -> dict[str, Any]:
    changes: dict[str, Any] = {"kernel.a.dtype": a, "kernel.b.dtype": b}
    return changes | {f"kernel.{name}.major": major for name, major in majors.items()}


SCALED = {**operands("mxf8_e4m3", "mxf8_e4m3"), "design.tile.k": 128}

CASES = [
    Case(
        "operand.pair",
        [operands("bf16", "bf16"), operands("e4m3", "e5m2"), operands("e5m2", "e4m3")],
        [(operands("bf16", "f16"), "bf16"), (operands("f16", "bf16"), "f16"), (operands("e4m3", "f16"), "e4m3")],
        value("kernel.b.dtype"),
    ),
    Case(
        "warps.consumer",
        [*at("design.consumer_warps", "auto", 1), {**TWO, "design.consumer_warps": 2}],
        [
            *near("design.consumer_warps", {2: 1, 4: 1, 10**9: 1}),
            ({**TWO, "design.consumer_warps": 1}, "2"),
            ({**TWO, "design.consumer_warps": 3}, "2"),
        ],
        number("design.consumer_warps"),
    ),
    Case(
        "warps.producer",
        at("design.producer_warps", 1),
        near("design.producer_warps", {2: 1, 10**9: 1}),
        number("design.producer_warps"),
    ),
    Case(
        "warps.epilogue",
        [*at("design.epilogue_warps", "auto", 4, 8), {**TWO, "design.epilogue_warps": 8}],
        [
            *near("design.epilogue_warps", {1: 4, 5: 4, 6: 4, 7: 8, 12: 8, 10**9: 8}),
            ({**TWO, "design.epilogue_warps": 4}, "8"),
            ({**TWO, "design.epilogue_warps": 16}, "8"),
        ],
        number("design.epilogue_warps"),
    ),
    Case(
        "schedule.pingpong",
        at("design.schedule", "cooperative"),
        near("design.schedule", {"pingpong": "cooperative"}),
        value("design.schedule"),
    ),
    Case(
        "registers.split",
        at("design.registers", "auto", "none"),
        [({"design.registers": {"producer": 40, "consumer": 232}}, "auto")],
        value("design.registers"),
    ),
    Case(
        "tile.m",
        at("design.tile.m", 128, 256),
        near("design.tile.m", {1: 128, 64: 128, 127: 128, 129: 128, 192: 128, 193: 256, 257: 256, 10**30: 256}),
        number("design.tile.m"),
    ),
    Case(
        "tile.n",
        [*at("design.tile.n", 16, 48, 240, 256), *({**PAIR, "design.tile.n": n} for n in (32, 96, 224, 256))],
        [
            *near("design.tile.n", {1: 16, 8: 16, 15: 16, 17: 16, 24: 16, 25: 32, 257: 256, 10**30: 256}),
            *(({**PAIR, "design.tile.n": n}, str(legal)) for n, legal in {16: 32, 48: 32, 49: 64, 272: 256}.items()),
        ],
        number("design.tile.n"),
    ),
    Case(
        "tile.k",
        [*at("design.tile.k", 16, 48, 256), {**operands("tf32", "tf32"), "design.tile.k": 8}]
        + [{**operands("e4m3", "e4m3"), "design.tile.k": k} for k in (32, 256)],
        [
            *near("design.tile.k", {1: 16, 15: 16, 17: 16, 24: 16, 25: 32, 257: 256, 10**30: 256}),
            ({**operands("tf32", "tf32"), "design.tile.k": 12}, "8"),
            ({**operands("e4m3", "e4m3"), "design.tile.k": 48}, "32"),
        ],
        number("design.tile.k"),
        {"design.tile.n": 32},
    ),
    Case(
        "tile.n.tf32",
        [{**operands("tf32", "tf32", b="n"), "design.tile.n": n} for n in (32, 224)]
        + [{**operands("tf32", "tf32"), "design.tile.n": 48}]
        + [{**PAIR, **operands("tf32", "tf32", b="n"), "design.tile.n": n} for n in (64, 192)],
        [
            ({**operands("tf32", "tf32", b="n"), "design.tile.n": 48}, "32"),
            ({**PAIR, **operands("tf32", "tf32", b="n"), "design.tile.n": 96}, "64"),
        ],
        number("design.tile.n"),
        {"design.tile.k": 32},
    ),
    Case(
        "scheduler.group",
        at("design.scheduler.group", 1, 1024),
        near("design.scheduler.group", {1025: 1024, 10**30: 1024}),
        number("design.scheduler.group"),
    ),
    Case(
        "cluster.m",
        [*at("design.cluster.m", 1, 2, 4, 8), *({"design.cta_group": 2, "design.cluster.m": m} for m in (2, 4, 8))],
        [
            *near("design.cluster.m", {3: 2, 5: 4, 7: 8, 16: 8, 10**30: 8}),
            ({"design.cta_group": 2, "design.cluster.m": 1}, "2"),
            ({"design.cta_group": 2, "design.cluster.m": 6}, "4"),
        ],
        number("design.cluster.m"),
    ),
    Case(
        "cluster.n",
        at("design.cluster.n", 1, 2, 4, 8),
        near("design.cluster.n", {3: 2, 5: 4, 7: 8, 16: 8, 10**30: 8}),
        number("design.cluster.n"),
    ),
    Case(
        "cluster.size",
        [cluster(4, 2), cluster(2, 4), cluster(8, 1), cluster(1, 8), pairs(4, 2), pairs(2, 4)],
        [
            (cluster(4, 4), "{m: 4, n: 2}"),
            (cluster(8, 2), "{m: 4, n: 2}"),
            (cluster(2, 8), "{m: 2, n: 2}"),
            (pairs(2, 8), "{m: 2, n: 2}"),
        ],
        value("design.cluster"),
    ),
    Case(
        "multicast.a",
        [
            {"kernel.a.major": "m", "design.tile.k": 16, **cluster(1, 2)},
            {"kernel.a.major": "m", "design.tile.k": 64, **cluster(1, 8)},
            {"kernel.a.major": "k", "design.tile.k": 16, **cluster(1, 8)},
            {"kernel.a.major": "m", "design.tile.k": 16, **cluster(8, 1)},
        ],
        [
            ({"kernel.a.major": "m", "design.tile.k": 16, **cluster(1, 4)}, "2"),
            ({"kernel.a.major": "m", "design.tile.k": 48, **cluster(1, 8)}, "2"),
            ({**operands("tf32", "tf32", a="m"), "design.tile.k": 8, **cluster(1, 2)}, "1"),
        ],
        number("design.cluster.n"),
    ),
    Case(
        "multicast.b",
        [
            {"design.tile.n": 16, **cluster(2, 1)},
            {"design.tile.n": 64, **cluster(8, 1)},
            {"design.tile.n": 16, **cluster(1, 8)},
            {"design.tile.n": 32, **pairs(4, 1)},
            {"design.tile.n": 32, **pairs(2, 1)},
            {"kernel.b.major": "n", "design.tile.n": 64, "design.tile.k": 32, **pairs(8, 1)},
        ],
        [
            ({"design.tile.n": 16, **cluster(4, 1)}, "2"),
            ({"design.tile.n": 48, **cluster(8, 1)}, "2"),
            ({"design.tile.n": 32, **pairs(8, 1)}, "4"),
            ({"kernel.b.major": "n", "design.tile.n": 64, "design.tile.k": 16, **pairs(8, 1)}, "4"),
        ],
        number("design.cluster.m"),
    ),
    Case(
        "epilogue.operands",
        [WITH_C],
        [({**WITH_C, "kernel.epilogue": ["beta_c", "beta_c"]}, "[beta_c]")],
        value("kernel.epilogue"),
    ),
    Case(
        "epilogue.operand",
        [{}, WITH_C],
        [
            ({"kernel.c": {"dtype": "f16", "major": "n"}}, "null"),
            ({"kernel.epilogue": ["beta_c"]}, "{dtype: f16, major: n}"),
        ],
        value("kernel.c"),
    ),
    Case(
        "epilogue.dtype",
        [{"kernel.epilogue": [{"op": "bias_n", "dtype": "bf16"}, "relu"]}],
        [({"kernel.epilogue": [{"op": "relu", "dtype": "bf16"}]}, "[relu]")],
        value("kernel.epilogue"),
    ),
    Case(
        "epilogue.n",
        [*at("design.epilogue_n", 8, 16, 32, 64), {"design.epilogue_n": 64, "design.epilogue_warps": 8}]
        + [{"design.tile.n": 48, "design.epilogue_n": 8, "design.epilogue_warps": 8}],
        [
            *near("design.epilogue_n", {1: 8, 7: 8, 12: 8, 24: 16, 65: 64, 128: 64, 10**30: 64}),
            ({"design.tile.n": 96, "design.epilogue_n": 64}, "32"),
            ({"design.tile.n": 96, "design.epilogue_n": 32, "design.epilogue_warps": 8}, "16"),
            ({"design.tile.n": 48, "design.epilogue_n": 16, "design.epilogue_warps": 8}, "8"),
        ],
        number("design.epilogue_n"),
    ),
    Case(
        "epilogue.stages",
        [*at("design.epilogue_stages", 1, 2, 4, "auto"), {"design.store": "direct"}]
        + [{"design.epilogue_n": 8, "design.epilogue_stages": 8}],
        [
            *near("design.epilogue_stages", {3: 2, 5: 4, 8: 4, 10**30: 4}),
            ({"design.epilogue_n": 8, "design.epilogue_stages": 16}, "8"),
            ({"design.epilogue_warps": 8, "design.epilogue_stages": 4}, "2"),
            ({"design.store": "direct", "design.epilogue_stages": 1}, "auto"),
        ],
        value("design.epilogue_stages"),
    ),
    Case("stages", at("design.stages", 2, 6, "auto"), near("design.stages", {1: 2}), number("design.stages"), SMALL),
    Case(
        "shared_memory",
        at("design.stages", 6),
        near("design.stages", {7: 6, 10**30: 6}),
        number("design.stages"),
    ),
    Case(
        "scales.m",
        [SCALED, {**SCALED, **operands("nvf4", "nvf4")}],
        [({"design.tile.m": 256}, "128")],
        number("design.tile.m"),
        SCALED,
    ),
    Case(
        "scales.n",
        at("design.tile.n", 128, 256),
        near("design.tile.n", {16: 128, 64: 128, 112: 128, 144: 128, 192: 128, 208: 256}),
        number("design.tile.n"),
        SCALED,
    ),
    Case(
        "scales.k",
        [*at("design.tile.k", 128, 256), *({**operands("nvf4", "nvf4"), "design.tile.k": k} for k in (64, 192))],
        [*near("design.tile.k", {32: 128, 96: 128, 160: 128, 224: 256})]
        + [({**operands("mxf4", "mxf4"), "design.tile.k": 64}, "128")],
        number("design.tile.k"),
        SCALED,
    ),
    Case(
        "tensor_memory.scales",
        at("design.stages", "auto", 6, 10),
        near("design.stages", {11: 10}),
        number("design.stages"),
        {**operands("nvf4", "nvf4"), **PAIR, "design.tile": {"m": 128, "n": 256, "k": 128}, "design.store": "direct"},
    ),
    Case(
        "tensor_memory",
        [*at("design.accumulator_stages", "auto", 1, 2), {"design.tile.m": 256, "design.accumulator_stages": 1}],
        [({"design.tile.m": 256, "design.accumulator_stages": 2}, "1")],
        number("design.accumulator_stages"),
        {"design.tile.n": 256},
    ),
    Case(
        "tensor_memory.residents",
        # One CTA has an SM's 228 KiB to itself from 113 KiB on; a stage takes 48 KiB, or 24, and D 16 or 32.
        [{"design.stages": 2}, {"design.stages": 3, "design.tile.n": 256}, {"design.stages": 2, **SMALL}]
        + [{"design.stages": 2, "design.tile.n": 256, "design.accumulator_stages": 1}],
        [
            ({"design.stages": 2, "design.tile.n": 256}, "3"),
            ({"design.stages": 2, "design.tile": {"m": 256, "n": 128, "k": 32}}, "4"),
        ],
        number("design.stages"),
    ),
    Case(
        "tensor_memory.stages",
        at("design.accumulator_stages", 1, 2),
        near("design.accumulator_stages", {3: 2, 16: 2}),
        number("design.accumulator_stages"),
        SMALL,
    ),
    Case(
        "tensor_memory.one_tile",
        at("design.accumulator_stages", "auto", 1),
        near("design.accumulator_stages", {2: 1}),
        number("design.accumulator_stages"),
        {"design.scheduler": {"kind": "one_tile"}},
    ),
]


def test_every_rule_has_its_boundaries():
    listed = [rule.id for rule in rules()["gemm", "sm_100a"]]
    assert len(listed) == len(set(listed))
    assert {case.rule for case in CASES} == set(listed) - {"arch", "operand.dtype"}


@pytest.mark.parametrize(
    ("rule", "changes"), [(case.rule, {**case.base, **changes}) for case in CASES for changes in case.legal]
)
def test_the_last_legal_value(rule, changes):
    assert broken(point(changes)) == set()


@pytest.mark.parametrize(
    ("rule", "changes", "nearest", "repair"),
    [(case.rule, {**case.base, **changes}, near, case.repair) for case in CASES for changes, near in case.illegal],
)
def test_the_first_illegal_value_and_its_remedy(rule, changes, nearest, repair):
    is_told(point, rule, changes, nearest, repair)


def test_an_arch_without_tensor_memory_is_refused_with_one_that_has_it():
    (violation,) = plan(space.point({"design.tile.m": 64}, "sm_120a")).violations
    assert (violation.rule, violation.value, violation.nearest) == ("arch", "sm_120a", "sm_100a")
    for arch in ("sm_100a", "sm_103a", "sm_110a"):
        assert broken(space.point(None, arch)) == set()


@pytest.mark.parametrize("word", ["f16", "bf16", "tf32", "e4m3", "e5m2", "mxf8_e4m3", "mxf8_e5m2", "mxf4", "nvf4"])
def test_every_dtype_but_integers_is_multiplied_on_every_arch(word):
    for arch in ("sm_100a", "sm_103a", "sm_110a"):
        changes = {**operands(word, word), "design.tile.k": 32 if word == "tf32" else 128}
        assert broken(space.point(changes, arch)) == set()


def test_integers_are_not_multiplied_on_sm_103a():
    changes = {**operands("i8", "i8"), "kernel.accumulator": "i32", "kernel.d.dtype": "i32"}
    assert broken(space.point(changes, "sm_103a")) == {"operand.dtype"}
    assert broken(space.point(changes, "sm_110a")) == set()


@pytest.mark.parametrize(
    ("changes", "rule", "advice"),
    [
        ({"design.tile": {"m": 256, "n": 256, "k": 256}, "design.stages": 1}, "stages", "a smaller tile"),
        ({"design.tile": {"m": 256, "n": 256, "k": 256}}, "shared_memory", "a smaller tile"),
    ],
)
def test_where_no_value_of_the_field_would_do(changes, rule, advice):
    found = {violation.rule: violation for violation in plan(point(changes)).violations}
    assert found[rule].message.endswith(f"; instead: {advice})")


@pytest.mark.parametrize("seed", range(300))
def test_the_nearest_value_of_any_violation_would_do(seed):
    at_random = random.Random(seed).choice
    holds_with_the_nearest((any_point if seed % 2 else likely_point)(at_random), model)
