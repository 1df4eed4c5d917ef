"""One problem in-process: sampling, skipping, the shared products, and launches with few clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostBackend, HostKernel
from tests.device.plans import make_folder, make_plan, problem
from warpwright.device.check import _needed_bytes, check_problem
from warpwright.device.coverage import needed_bytes
from warpwright.device.memo import Store
from warpwright.device.problem import Problem
from warpwright.device.subject import Subject, load_subject
from warpwright.device.tensors import buffer_bytes
from warpwright.device.variant import load_variant
from warpwright.families.running import Sample

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


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems count as large."""
    monkeypatch.setattr("warpwright.families.products.running._ALL_ROWS", 100)


def check(backend: HostBackend, subject: Subject, given: Problem, repeats: int = 3, cache: Store | None = None):
    beats: list[int | None] = []
    cache = cache or Store(budget=1 << 20)
    figures = check_problem(backend, subject, given, repeats, 11, cache, beats.append)
    assert beats == ([*range(len(beats) - 1), None] if beats else [])
    return figures


@pytest.mark.parametrize("fill", ["normal", "integer"])
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.usefixtures("sampled")
def test_a_sample_of_rows_is_compared_with_its_own_reference(backend, subject, fill, batches) -> None:
    figures = check(backend, subject, problem("sampled", 200, 24, 16, batches, fill=fill))
    assert (figures["status"], figures["faults"]) == ("correct", [])
    assert figures["elements"] == batches * 24 * (4 + 3)  # rows 0, 61, 122, 183 and the last three


@pytest.mark.usefixtures("sampled")
def test_a_wrong_element_of_a_sampled_row_is_told_by_its_own_row(backend, subject) -> None:
    def spoil(given: dict[str, Any]) -> None:
        given["d"].bits[0, 122, 5] ^= 0x0400

    subject.kernel.function.spoil = spoil
    figures = check(backend, subject, problem("sampled", 200, 24, 16))
    assert figures["status"] == "incorrect"
    assert "1 of 168 elements are outside their bound; the first, d[0, 122, 5], is " in figures["faults"][0]


def test_the_third_launch_has_few_clusters(backend, subject) -> None:
    assert check(backend, subject, problem("p", 40, 24, 16))["launches"] == 3
    assert [launch[-1] for launch in subject.kernel.function.launches] == [6, 6, 1]
    assert check(backend, subject, problem("q", 400, 240, 16), repeats=1)["launches"] == 1
    assert check(backend, subject, problem("r", 400, 240, 16))["status"] == "correct"
    assert subject.kernel.function.launches[-1][-1] == 2  # 26 * 31 tiles: not all on one cluster


def test_a_problem_that_does_not_fit_is_skipped_and_says_so(backend, subject, monkeypatch) -> None:
    monkeypatch.setattr(backend, "free_bytes", lambda: 1 << 20)
    figures = check(backend, subject, problem("big", 400, 240, 16))
    assert figures["status"] == "skipped"
    assert "GiB, the device has 0.0 GiB free" in figures["faults"][0]


def test_inputs_and_products_are_shared_and_dropped_when_they_grow_too_large(backend, subject) -> None:
    given = problem("p", 40, 24, 16)
    cache = Store(budget=1 << 20)
    check(backend, subject, given, cache=cache)
    entries = dict(cache.entries)
    assert {key[3:5] for key in entries} >= {("product", "f16"), ("input", "a"), ("input", "bias_n")}
    check(backend, subject, given, cache=cache)
    assert all(cache.entries[key] is entry for key, entry in entries.items())
    small = Store(budget=1)
    for name in ("p", "q"):
        check(backend, subject, problem(name, 40, 24, 16), cache=small)
    assert len(small.entries) == 1
    assert small.used == next(iter(small.entries.values()))[1]
    small.clear()
    assert (small.used, len(small.entries)) == (0, 0)


def test_what_was_used_last_is_kept_longest() -> None:
    store, made = Store(budget=2), list[str]()

    def get(name: str) -> None:
        store.get((name,), lambda: (made.append(name), 1))

    for name in ("a", "b", "a", "c", "a"):
        get(name)
    assert made == ["a", "b", "c"]


def test_variants_of_other_dtypes_have_inputs_of_their_own(backend, tmp_path: Path) -> None:
    cache = Store(budget=1 << 20)
    for name in ("f16", "bf16"):
        plan = make_plan(a=(name, "k"), b=(name, "k"))
        subject = load_subject(backend, load_variant(make_folder(tmp_path / name, plan)))
        subject.kernel.function = Spy(plan, backend, {})
        check(backend, subject, problem("p", 40, 24, 16, fill="integer"), cache=cache)
        a = subject.kernel.function.launches[0][0]
        assert set(np.unique(backend.xp.decode(a.bits, name))) == {-2, -1, 0, 1, 2}, name


def test_writing_into_the_shared_inputs_is_noticed(backend, subject) -> None:
    cache = Store(budget=1 << 20)

    def spoil(given: dict[str, Any]) -> None:
        next(value for key, (value, _) in cache.entries.items() if key[3:5] == ("input", "a")).bits[0, 0, 0] ^= 1

    subject.kernel.function.spoil = spoil
    figures = check(backend, subject, problem("p", 40, 24, 16), repeats=1, cache=cache)
    assert "memory of other tensors was overwritten" in figures["faults"]


def test_fresh_seeds_give_fresh_operands(backend, subject) -> None:
    cache = Store(budget=1 << 20)
    for seed in (1, 2):
        check_problem(backend, subject, problem("p", 40, 24, 16), 1, seed, cache, lambda _: None)
    first, second = (value.bits for key, (value, _) in cache.entries.items() if key[3:5] == ("input", "a"))
    assert not np.array_equal(first, second)


def test_the_second_launch_must_give_the_same_bits(backend, subject) -> None:
    """A last place that the first launch has and the second has not: within every bound, and a race."""
    spy = subject.kernel.function

    def spoil(given: dict[str, Any]) -> None:
        if len(spy.launches) == 2:
            given["d"].bits[0, 7, 5] ^= 1

    spy.spoil = spoil
    figures = check(backend, subject, problem("p", 40, 24, 16), repeats=2)
    assert figures["status"] == "incorrect"
    assert figures["faults"] == ["launch 1 differs from launch 0 on the same operands, first at d[0, 7, 5]"]


def test_a_check_needs_its_operands_two_outputs_and_temporaries(subject) -> None:
    given = problem("p", 40, 24, 16)
    size = {argument.name: buffer_bytes(argument, given) for argument in subject.arguments()}
    assert _needed_bytes(subject, given, None) == sum(size.values()) + size["d"] + 40 * 24 * 8 * 20
    sampled = Sample("M", [0, 39])
    assert _needed_bytes(subject, given, sampled) == sum(size.values()) + size["d"] + 2 * 24 * 8 * 20


def test_what_is_skipped_for_want_of_memory_takes_its_tensors_and_temporaries_in_float64() -> None:
    # f16: a of 40 x 16, b of 16 x 24, d of 40 x 24, and 160 bytes beside each element of d.
    assert needed_bytes(make_plan(), problem("p", 40, 24, 16)) == 1280 + 768 + 1920 + 153_600
    assert needed_bytes(make_plan(), problem("p", 40, 24, 16, 3)) == 3 * (1280 + 768 + 1920 + 153_600)


@pytest.mark.parametrize(("fault", "status"), [("", "correct"), ("late", "incorrect")])
def test_an_output_in_place_of_an_input_holds_what_it_reads(backend, tmp_path: Path, fault: str, status: str) -> None:
    plan = make_plan(epilogue=CHAIN, in_place="c")
    subject = load_subject(backend, load_variant(make_folder(tmp_path, plan)))
    subject.kernel.function = spy = Spy(plan, backend, {"fault": fault})
    apart = problem("apart", 40, 24, 16, padding=1)
    assert check(backend, subject, apart)["status"] == "correct"
    c, d = spy.launches[0][2:4]
    assert c.data_ptr() != d.data_ptr()
    figures = check(backend, subject, replace(apart, in_place=True))
    assert figures["status"] == status, figures["faults"]
    c, d = spy.launches[-1][2:4]
    assert (c.data_ptr(), c.stride()) == (d.data_ptr(), d.stride())


def test_an_output_in_place_is_aligned_as_the_input_must_be(backend, tmp_path: Path) -> None:
    plan = make_plan(epilogue=("beta_c",), in_place="c")
    narrow = tuple(replace(a, alignment=2) if a.output else a for a in plan.arguments)
    subject = load_subject(backend, load_variant(make_folder(tmp_path, replace(plan, arguments=narrow))))
    subject.kernel.function = Spy(subject.plan, backend, {})
    assert check(backend, subject, problem("odd", 5, 3, 8, in_place=True))["status"] == "correct"
    c = subject.kernel.function.launches[-1][2]
    assert c.data_ptr() % 16 == 0
    assert c.stride()[1] % 8 == 0


@pytest.mark.parametrize(("own", "asked", "launches"), [(2, 3, 2), (2, 1, 1), (0, 3, 3), (0, 0, 1)])
def test_a_problem_may_limit_its_launches(backend, subject, own: int, asked: int, launches: int) -> None:
    assert check(backend, subject, problem("p", 40, 24, 16, repeats=own), repeats=asked)["launches"] == launches
