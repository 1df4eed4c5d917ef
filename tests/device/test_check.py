"""One problem in-process: sampling, skipping, the shared products, and launches with few clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostBackend, HostKernel
from tests.device.plans import make_folder, make_plan
from warpwright.device.check import ProductCache, Subject, check_problem, load_subject
from warpwright.device.problems import Problem
from warpwright.device.variant import load_variant

CHAIN = ("alpha", "beta_c", {"op": "bias_m", "dtype": "f32"}, {"op": "bias_n", "dtype": "f32"})


class Spy(HostKernel):
    """Notes its launches; `spoil` may change the output afterwards."""

    spoil: Any = None

    def __call__(self, *arguments: Any) -> None:
        super().__call__(*arguments)
        self.launches = [*getattr(self, "launches", []), arguments]
        if self.spoil:
            self.spoil(dict(zip((a.name for a in self.plan.arguments), arguments, strict=True)))


@pytest.fixture
def backend() -> HostBackend:
    return HostBackend()


@pytest.fixture
def subject(backend: HostBackend, tmp_path: Path) -> Subject:
    subject = load_subject(backend, load_variant(make_folder(tmp_path, make_plan(epilogue=CHAIN))))
    subject.kernel.function = Spy(subject.variant.plan, backend, {})
    return subject


def check(
    backend: HostBackend, subject: Subject, problem: Problem, repeats: int = 3, cache: ProductCache | None = None
):
    beats: list[int] = []
    cache = cache or ProductCache(budget=1 << 20)
    figures = check_problem(backend, subject, problem, repeats, 11, cache, beats.append)
    assert beats == list(range(len(beats)))
    return figures


@pytest.mark.parametrize("fill", ["normal", "integer"])
@pytest.mark.parametrize("batches", [1, 2])
def test_a_sample_of_rows_is_compared_with_its_own_reference(backend, subject, fill, batches) -> None:
    figures = check(backend, subject, Problem("sampled", 200, 24, 16, batches, fill=fill, sampled=True))
    assert (figures["status"], figures["faults"]) == ("correct", [])
    assert figures["elements"] == batches * 24 * (4 + 3)  # rows 0, 61, 122, 183 and the last three


def test_a_wrong_element_of_a_sampled_row_is_told_by_its_own_row(backend, subject) -> None:
    def spoil(given: dict[str, Any]) -> None:
        given["d"].bits[0, 122, 5] ^= 0x0400

    subject.kernel.function.spoil = spoil
    figures = check(backend, subject, Problem("sampled", 200, 24, 16, sampled=True))
    assert figures["status"] == "incorrect"
    assert "1 of 168 elements are outside their bound; the first, d[0, 122, 5], is " in figures["faults"][0]


def test_the_third_launch_has_few_clusters(backend, subject) -> None:
    assert check(backend, subject, Problem("p", 40, 24, 16))["launches"] == 3
    assert [launch[-1] for launch in subject.kernel.function.launches] == [6, 6, 1]
    assert check(backend, subject, Problem("q", 400, 240, 16), repeats=1)["launches"] == 1
    assert check(backend, subject, Problem("r", 400, 240, 16))["status"] == "correct"
    assert subject.kernel.function.launches[-1][-1] == 2  # 26 * 31 tiles: not all on one cluster


def test_a_problem_that_does_not_fit_is_skipped_and_says_so(backend, subject, monkeypatch) -> None:
    monkeypatch.setattr(backend, "free_bytes", lambda: 1 << 20)
    figures = check(backend, subject, Problem("big", 400, 240, 16))
    assert figures["status"] == "skipped"
    assert "GiB, the device has 0.0 GiB free" in figures["faults"][0]


def test_products_are_shared_and_dropped_when_they_grow_too_large(backend, subject) -> None:
    problem = Problem("p", 40, 24, 16)
    cache = ProductCache(budget=1 << 20)
    check(backend, subject, problem, cache=cache)
    (entry,) = cache.entries.values()
    check(backend, subject, problem, cache=cache)
    assert next(iter(cache.entries.values())) is entry
    small = ProductCache(budget=1)
    for name in ("p", "q"):
        check(backend, subject, Problem(name, 40, 24, 16), cache=small)
    assert len(small.entries) == 1
    assert small.used == next(iter(small.entries.values()))[1]


def test_writing_into_the_shared_operands_is_noticed(backend, subject) -> None:
    cache = ProductCache(budget=1 << 20)

    def spoil(given: dict[str, Any]) -> None:
        next(iter(cache.entries.values()))[0].bits["a"][0, 0, 0] ^= 1

    subject.kernel.function.spoil = spoil
    figures = check(backend, subject, Problem("p", 40, 24, 16), repeats=1, cache=cache)
    assert "memory of other tensors was overwritten" in figures["faults"]


def test_fresh_seeds_give_fresh_operands(backend, subject) -> None:
    cache = ProductCache(budget=1 << 20)
    for seed in (1, 2):
        check_problem(backend, subject, Problem("p", 40, 24, 16), 1, seed, cache, lambda _: None)
    first, second = (factors.bits["a"] for factors, _ in cache.entries.values())
    assert not np.array_equal(first, second)
