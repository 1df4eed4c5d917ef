"""What a sweep expands to, how it is counted, and where it ends."""

from __future__ import annotations

import dataclasses
import pickle
import time

import pytest

from warpwright.point import Point

HEAD = """\
version: 1
name: sample
purpose: a sample
kernel:
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 128, k: 64}
"""


def test_the_good_file(load_edited):
    spec = load_edited({})
    points = spec.points()
    assert [(p.design.tile.n, p.design.schedule) for p in points] == [
        (n, schedule) for n in (64, 128, 256) for schedule in ("cooperative", "pingpong")
    ]
    assert spec.count() == 6
    assert all(type(p) is Point for p in points)
    assert [(step.op, step.dtype) for step in points[0].kernel.epilogue] == [
        ("alpha", "f32"), ("bias_n", "bf16"), ("relu", "f32"),
    ]  # fmt: skip
    assert (points[0].design.cluster.m, points[0].design.stages) == (2, "auto")
    assert spec.validate == {"problems": "standard", "repeats": 3}
    assert spec.bench == {"problems": [{"m": 4096, "n": 4096, "k": 4096, "l": 1}]}


def test_without_sweep_there_is_one_point(load_text):
    spec = load_text(HEAD)
    assert (spec.count(), len(spec.points())) == (1, 1)
    assert spec.validate["repeats"] == 3
    assert spec.bench["problems"][0]["m"] == 4096


def test_a_list_is_the_union_of_its_products_without_duplicates(load_text):
    spec = load_text(
        HEAD + "sweep:\n- {design.tile.n: [64, 128], design.stages: [3, 4]}\n"
        "- {design.tile.n: [128, 256], design.stages: [4]}\n"
    )
    assert spec.count() == 6
    found = [(p.design.tile.n, p.design.stages) for p in spec.points()]
    assert found == [(64, 3), (64, 4), (128, 3), (128, 4), (256, 4)]
    assert spec.expansion.duplicates == 1


def test_a_value_replaces_a_whole_subtree(load_text):
    spec = load_text(
        HEAD + "  registers: auto\nsweep:\n  design.registers: [none, {producer: 40, consumer: 232}]\n"
        "  design.scheduler: [{kind: one_tile}]\n  kernel.c: [null, {dtype: f32, major: m}]\n"
    )
    first, second, third, _ = spec.points()
    assert first.design.registers == "none"
    assert third.design.registers.model_dump() == {"producer": 40, "consumer": 232}
    assert (first.kernel.c, second.kernel.c.dtype) == (None, "f32")
    assert (first.design.scheduler.kind, first.design.scheduler.group) == ("one_tile", 8)


def test_the_sweep_may_give_what_the_file_leaves_out(load_text):
    text = HEAD.replace("design:\n  tile: {m: 128, n: 128, k: 64}\n", "")
    spec = load_text(text + "sweep:\n  design.tile.m: [64]\n  design.tile.n: [8, 16]\n  design.tile.k: [64]\n")
    assert [p.design.tile.n for p in spec.points()] == [8, 16]
    spec = load_text(text + "sweep: {design: [{tile: {m: 64, n: 8, k: 64}}]}\n")
    assert spec.points()[0].design.tile.m == 64


def test_a_subtree_may_be_swept_key_by_key_over_auto(load_text):
    spec = load_text(
        HEAD + "  registers: auto\nsweep:\n  design.registers.producer: [24, 40]\n  design.registers.consumer: [232]\n"
    )
    assert [p.design.registers.producer for p in spec.points()] == [24, 40]


def test_where_keeps_points_and_counts_what_each_predicate_removed(load_text):
    spec = load_text(
        HEAD + "sweep: {design.tile.n: [64, 128, 256], design.stages: [2, 4]}\n"
        "where: [tile.n > 64, stages * tile.n <= 512]\n"
    )
    assert [(p.design.tile.n, p.design.stages) for p in spec.points()] == [(128, 2), (128, 4), (256, 2)]
    assert spec.expansion.removed == (2, 1)
    assert spec.count() == 6


def test_a_point_that_several_predicates_remove_counts_for_the_first_of_them(load_text):
    spec = load_text(
        HEAD
        + "sweep:\n- {design.tile.n: [64, 256], design.stages: [2, 4]}\n- {design.tile.n: [64], design.stages: [2]}\n"
        "where: [stages < 4, tile.n < 256]\n"
    )
    assert [(p.design.tile.n, p.design.stages) for p in spec.points()] == [(64, 2)]
    assert spec.expansion.removed == (2, 1)
    assert spec.expansion.duplicates == 1


def test_too_many_points_are_counted_and_not_expanded(load_text, mistakes):
    values = ", ".join(str(n) for n in range(1, 1001))
    sweep = "sweep:\n" + "".join(f"  design.{f}: [{values}]\n" for f in ("tile.m", "tile.n", "stages", "epilogue_n"))
    started = time.perf_counter()
    (error,) = mistakes(HEAD + sweep).errors
    assert time.perf_counter() - started < 5
    assert (error.line, error.value) == (10, "1,000,000,000,000 points")
    assert "at most 10,000 points: design.tile.m (1000) x design.tile.n (1000) x design.stages (1000)" in error.rule


def test_too_many_points_in_a_union_name_the_widest_product(mistakes):
    values = ", ".join(str(n) for n in range(1, 101))
    sweep = f"sweep:\n- design.stages: [3]\n- design.tile.m: [{values}]\n  design.tile.n: [{values}]\n"
    (error,) = mistakes(HEAD + sweep).errors
    assert error.value == "10,001 points"
    assert "design.tile.m (100) x design.tile.n (100) gives 10,000 of them" in error.rule


def test_the_largest_sweep_expands(load_text):
    values = ", ".join(str(n) for n in range(1, 101))
    spec = load_text(
        HEAD + f"sweep: {{design.tile.m: [{values}], design.tile.n: [{values}]}}\nwhere: [tile.m <= tile.n]\n"
    )
    assert (spec.count(), len(spec.points())) == (10_000, 5050)


def test_dtypes_that_differ_at_some_points_are_told_with_the_predicate_that_drops_them(load_text, mistakes):
    sweep = "sweep:\n  kernel.a.dtype: [f16, bf16]\n  kernel.b.dtype: [f16, bf16]\n"
    (error,) = mistakes(HEAD + sweep).errors
    assert (error.line, error.key) == (12, "kernel.b.dtype")
    assert "2 of 4 points" in error.rule
    spec = load_text(HEAD + sweep + "where: [a.dtype == b.dtype]\n")
    assert [p.kernel.a.dtype for p in spec.points()] == ["f16", "bf16"]


def test_a_spec_is_frozen_and_travels(load_edited):
    spec = load_edited({})
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name = "other"
    assert pickle.loads(pickle.dumps(spec)).points() == spec.points()


def test_a_hundred_points_load_fast(load_text):
    products = "".join(
        f"- {{design.tile.m: [64], design.tile.n: [{8 * n}], design.tile.k: [64], design.stages: [4],"
        " design.store: [tma]}\n"
        for n in range(1, 101)
    )
    started = time.process_time()
    spec = load_text(HEAD + "sweep:\n" + products + "where: [tile.m * tile.n <= 65536, stages != 'auto']\n")
    assert time.process_time() - started < 0.3
    assert len(spec.points()) == 100
