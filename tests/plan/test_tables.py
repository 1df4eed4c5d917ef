"""Maps, tables and pieces of source that every family's kernels are described with."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.families.copy.points import legal
from tests.plan.space import point
from warpwright.archs import SM90A
from warpwright.canonical import canonical_json
from warpwright.plan import plan, tables
from warpwright.plan.memory import lay_out
from warpwright.plan.source import LINE_LENGTH, bracketed
from warpwright.plan.stored import PlanError, plan_from_json
from warpwright.plan.types import Buffer


def buffer(name: str, size: int, alignment: int) -> Buffer:
    return Buffer(name, -1, size, alignment, "u8", (size,), "none", "")


def test_buffers_lie_as_in_a_struct_of_c() -> None:
    """Each at a multiple of its alignment, in order; the whole is a multiple of the strictest."""
    found, total = lay_out([buffer("a", 100, 128), buffer("b", 3, 16), buffer("c", 8, 8)])
    assert [each.offset for each in found] == [0, 112, 120]
    assert total == 128
    assert lay_out([buffer("a", 129, 128)])[1] == 256
    assert lay_out([]) == ((), 0)


def test_shared_memory_is_told_beside_what_a_cta_may_have() -> None:
    """227 KiB of an SM's 228; with four CTAs a quarter of the 228, less one each."""
    gemm = plan(point()).main
    assert tables.memory_total(gemm, SM90A) == "214016 of 232448 B (rounded up to 1024)"
    copy = legal(stage_bytes=4096, stages=4, ctas_per_sm=4).main
    end = max(each.offset + each.bytes for each in copy.buffers)
    assert tables.memory_total(copy, SM90A).startswith(f"{copy.shared_bytes} of {228 * 1024 // 4 - 1024} B")
    assert ("rounded up to 128" in tables.memory_total(copy, SM90A)) == (end < copy.shared_bytes)
    whole = dataclasses.replace(gemm, buffers=(buffer("a", gemm.shared_bytes, 1024),))
    whole = dataclasses.replace(whole, buffers=lay_out(whole.buffers)[0])
    assert tables.memory_total(whole, SM90A) == "214016 of 232448 B"


def test_warps_of_a_role_are_told_from_the_first_to_the_last() -> None:
    rows = [
        line.split()[:3] for line in tables.roles_table(plan(point({"design.producer_warps": 2})).main).splitlines()
    ]
    assert rows[1:] == [
        ["consumer", "0", "0..3"],
        ["consumer", "1", "4..7"],
        ["producer", "8..9", "40"],
        ["idle", "10..11", "40"],
    ]


@pytest.mark.parametrize(("spare", "several"), [(1, False), (0, False), (-1, True)])
def test_a_line_is_broken_where_it_is_too_long(spare: int, several: bool) -> None:
    items = ["a" * 10, "b" * (LINE_LENGTH - spare - len("f(, )") - 10 - 4)]
    text = bracketed("f(", items, ")", indent=4)
    assert ("\n" in text) == several
    assert all(len(line) <= LINE_LENGTH - (4 if index == 0 else 0) for index, line in enumerate(text.split("\n")))
    after = bracketed("f(", items, ")", indent=3, after=":")
    assert ("\n" in after) == several


@pytest.mark.parametrize("spare", [0, -1])
def test_items_that_one_line_does_not_hold_stand_on_their_own(spare: int) -> None:
    items = ["a" * 50, "b" * (LINE_LENGTH - spare - 4 - 50 - 2)]
    lines = bracketed("call(", items, ")").split("\n")
    assert lines[1:-1] == (["    " + ", ".join(items)] if spare == 0 else [f"    {item}," for item in items])


def test_line_length_is_that_of_the_project() -> None:
    assert LINE_LENGTH == 120


@pytest.mark.parametrize("changes", [{}, {"design.tile.n": 12}, {"design.stages": 99, "design.producer_warps": 9}])
def test_a_plan_is_read_back_as_it_was_stored_legal_or_not(changes: dict[str, object]) -> None:
    planned = plan(point(changes))
    assert planned.legal == (not changes)
    again = plan_from_json(json.loads(canonical_json(planned)))
    assert again == planned
    assert [violation.message for violation in again.violations] == [each.message for each in planned.violations]
    with pytest.raises(PlanError, match="does not describe a plan of this version"):
        plan_from_json(json.loads(canonical_json(planned)) | {"colour": "red"})


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    text = tables.text_table(
        [("name", "count", "what"), ("a", "-7", "x"), ("bcdef", "1234567", "yy"), ("g", "3", "z")], ""
    )
    assert text.splitlines() == [
        "name     count  what",
        "a           -7  x",
        "bcdef  1234567  yy",
        "g            3  z",
    ]


def test_a_named_barrier_tells_every_one_of_its_ids() -> None:
    rows = [line.split()[:4] for line in tables.barrier_table(plan(point()).main).splitlines()]
    assert ["epilogue", "named", "1,2", "1"] in rows
