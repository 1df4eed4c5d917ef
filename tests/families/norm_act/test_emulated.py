"""Built kernels on the emulator: right ones pass every case, and what is taken out of them is missed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.emulate.planting import Planter
from tests.families.norm_act.points import legal
from tests.records import rewrite
from warpwright.build import BuildJob, build
from warpwright.build.launch_capture import HostError, TensorValue
from warpwright.canonical import plain
from warpwright.emulate.variant import harness
from warpwright.families.norm_act.sm_90a.rules import RULES
from warpwright.families.norm_act.workload.design import rows_at_once
from warpwright.record import read_json, write_json
from warpwright.render import render

pytestmark = pytest.mark.slow

CASES = {
    *(
        "no_rows",
        "no_columns",
        "one",
        "one_column",
        "grain",
        "full",
        "integer",
        "nonfinite",
        "nonfinite_tail",
        "large_mean",
        "tail",
    ),
    *("magnitudes", "extreme", "quarter", "half", "ring", "distant"),
}


#: Rows of which registers hold a part.
LONG = ("held", "streamed", "walked")


def test_a_right_kernel_is_correct(built: Path) -> None:
    verdict = harness.emulate(harness.load(built))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    of_rings = set() if built.name in ("none", "ahead", "cluster", "walked") else {"whole_ring", "long"}
    of_rings |= set() if built.name in ("ahead", "cluster") else {"turns"}
    of_rings |= {"magnitudes_full", "extreme_full"} if built.name in ("ahead", "cluster") else set()
    of_chunks = {"part"} if built.name in (*LONG, "cluster") else set()
    of_chunks |= {"part_and_one"} if built.name == "cluster" else set()
    assert set(verdict.figures["problems"]) == CASES | of_rings | of_chunks
    # A CTA of one group has a row at least, and in the body for shorter rows no vector is the last of a full one.
    missed = {"ahead": 3, "cluster": 5} | dict.fromkeys(LONG, 2)
    assert len(verdict.figures["coverage"]["missed"]) <= missed.get(built.name, 0)
    assert 0 < verdict.figures["ratio"] <= 1


#: Faults in the source, and what the emulator says of them.
PLANTED = [
    ("none", "tail[0] = cutlass.select_(has_tail, tail[0] * scale, Float32(0.0))", "tail[0] = tail[0] * scale", "nan"),
    ("none", "if next_row < rows:", "if row < rows:", "global-bounds"),
    ("none", "barrier = ROW_BARRIER_ID + group", "barrier = ROW_BARRIER_ID", "race: sums"),
    ("none", "values[None, i].fill(0.0)", "values[None, i].fill(0.5)", "outside their bound"),
    ("tma", "state.advance(GROUPS)", "state.advance(1)", ""),
    ("tma", "if whole > 0:", "if whole > 8:", "deadlock"),
    ("tma", "cute.arch.fence_view_async_shared()", "pass", "race"),
    ("preprocess", "turn = 1 - turn", "turn = turn", "race"),
    ("named", "if row >= cta + STAGES * ctas:", "if row > cta + STAGES * ctas:", "twice in one phase"),
    ("named", "ROW_EMPTY_ID = ROW_FULL_ID + STAGES", "ROW_EMPTY_ID = ROW_FULL_ID + STAGES - 1", ""),
    ("ahead", "mine = cutlass.min(ROWS, rows - first_row)", "mine = Int32(ROWS)", "bounds"),
    ("ahead", "MAX_ROWS = 2**31 - GROUPS * ROWS", "MAX_ROWS = 2**31 - 1", "of which it counts at most 2147483642"),
    ("ahead", "MAX_ROWS = 2**31 - GROUPS * ROWS", "MAX_ROWS = 2**31 - 7", "refuses the problem"),
    ("ahead", "cute.arch.mbarrier_wait(row_full + i, 0)", "cute.arch.mbarrier_wait(row_full, 0)", "race"),
    ("ahead", "is_full = columns == COLUMNS", "is_full = columns > 0", "bounds"),
    ("cluster", "is_full = columns == CHUNK", "is_full = columns > 0", "bounds"),
    ("cluster", "Float32(LANES * VECTOR * VECTORS)", "Float32(LANES)", "outside their bound"),
    ("cluster", "{$r0}, 0xffff0000;", "{$r0}, 0xfff00000;", "outside their bound"),
    ("cluster", "cute.arch.mbarrier_wait(told, 0)", "cute.arch.mbarrier_try_wait(told, 0)", "race"),
    ("cluster", "part = rank", "part = Int32(0)", "race"),
    ("cluster", "cute.arch.cluster_wait()", "cute.arch.sync_threads()", "mbarrier"),
    ("cluster", "ROW_PARTS * TOLD_BYTES", "TOLD_BYTES", ""),
    ("cluster", "cutlass.min(columns - first_column, CHUNK)", "columns - first_column", "bounds"),
    ("cluster", "rank * CHUNK", "rank * CHUNK // 2", ""),
    ("cluster", "of_part[2] * deviation", "256.0 * deviation", "outside their bound"),
    ("cluster", "Float32(VECTOR), Float32(0.0)", "Float32(VECTOR), Float32(1.0)", "outside their bound"),
    ("cluster", "values.load() * scale + shift", "values.load() * scale", "outside their bound"),
    ("cluster", "tail[0] * scale + shift", "tail[0] * scale", "outside their bound"),
    ("held", "state = first.clone()", "state = state.clone()", ""),
    ("held", "cute.arch.fence_view_async_shared()", "pass", "race"),
    ("held", "values[None, i].fill(0.0)", "pass", "outside their bound"),
    ("streamed", "for _ in cutlass.range(2, unroll=1):", "for _ in cutlass.range(3, unroll=1):", ""),
    (
        "streamed",
        "if has_tail:\n                tail[0] = tail[0] * scale",
        "if has_tail:\n                tail[0] = tail[0]",
        "outside their bound",
    ),
    ("walked", "if chunk + 1 < chunks:", "if chunk + 1 < chunks - 1:", "outside their bound"),
    ("walked", "whole - chunk * CHUNK", "whole", "bounds"),
    # What only rows show whose variance is that of eps, or whose numbers are large.
    ("streamed", "rsqrt(square + EPS", "rsqrt(square", "in case magnitudes"),
    ("held", "x_vectors.load().to(Float32)", "x_vectors.load().to(cutlass.Float16).to(Float32)", "in case magnitudes"),
    # The same in the body for full rows alone.
    (
        "ahead",
        "cute.math.rcp(1.0 + power,",
        "(power if cutlass.const_expr(in_ptx) else Float32(1.0))"
        " * cute.math.rcp(power + power * power if cutlass.const_expr(in_ptx) else 1.0 + power,",
        "in case extreme_full",
    ),
    # What only a mean shows that is large, and what only many rows of one group.
    ("walked", "rsqrt(variance +", "rsqrt((variance + mean * mean) - mean * mean +", "in case large_mean"),
    (
        "walked",
        "row_of(y, row)",
        "row_of(y, row ^ cutlass.select_((row >= 20 * ctas) and ((row ^ 1) < rows), 1, 0))",
        "in case turns",
    ),
    # What only a weight or a bias shows that is not finite, or large.
    ("ahead", "cute.math.rcp(1.0 + power,", "power * cute.math.rcp(power + power * power,", "in case extreme"),
    (
        "named",
        "x = x + bias.load().to(Float32)",
        "x = x + cute.where(bias.load().to(Float32) < 1e9, bias.load().to(Float32), 1e9)",
        "in case extreme",
    ),
    ("none", "if cutlass.min(rows, columns) > 0:", "if rows > 0:", "in case no_columns"),
]


@pytest.mark.parametrize(("design", "right", "wrong", "said"), PLANTED)
def test_a_planted_fault_is_found(
    all_built: Mapping[str, Path], plant: Planter, design: str, right: str, wrong: str, said: str
) -> None:
    verdict = plant.planted(harness.load(all_built[design]).plan, (right, wrong))
    assert verdict.status in ("crash", "hang", "incorrect")
    assert said in f"{verdict.status} {verdict.diagnosis}"


def test_groups_that_do_not_divide_the_stages_are_why_that_is_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loads land in any order: a group that waits for another's stage sees the phase before last as its own."""
    monkeypatch.setattr(RULES, "rules", [rule for rule in RULES.rules if rule.id != "stages.turns"])
    plan = legal(columns=512, warps_per_row=1, groups=3, stages=4)
    build([BuildJob(render(plan), plan, tmp_path / "planted")])
    write_json(tmp_path / "planted" / "plan.json", plain(plan))
    verdict = harness.emulate(harness.load(tmp_path / "planted"))
    assert verdict.status == "hang"
    assert "that this waits for is over" in verdict.diagnosis  # and that before the last, too


@pytest.mark.parametrize(
    ("pattern", "into", "said"),
    [
        (r"(cp\.async\.bulk\.shared::cluster[^;]*, )(%r\d+)(, \[[^;]*;)", r"add.s32 \2, \2, 16; \1\2\3", "bulk load"),
        (r"(cp\.async\.bulk\.shared::cluster[^;]*, )(%r\d+)(, \[[^;]*;)", r"add.s32 \2, \2, -16; \1\2\3", "bytes"),
    ],
)
def test_what_is_a_little_wrong_is_named(
    all_built: Mapping[str, Path], tmp_path: Path, pattern: str, into: str, said: str
) -> None:
    folder = Path(shutil.copytree(all_built["tma"], tmp_path / "tma"))
    altered, number = re.subn(pattern, into, (folder / "kernel.ptx").read_text())
    assert number
    rewrite(folder, "kernel.ptx", altered)
    verdict = harness.emulate(harness.load(folder))
    assert verdict.status in ("crash", "hang", "incorrect")
    assert said in verdict.diagnosis


def test_a_plan_that_says_something_else_degrades(built: Path) -> None:
    plan = read_json(built / "plan.json") or {}
    for barrier in plan["kernels"][0]["barriers"]:
        barrier["arrivals"] += 1
    rewrite(built, "plan.json", plan)
    assert harness.emulate(harness.load(built)).differences


def test_the_launch_of_any_problem(built: Path) -> None:
    """The grid is the rows', up to the limit; nothing is launched for nothing, and no CTA for what is too wide."""
    subject = harness.load(built)
    tensors = [a for a in subject.plan.arguments if a.kind != "scalar"]

    def grid(m: int, n: int, limit: int = 264) -> list[int]:
        shapes = [((m, n), (-(-n // 8) * 8, 1)) if a.kind == "tensor" else ((n,), (1,)) for a in tensors]
        values = [TensorValue((i + 1) << 44, *s, a.dtype) for i, (a, s) in enumerate(zip(tensors, shapes, strict=True))]
        return [
            launch.grid[0] // launch.cluster[0] for launch in subject.host([*values, *([limit] if persistent else [])])
        ]

    columns, persistent = subject.plan.design.columns, subject.plan.design.persistent
    rows = 1 if persistent else rows_at_once(subject.plan)
    assert [grid(m, columns) for m in (0, 1, 264 * rows)] == [[], [1], [264]]
    assert grid(264 * rows + 1, columns) == [264 if persistent else 265]
    assert grid(5, 0) == []
    most = subject.plan.limits[1].most
    assert grid(most, columns) == [264 if persistent else -(-most // rows)]
    for size in ((5, columns + 1), (most + 1, columns)):
        with pytest.raises(HostError, match="CUDA error 9"):  # an invalid configuration: no CTA
            grid(*size)
