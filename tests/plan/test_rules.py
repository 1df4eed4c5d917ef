"""Every rule at its boundary: the last legal value, the first illegal one, and what it names as nearest is legal."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import yaml

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
from tests.plan.space import any_point, likely_point, model, point
from warpwright.plan import folder_name, plan, rules
from warpwright.plan.rule import nearest_of

COOP1 = {"design.consumer_warps": 4}
COOP3 = {"design.consumer_warps": 12, "design.tile.m": 192}
PING = {"design.schedule": "pingpong"}


def split(producer: int, consumer: int) -> dict[str, Any]:
    return {"design.registers": {"producer": producer, "consumer": consumer}}


CASES = [
    Case(
        "operand.dtype",
        [{"kernel.a.dtype": t, "kernel.b.dtype": t} for t in ("f16", "bf16")],
        [
            ({"kernel.a.dtype": t, "kernel.b.dtype": t}, "f16")
            for t in ("tf32", "e4m3", "e5m2", "i8", "mxf8_e4m3", "mxf8_e5m2", "mxf4", "nvf4")
        ],
        lambda nearest: {"kernel.a.dtype": nearest, "kernel.b.dtype": nearest},
    ),
    Case(
        "operand.pair",
        [{"kernel.a.dtype": t, "kernel.b.dtype": t} for t in ("f16", "bf16")],
        [({"kernel.a.dtype": "bf16"}, "bf16"), ({"kernel.b.dtype": "bf16"}, "f16")],
        value("kernel.b.dtype"),
    ),
    Case(
        "warps.consumer",
        [COOP1, {"design.consumer_warps": 8}, COOP3],
        [
            *near("design.consumer_warps", {1: 4, 3: 4, 5: 4, 9: 8, 10: 8}),
            ({**COOP3, "design.consumer_warps": 16}, "12"),
        ],
        number("design.consumer_warps"),
    ),
    Case(
        "warps.producer",
        [*at("design.producer_warps", 1, 4), {**WITH_C, "design.producer_warps": 3}],
        [*near("design.producer_warps", {5: 4, 10**9: 4}), ({**WITH_C, "design.producer_warps": 4}, "3")],
        number("design.producer_warps"),
    ),
    Case(
        "schedule.pingpong",
        [{"design.consumer_warps": 8}],
        near("design.consumer_warps", {4: 8}) + [({**COOP3, "design.tile.m": 128}, "8")],
        number("design.consumer_warps"),
        PING,
    ),
    Case(
        "schedule.persistent",
        at("design.scheduler.kind", "persistent"),
        near("design.scheduler.kind", {"one_tile": "persistent"}),
        value("design.scheduler.kind"),
        PING,
    ),
    Case(
        "tile.m",
        [*at("design.tile.m", 128, 256), {**PING, "design.tile.m": 64}, {**PING, "design.tile.m": 192}, COOP3],
        [
            *near("design.tile.m", {64: 128, 127: 128, 129: 128, 192: 128, 257: 256, 10**30: 256}),
            ({**PING, "design.tile.m": 63}, "64"),
            ({**PING, "design.tile.m": 65}, "64"),
            ({**COOP3, "design.tile.m": 256}, "192"),
        ],
        number("design.tile.m"),
        {"design.tile.n": 64},
    ),
    Case(
        "tile.n",
        at("design.tile.n", 8, 16, 248, 256),
        near("design.tile.n", {1: 8, 7: 8, 9: 8, 12: 8, 13: 16, 255: 256, 257: 256, 264: 256, 10**30: 256}),
        number("design.tile.n"),
        {"design.tile.m": 128},
    ),
    Case(
        "tile.k",
        at("design.tile.k", 16, 32, 256),
        near("design.tile.k", {1: 16, 8: 16, 15: 16, 17: 16, 24: 16, 257: 256, 272: 256, 10**30: 256}),
        number("design.tile.k"),
        {"design.tile.n": 8},
    ),
    Case(
        "scheduler.group",
        at("design.scheduler.group", 1, 1024),
        near("design.scheduler.group", {1025: 1024, 10**30: 1024}),
        number("design.scheduler.group"),
    ),
    Case(
        "cluster.m",
        at("design.cluster.m", 1, 2, 4),
        near("design.cluster.m", {3: 2, 5: 4, 8: 4, 10**30: 4}),
        number("design.cluster.m"),
    ),
    Case(
        "cluster.n",
        at("design.cluster.n", 1, 2, 4),
        near("design.cluster.n", {3: 2, 5: 4, 8: 4, 10**30: 4}),
        number("design.cluster.n"),
    ),
    Case(
        "cluster.size",
        [cluster(2, 2), cluster(4, 1), cluster(1, 4)],
        [
            (cluster(4, 2), "{m: 2, n: 2}"),
            (cluster(2, 4), "{m: 2, n: 2}"),
            (cluster(1, 8), "{m: 1, n: 2}"),
            (cluster(8, 1), "{m: 2, n: 2}"),
        ],
        value("design.cluster"),
    ),
    Case(
        "multicast.a",
        [
            {"kernel.a.major": "m", "design.tile.k": 16, **cluster(1, 2)},
            {"kernel.a.major": "m", "design.tile.k": 32, **cluster(1, 4)},
            {"kernel.a.major": "m", "design.tile.k": 16, **cluster(4, 1)},
            {"kernel.a.major": "k", "design.tile.k": 16, **cluster(1, 4)},
        ],
        [
            ({"kernel.a.major": "m", "design.tile.k": 16, **cluster(1, 4)}, "2"),
            ({"kernel.a.major": "m", "design.tile.k": 48, **cluster(1, 4)}, "2"),
        ],
        number("design.cluster.n"),
    ),
    Case(
        "multicast.b",
        [
            {"design.tile.n": 16, **cluster(2, 1)},
            {"design.tile.n": 32, **cluster(4, 1)},
            {"design.tile.n": 8, **cluster(1, 4)},
            {"kernel.b.major": "n", "design.tile.n": 8, **cluster(4, 1)},
        ],
        [
            ({"design.tile.n": 8, **cluster(2, 1)}, "1"),
            ({"design.tile.n": 24, **cluster(2, 1)}, "1"),
            ({"design.tile.n": 16, **cluster(4, 1)}, "2"),
            ({"design.tile.n": 136, **cluster(4, 1)}, "1"),
            ({"kernel.b.major": "n", "design.tile.n": 64, "design.tile.k": 16, **cluster(4, 1)}, "2"),
        ],
        number("design.cluster.m"),
    ),
    Case(
        "epilogue.operands",
        [WITH_C],
        [
            ({**WITH_C, "kernel.epilogue": ["beta_c", "beta_c"]}, "[beta_c]"),
            (
                {**WITH_C, "kernel.epilogue": ["beta_c", {"op": "bias_n", "dtype": "f16"}, "beta_c", "relu"]},
                "[beta_c, {op: bias_n, dtype: f16}, relu]",
            ),
        ],
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
        [
            ({"kernel.epilogue": [{"op": "relu", "dtype": "bf16"}]}, "[relu]"),
            (
                {"kernel.epilogue": [{"op": "bias_n", "dtype": "bf16"}, {"op": "alpha", "dtype": "f16"}]},
                "[{op: bias_n, dtype: bf16}, alpha]",
            ),
            ({**WITH_C, "kernel.epilogue": [{"op": "beta_c", "dtype": "f16"}]}, "[beta_c]"),
        ],
        value("kernel.epilogue"),
    ),
    Case(
        "epilogue.n",
        [*at("design.epilogue_n", 8, 16, 32, 64), {"design.tile.n": 24, "design.epilogue_n": 8}],
        [
            *near("design.epilogue_n", {1: 8, 7: 8, 12: 8, 24: 16, 65: 64, 128: 64, 10**30: 64}),
            ({"design.tile.n": 24, "design.epilogue_n": 16}, "8"),
            ({"design.tile.n": 96, "design.epilogue_n": 64}, "32"),
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
            ({"design.store": "direct", "design.epilogue_stages": 1}, "auto"),
        ],
        value("design.epilogue_stages"),
    ),
    Case(
        "stages",
        at("design.stages", 2, 6, "auto"),
        near("design.stages", {1: 2}),
        number("design.stages"),
    ),
    Case(
        "stages.producers",
        [{"design.stages": 2, "design.producer_warps": 2}, {"design.stages": 3, "design.producer_warps": 3}],
        [
            ({"design.stages": 2, "design.producer_warps": 3}, "2"),
            ({"design.stages": 3, "design.producer_warps": 4}, "3"),
        ],
        number("design.producer_warps"),
    ),
    Case(
        "shared_memory",
        at("design.stages", 6),
        near("design.stages", {7: 6, 10**30: 6}),
        number("design.stages"),
    ),
    Case(
        "registers.split",
        [split(40, 232), split(24, 240), split(32, 240), split(168, 168), {**COOP1, **split(24, 256)}]
        + [{**COOP3, **split(32, 160)}, {"design.registers": "none"}],
        [
            (split(producer, consumer), "auto")
            for producer, consumer in (
                (16, 232),  # below 24
                (41, 232),  # no multiple of 8
                (40, 233),
                (24, 264),  # above 256
                (40, 240),  # 128 * (40 + 2 * 240) = 66,560
                (176, 168),  # the producer would take
                (40, 160),  # the consumers would give
                (-8, 232),
                (0, 0),
                (10**30, 10**30),
            )
        ]
        + [({**COOP1, **split(24, 248)}, "none")],
        value("design.registers"),
    ),
    Case(
        "registers.accumulator",
        [
            {**PING, "design.tile.n": 208},
            {"design.registers": "none", "design.tile.n": 136, **PING},
            # The split with the most for consumers is taken where the usual one leaves too little.
            {"design.tile.m": 192, "design.tile.n": 136, **PING},
            {"design.tile.n": 192, "design.epilogue_n": 64, "kernel.epilogue": ["silu"], **PING},
            {"design.tile.n": 200, "design.store": "direct", **PING},
            {"design.registers": "none", "design.tile.n": 128, "design.store": "direct", **PING},
            {"design.tile.n": 192, "design.epilogue_n": 64, "kernel.epilogue": ["silu"], **split(24, 240), **PING},
            {**COOP1, "design.tile.m": 256, "design.tile.n": 104},
        ],
        [
            ({**PING, "design.tile.n": 216}, "{m: 128, n: 208, k: 64}"),
            ({**PING, "design.tile.n": 256, "design.epilogue_n": 64}, "{m: 128, n: 192, k: 64}"),
            ({**PING, "design.tile.n": 256, **cluster(4, 1)}, "{m: 128, n: 192, k: 64}"),
            ({"design.registers": "none", "design.tile.n": 144, **PING}, "{m: 128, n: 136, k: 64}"),
            ({**COOP1, "design.tile.m": 256, "design.tile.n": 112}, "{m: 256, n: 104, k: 64}"),
            # A thread has 255 registers, whatever setmaxnreg grants.
            ({**COOP1, "design.tile.m": 256, "design.tile.n": 112, **split(24, 256)}, "{m: 256, n: 104, k: 64}"),
            # Direct stores, and an operation on more than 16 elements at a time, need more beside the accumulators.
            (
                {"design.registers": "none", "design.tile.n": 136, "design.store": "direct", **PING},
                "{m: 128, n: 128, k: 64}",
            ),
            (
                {"design.tile.n": 192, "design.epilogue_n": 64, "kernel.epilogue": ["silu"], **split(40, 232), **PING},
                "{m: 128, n: 128, k: 64}",
            ),
            ({**PING, "design.tile.m": 192, "design.tile.n": 256, "design.tile.k": 32}, "{m: 192, n: 136, k: 32}"),
        ],
        value("design.tile"),
    ),
    Case(
        "registers.instruction",
        [{**COOP3, "design.tile.n": 200}, {"design.tile.n": 256}],
        [
            ({**COOP3, "design.tile.n": 208}, "{m: 192, n: 200, k: 64}"),
            ({**COOP3, "design.tile.n": 256, "design.epilogue_n": 16}, "{m: 192, n: 192, k: 64}"),
            ({**COOP3, "design.tile.n": 224, **cluster(2, 1)}, "{m: 192, n: 192, k: 64}"),
        ],
        value("design.tile"),
    ),
    Case(
        "tensor_memory.cta_group",
        at("design.cta_group", 1),
        [({"design.cta_group": 2}, "1")],
        number("design.cta_group"),
    ),
    Case(
        "tensor_memory.stages",
        at("design.accumulator_stages", "auto"),
        [({"design.accumulator_stages": 1}, "auto"), ({"design.accumulator_stages": 2}, "auto")],
        value("design.accumulator_stages"),
    ),
    Case(
        "tensor_memory.epilogue",
        at("design.epilogue_warps", "auto"),
        [({"design.epilogue_warps": 4}, "auto")],
        value("design.epilogue_warps"),
    ),
    Case(
        "scheduler.kind",
        at("design.scheduler", {"kind": "one_tile"}, {"kind": "persistent"}),
        [({"design.scheduler": {"kind": "dynamic"}}, "persistent")],
        lambda nearest: {"design.scheduler": {"kind": nearest}},
    ),
    Case(
        "scheduler.snake",
        at("design.scheduler", {"snake": False}),
        [({"design.scheduler": {"snake": True}}, "false")],
        lambda nearest: {"design.scheduler": {"snake": yaml.safe_load(nearest)}},
    ),
]


def test_every_rule_has_its_boundaries():
    listed = [rule.id for rule in rules()["gemm", "sm_90a"]]
    assert len(listed) == len(set(listed))
    assert {case.rule for case in CASES} == set(listed)


def test_rules_state_themselves():
    assert len(rules()) >= 2
    for found in rules().values():
        assert found
        for rule in found:
            assert rule.statement
            assert rule.field.split(".")[0] in ("kernel", "design")


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


@pytest.mark.parametrize("stages", [1, "auto"])
def test_a_tile_of_which_one_stage_fits_is_too_large(stages):
    huge = {"design.tile": {"m": 128, "n": 256, "k": 256}, "design.stages": stages}
    found = plan(point(huge)).violations
    assert [violation.rule for violation in found] == ["stages" if stages == 1 else "shared_memory"]
    assert found[0].message.endswith("; instead: a smaller tile)")


def test_no_narrower_tile_can_hold_these_accumulators():
    changes = {"design.tile.m": 256, "design.epilogue_n": 64, "design.tile.n": 128, **PING}
    (violation,) = plan(point(changes)).violations
    assert (violation.rule, violation.nearest) == ("registers.accumulator", "{m: 256, n: 64, k: 64}")
    (violation,) = plan(point({**changes, "design.registers": "none", **cluster(4, 1)})).violations
    assert (violation.rule, violation.nearest) == ("registers.accumulator", "{m: 256, n: 64, k: 64}")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({**PING, "design.consumer_warps": 4}, "design.consumer_warps = 4: "),
        ({"design.tile.m": 192}, "design.tile.m = 192: "),
        ({"kernel.epilogue": ["beta_c"]}, "kernel.c = null, the default: "),
        ({**COOP3, "design.tile.n": 208}, "design.tile = n of 208: "),
        ({"design.tile": {"m": 128, "n": 256, "k": 256}}, "design.stages = 2 (410624 B), from auto: "),
        ({"design.tile": {"m": 128, "n": 256, "k": 256}, "design.stages": 2}, "design.stages = 2 (410624 B): "),
    ],
)
def test_what_nobody_wrote_is_told_as_what_it_is(changes, told):
    assert plan(point(changes)).violations[0].message.startswith(told)


def test_a_folder_s_name_fits_a_file_system():
    """Of a label as long as its numbers make it, the identity at the end stays."""
    planned = plan(point({"design.tile": {"m": 10**18, "n": 10**18, "k": 10**18}, "design.stages": 10**18}))
    assert len(folder_name(dataclasses.replace(planned, label=planned.label * 9)).encode()) <= 170
    assert folder_name(planned).endswith(f"-{planned.identity[:8]}")
    assert folder_name(plan(point())) == f"{plan(point()).label}-{plan(point()).identity[:8]}"


@pytest.mark.parametrize("seed", range(300))
def test_the_nearest_value_of_any_violation_would_do(seed):
    at_random = random.Random(seed).choice
    holds_with_the_nearest((any_point if seed % 2 else likely_point)(at_random), model)


@pytest.mark.parametrize(
    ("value", "legal", "nearest"),
    [(6, (4, 8), 4), (7, (4, 8), 8), (1, (), "change another field: beside the rest, no value of this one is legal")],
)
def test_nearest_of(value, legal, nearest):
    assert nearest_of(value, legal) == nearest
