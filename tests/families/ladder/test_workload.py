"""The first rung is one CTA in everything: its cases, its grid, and what it computes."""

from __future__ import annotations

from tests.families.ladder.points import RUNGS, legal
from warpwright.device.problem import Case
from warpwright.families import workload
from warpwright.families.products.problems import multiplication

WORKLOAD = workload("ladder")


def test_one_cta_computes_every_tile() -> None:
    problem = multiplication("some", 300, 200, 64, 2)
    plan = legal(1)
    assert WORKLOAD.units(plan, problem) == 1
    (launched,) = WORKLOAD.launched(plan, problem, 132)
    assert launched.grid == (1, 1, 1)
    shares = WORKLOAD.share(plan, problem, 132, [0])
    assert len(shares) == 3 * 2 * 2
    covered = {(i, j, b) for s in shares for i in range(*s["M"].indices(300)[:2], 50)
               for j in range(*s["N"].indices(200)[:2], 50) for b in range(s["L"].start, s["L"].stop)}  # fmt: skip
    assert len({(i, b) for i, _, b in covered}) > 6
    assert WORKLOAD.units(plan, multiplication("none", 0, 200, 64)) == 0


def test_others_have_a_cta_for_each_tile() -> None:
    problem = multiplication("some", 300, 200, 64, 2)
    for rung in (2, 3, 4, 5):
        (launched,) = WORKLOAD.launched(legal(rung), problem, 132)
        assert launched.grid == (12, 1, 1), rung
        assert WORKLOAD.units(legal(rung), problem) == 12


def test_what_threads_load_is_passed_as_tensors() -> None:
    problem = multiplication("some", 300, 200, 64)
    names = {rung: [name for name, _ in WORKLOAD.launched(legal(rung), problem, 132)[0].values] for rung in RUNGS}
    assert names[1] == ["a_mkl", "b_nkl", "d_mnl", "bias_n", *["tiles_mnl"] * 3, "tile_count", "k_tiles"]
    assert names[2] == ["a_mkl", "b_nkl", "d_mnl", "bias_n", *["tiles_mnl"] * 3, "k_tiles"]
    assert names[3] == names[4] == names[5] == ["d_mnl", "bias_n", *["tiles_mnl"] * 3, "k_tiles"]


def test_cases_reach_every_guard_of_loading_threads() -> None:
    for tile in ((64, 32, 32), (128, 128, 64)):
        for rung in (1, 2):
            plan = legal(rung, *tile)
            guards = [case.problem.extents for case in WORKLOAD.cases(plan) if case.problem.name.startswith("guards")]
            assert {extents["K"] % 8 for extents in guards} == set(range(8))
            # In each of a thread's rows, which are so many apart, some tile of A ends.
            apart = 128 * 8 // tile[2]
            assert {extents["M"] % tile[0] // apart for extents in guards} == set(range(tile[0] // apart))
    assert not any(case.problem.name.startswith("guards") for case in WORKLOAD.cases(legal(3)))


def test_one_cta_is_given_no_more_tiles_than_it_can_walk_over() -> None:
    cases: list[Case] = WORKLOAD.cases(legal(1))
    assert len({case.problem.name for case in cases}) == len(cases)
    for case in cases:
        assert (case.clusters, case.only) == (1, ())
        assert len(WORKLOAD.share(legal(1), case.problem, 1, [0])) <= 40, case.problem.name
    walk = next(case for case in cases if case.problem.name == "walk")
    assert len(WORKLOAD.share(legal(1), walk.problem, 1, [0])) == 40
