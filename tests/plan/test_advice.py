"""Verdicts on specialised warps, each number worked out by hand: 1.5 GHz, 132 SMs of 228 KiB, 4 us to launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.families.copy.points import legal
from tests.plan.space import point
from warpwright import families
from warpwright.archs import H200
from warpwright.plan import plan
from warpwright.plan.advice import Advice, advise
from warpwright.plan.advice_text import advice_text
from warpwright.plan.choosing import choose
from warpwright.plan.phases import Phases
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

SQUARE = {"M": 4096, "N": 4096, "K": 4096, "L": 1}
TOY = Phases(
    stage="a stage",
    stage_bytes=8192,
    stages=4,
    held=1,
    load={"bus": 100.0},
    compute={"units": 200.0},
    both={"bus": 150.0},
    latency=900.0,
    steps=1_000_000,
    resident=1,
    producer_warps=1,
    consumer_warps=4,
    registers=100,
    asked_bytes=10e9,
    read_bytes=1.5e9,
    written_bytes=0.5e9,
    dram_bytes_per_second=4e12,
    pieces=1320,
    slots=132,
)
Toy = Callable[..., Advice]


def seconds(clocks: float) -> float:
    """Of a launch of a million stages."""
    return pytest.approx(1e6 * clocks / 1.5e9 + 4e-6)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """Advice of a kernel of which everything is as the test says: fields of `Phases`, and of its launch."""
    family = families.family("gemm")
    right = family.targets["sm_90a"]
    planned = plan(point())

    def advised(measured: float | None = None, kernel: dict[str, Any] | None = None, **changes: Any) -> Advice:
        phases = replace(TOY, **changes)
        predicted = Prediction(
            phases.overlapped(H200, phases.stages, phases.resident), 1.0, "TB/s", "units", {}, {"piece": 1, "round": 1}
        )
        wrong = replace(right, predict=lambda *_: predicted, phases=lambda *_: phases)
        monkeypatch.setitem(family.targets, "sm_90a", wrong)  # type: ignore[arg-type]
        launch = {"threads": 160, "shared_bytes": 200_000, "ctas_per_sm": 1, **(kernel or {})}
        return advise(replace(planned, kernels=(replace(planned.main, **launch),)), SQUARE, measured)

    return advised


def way(a: Advice, name: str) -> Any:
    (found,) = [each for each in a.alternatives if each.name == name]
    return found


def test_what_a_stage_takes_with_and_without_a_ring() -> None:
    """Units take 200 clocks. Three loads on their way come every 300, one alone takes 900; all warps stop for 80."""
    assert TOY.overlapped(H200, 4, 1) == seconds(300)
    assert TOY.overlapped(H200, 6, 1) == TOY.overlapped(H200, 4, 2) == seconds(200)
    assert TOY.needed(H200, 1) == 1 + 5
    assert TOY.needed(H200, 2) == 1 + 3
    assert replace(TOY, held=0).needed(H200, 1) == 5
    assert replace(TOY, queued=50).needed(H200, 1) == 1 + 6
    assert replace(TOY, queued=200).needed(H200, 1) is None
    assert TOY.in_turn(H200, 1, 1) == seconds(900 + 200 + 80)
    assert TOY.in_turn(H200, 1, 4) == seconds((900 + 200 + 80) / 4)
    assert replace(TOY, queued=50).in_turn(H200, 1, 4) == seconds((900 + 200 + 80) / 4 + 50)
    assert TOY.in_turn(H200, 2, 1) == seconds((900 + 200 + 80) / 2)
    assert TOY.in_turn(H200, 4, 1) == seconds((900 + 200 + 80) / 4)
    assert TOY.in_turn(H200, 5, 1) == seconds(200 + 80)
    assert TOY.in_turn(H200, 5, 2) == seconds(200)
    assert replace(TOY, exposed=3e6).overlapped(H200, 6, 1) == seconds(203)
    assert replace(TOY, most=2).overlapped(H200, 4, 1) == seconds(450)
    assert replace(TOY, most=2).needed(H200, 1) == 1 + 2
    uneven = replace(TOY, read_bytes=4e9)
    assert uneven.load_terms(H200) == pytest.approx({"bus": 100, "DRAM": 1.5})  # 1 ms is 1.5 clocks of a million stages
    assert uneven.compute_terms(H200) == pytest.approx({"units": 200, "DRAM": 1.5 / 8})
    assert uneven.both_terms(H200) == pytest.approx({"bus": 150, "DRAM": 1.5 * 9 / 8})
    assert replace(TOY, read_bytes=4e12).overlapped(H200, 4, 1) == pytest.approx(4.0005 / 4 + 4e-6)
    # DRAM takes 0.4 s, 600 clocks a stage; where 200 of them pass in each stage without loads, a load is due every 400.
    slow = replace(TOY, read_bytes=1.6e12, written_bytes=0.0)
    assert (slow.needed(H200, 1), replace(slow, exposed=2e8).needed(H200, 1)) == (1 + 2, 1 + 3)
    assert TOY.from_l2 == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("producer", "consumer", "warps", "split"),
    [
        (0, 0, (2, 8), (1, 8)),  # no warp's work: TMA and tensor cores
        (0, 300, (1, 4), (1, 2)),
        (0, 90, (1, 4), (1, 1)),
        (150, 450, (4, 12), (1, 3)),  # keeps the pace of 200 clocks
        (1000, 3000, (8, 8), (4, 12)),  # 20 warps' work for 16
        (3000, 1000, (8, 8), (12, 4)),
        (10, 10_000, (8, 8), (1, 15)),
        (10_000, 10, (8, 8), (15, 1)),
    ],
)
def test_the_split_of_the_warps_follows_their_work(
    producer: float, consumer: float, warps: tuple[int, int], split: tuple[int, int]
) -> None:
    found = replace(
        TOY, producer_work=producer, consumer_work=consumer, producer_warps=warps[0], consumer_warps=warps[1]
    )
    assert found.split(H200) == split


def test_ctas_of_an_sm_take_turns_at_their_work(toy: Toy) -> None:
    """Of two CTAs each has 400 clocks for a stage."""
    assert replace(TOY, consumer_work=500, resident=2).split(H200) == (1, 2)
    few = toy(stages=6, consumer_work=500, consumer_warps=2)
    assert "the work asks for 1 producer and 3 consumer warps; 1 and 2 are planned" in few.reasons
    more = toy(stages=6, consumer_work=500)
    assert "the work asks for 1 producer and 3 consumer warps; 1 and 4 are planned, which is enough" in more.reasons
    assert "the work asks for 1 producer and 4 consumer warps, as planned" in toy(stages=6, consumer_work=700).reasons


def test_worth_it(toy: Toy) -> None:
    found = toy(stages=6)
    assert found.worth
    assert found.verdict == "worth it: with 6 buffers that all warps load and compute it takes 40% longer"
    assert found.gain == pytest.approx(280 / 200 - 1, abs=0.01)
    assert way(found, "all warps load and compute, 1 buffer").seconds == seconds(1180)
    assert way(found, "all warps load and compute, 2 buffers").seconds == seconds(1180 / 2)
    assert "load : compute = 1 : 2 (100 clocks a stage, bus, to 200, units)" in found.reasons
    assert "L2 serves 80% of the traffic, DRAM the rest" in found.reasons
    assert found.reserve == pytest.approx(200 / 180)


def test_a_ring_that_is_too_shallow(toy: Toy) -> None:
    found = toy(stages=2, kernel={"shared_bytes": 150_000})
    assert found.worth is False
    assert found.verdict.endswith(
        "with 2 stages, too few to hide a load: with 6 stages it gains 40% over 6 buffers that all warps load"
    )
    again = toy(stages=2, kernel={"shared_bytes": 150_000}, compute={"units": 20.0}, both={"bus": 200.0})
    assert again.verdict.endswith("with 6 stages it takes as long as 6 buffers that all warps load")
    assert (
        "hiding a load of 0.6 us takes 6 stages, 40 KiB on their way to an SM; 2 are too few, 5 fit"
        in toy(stages=2, kernel={"shared_bytes": 232_448 - 3 * (8192 + 16)}).reasons
    )


def test_launching_takes_half_of_it(toy: Toy) -> None:
    """40 stages of 200 clocks are 5.3 us, and of 280 they are 7.5."""
    small = {"stages": 6, "read_bytes": 0, "written_bytes": 0}
    found = toy(steps=40, **small)
    assert found.verdict == "worth it: with 6 buffers that all warps load and compute it takes 23% longer"
    found = toy(steps=40, **small, measured=6e-6)
    assert found.verdict == "not worth it: the kernel takes 6.0 us, and launching it is 67% of that"
    assert toy(steps=31, **small).worth
    assert toy(steps=29, **small).worth is False


@pytest.mark.parametrize(
    ("load", "compute", "factor", "slow", "fast"),
    [(375, 4500, 12, "computing", "loading"), (4500, 375, 12, "loading", "computing")],
)
def test_phases_that_differ_tenfold(toy: Toy, load: float, compute: float, factor: int, slow: str, fast: str) -> None:
    """A load of 30 clocks: there is nothing to hide."""
    found = toy(load={"bus": load}, compute={"units": compute}, both={}, latency=30.0, stages=6)
    assert found.worth is False
    told = f"phases differ {factor}-fold: {slow} takes nearly all the time, {fast} would idle"
    assert found.verdict == f"not worth it: {told}"
    assert any(reason.endswith("; one side idles nine tenths of the time") for reason in found.reasons)


def test_buffers_that_cost_resident_ctas(toy: Toy) -> None:
    """Of 64,576 bytes an SM holds three CTAs, without two buffers of 8 KiB four; there are registers for five."""
    launch = {"shared_bytes": 64_576, "ctas_per_sm": 3}
    found = toy(stages=3, resident=3, slots=396, kernel=launch)
    assert (
        "2 buffers of 8 KiB more cost 1 resident CTA: 3 per SM, and 4 with one buffer and no producers" in found.reasons
    )
    without = way(found, "all warps load and compute, 1 buffer")
    assert (without.resident, without.seconds) == (4, seconds(1180 / 4))
    again = toy(stages=3, resident=3, slots=396, kernel=launch, latency=500.0)
    assert again.verdict == (
        "not worth it: 4 CTAs with 1 buffer each share an SM and hide each other's loads; "
        "2 buffers of 8 KiB more cost 1 of them"
    )
    many = toy(stages=3, resident=3, slots=396, kernel=launch, registers=200)  # two CTAs' registers
    assert way(many, "all warps load and compute, 1 buffer").resident == 2
    few = toy(stages=3, resident=3, slots=396, kernel=launch, pieces=264)
    assert way(few, "all warps load and compute, 1 buffer").resident == 2


@pytest.mark.parametrize(
    ("changes", "resident"),
    [
        ({"consumer_warps": 16, "registers": 10}, 4),  # 2048 threads
        ({"consumer_warps": 1, "registers": 10, "pieces": 132 * 100}, 32),  # as many as an SM takes
        ({"registers": 128}, 4),  # 65,536 registers
        ({"registers": 10}, 10),  # 1320 pieces on 132 SMs
    ],
)
def test_what_limits_the_ctas_of_an_sm(toy: Toy, changes: dict[str, int], resident: int) -> None:
    found = toy(**changes, stage_bytes=128, kernel={"shared_bytes": 2048, "ctas_per_sm": 4})
    one = way(found, "all warps load and compute, 1 buffer")
    assert (one.resident, one.shared_bytes) == (resident, 2048 - 3 * (128 + 16))


def test_one_stage_more_that_costs_a_resident_cta(toy: Toy) -> None:
    """3 * (76,000 + 1024) bytes are 231,072 of 233,472; 8208 more in each are too many, and two CTAs are left."""
    found = toy(stages=3, resident=3, slots=396, kernel={"shared_bytes": 76_000, "ctas_per_sm": 3})
    assert "1 buffer of 8 KiB more would cost 1 of 3 resident CTAs" in found.reasons
    assert found.fitting_stages == 3
    deeper = way(found, "4 stages")
    assert (deeper.resident, deeper.seconds) == (2, seconds(200))
    room = toy(stages=3, resident=3, slots=396, kernel={"shared_bytes": 50_000, "ctas_per_sm": 3})
    assert way(room, "one CTA more per SM").resident == 4
    for changes, threads in (({"registers": 200}, 160), ({"registers": 10}, 640), ({"pieces": 396}, 160)):
        launch = {"shared_bytes": 50_000, "ctas_per_sm": 3, "threads": threads}
        full = toy(stages=3, resident=3, slots=396, kernel=launch, **changes)
        assert not [each for each in full.alternatives if "more per SM" in each.name], (changes, threads)


def test_a_time_that_contradicts_the_prediction(toy: Toy) -> None:
    predicted = 1e6 * 200 / 1.5e9 + 4e-6
    for factor, known in ((0.7, False), (0.9, True), (1.1, True), (1.3, False)):
        found = toy(stages=6, measured=factor * predicted)
        assert (found.worth is not None) == known, factor
        assert found.verdict.startswith("worth it" if known else "not known: it took ")


def test_rounds_and_places_that_stay_empty(toy: Toy) -> None:
    assert "1320 pieces in 10 rounds of 132, 0% of the places in them empty" in toy().reasons
    told = (
        "133 pieces in 2 rounds of 132, and the last has 1: 50% of the SMs' time is idle; smaller pieces would fill it"
    )
    assert told in toy(pieces=133).reasons


def test_a_family_that_tells_no_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    family = families.family("gemm")
    bare = replace(family.targets["sm_90a"], phases=None)
    monkeypatch.setitem(family.targets, "sm_90a", bare)  # type: ignore[arg-type]
    found = advise(plan(point()), SQUARE)
    assert (found.worth, found.phases, found.alternatives) == (None, None, ())
    assert found.verdict == "not known: the family does not tell what loading and computing a stage take"
    assert advise(plan(point()), SQUARE, measured=7e-6).worth is False
    assert "Alternatives" not in advice_text(plan(point()), found)
    assert choose([found]).label == found.label


def test_nothing_to_compute() -> None:
    assert advise(plan(point()), {**SQUARE, "M": 0}).verdict == "nothing to compute: the kernel is not launched"
    assert advise(legal(), {"N": 0}).worth is False


def test_an_illegal_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="illegal"):
        advise(plan(point({"design.stages": 60})), SQUARE)


# Real kernels -----------------------------------------------------------------------------------------------


LARGE_TILE = {"design.tile": {"m": 128, "n": 256, "k": 64}, "design.cluster": {"m": 2, "n": 1}}


def told(planned: Plan, extents: dict[str, int]) -> tuple[str, ...]:
    found = advise(planned, extents)
    return (found.verdict, *found.reasons)


def gemm() -> tuple[str, ...]:
    return told(plan(point(LARGE_TILE)), SQUARE)


def copied() -> tuple[str, ...]:
    return told(legal(stage_bytes=4096, stages=4, ctas_per_sm=4, store="direct"), {"N": 2**28})


#: 2 * 64 * (128 + 128) bytes at 46.6 a clock; 2 * 128 * 256 * 64 operations at 4096. A load is there after 750 clocks
#: and 49,152 bytes at L2's rate: 1805. 1024 + 80 clocks where all warps stop, four waves of 64 stages and the epilogue.
GEMM = (
    "worth it: with 3 buffers that all warps load and compute it takes 7% longer",
    "load : compute = 1 : 1.5 (703 clocks a stage, L2, to 1024, tensor cores)",
    "hiding a load of 1.2 us takes 3 stages, 96 KiB on their way to an SM; 4 are enough, more do not fit",
)
#: 4096 bytes of x at DRAM's 4.27 TB/s, less 5 %, over 132 SMs, and as many of y. 48 registers of 128 threads: ten CTAs.
COPY = (
    "not worth it: 10 CTAs with 1 buffer each share an SM and hide each other's loads; "
    "3 buffers of 4 KiB more cost 6 of them",
    "load : compute = 1 : 1 (199 clocks a stage, DRAM, to 199, DRAM)",
    "hiding a load of 0.6 us takes 2 stages in each of 4 CTAs of an SM, 32 KiB on their way to an SM; "
    "4 are enough, 13 fit",
    "the work asks for 1 producer and 1 consumer warps; 1 and 4 are planned, which is enough",
)


def test_what_is_told_of_a_gemm_and_of_a_copy() -> None:
    assert set(GEMM) <= set(gemm())
    assert set(COPY) <= set(copied())
    assert "1 CTA per SM (allowed by shared memory 1, registers 1, threads 5)" in gemm()
    assert "4 CTAs per SM (allowed by shared memory 13, registers 4, threads 12, the design 4)" in copied()


def _swapped(phases: Phases) -> Phases:
    return replace(
        phases,
        load=phases.compute,
        compute=phases.load,
        read_bytes=phases.written_bytes,
        written_bytes=phases.read_bytes,
        producer_work=phases.consumer_work,
        consumer_work=phases.producer_work,
    )


@pytest.mark.parametrize(
    ("wrong", "of_gemm", "of_copy"),
    [
        (lambda phases: replace(phases, latency=phases.latency / 10), {GEMM[2]}, {COPY[2]}),
        (_swapped, set(GEMM[:2]), {COPY[3]}),
        (lambda phases: replace(phases, resident=1), set(), set(COPY[::2])),
        (lambda phases: replace(phases, registers=255), set(), {COPY[0]}),
    ],
    ids=["a tenth of the latency", "load and compute swapped", "residency ignored", "registers ignored"],
)
def test_phases_that_are_wrong_show(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Phases], Phases], of_gemm: set[str], of_copy: set[str]
) -> None:
    for name in ("gemm", "copy"):
        family = families.family(name)
        right = family.targets["sm_90a"]
        assert right.phases is not None

        def phases(*given: Any, told: Any = right.phases) -> Phases:
            return wrong(told(*given))

        monkeypatch.setitem(family.targets, "sm_90a", replace(right, phases=phases))  # type: ignore[arg-type]
    assert set(GEMM) - set(gemm()) >= of_gemm
    assert set(COPY) - set(copied()) >= of_copy


def test_the_text_of_one_plan() -> None:
    planned = plan(point(LARGE_TILE))
    lines = advice_text(planned, advise(planned, SQUARE)).splitlines()
    assert lines[0] == f"{planned.label}, 4096x4096x4096, NVIDIA H200"
    assert lines[2] == GEMM[0].capitalize()
    cells = [line.split() for line in lines]
    assert ["1024", "compute", "tensor", "cores"] in cells
    assert ["703", "load", "L2"] in cells
    assert any(cell[:2] == ["182.5", "us"] and cell[-4:] == ["as", "planned:", "4", "stages"] for cell in cells)
    slow = [line for line in lines if line.endswith("all warps load and compute, 2 buffers")]
    assert len(slow) == 1
    assert slow[0].split()[:3] == ["256.0", "us", "-28.7%"]


# Choices ----------------------------------------------------------------------------------------------------


def advised(label: str, us: float, reserve: float = 1.0, measured: float | None = None) -> Advice:
    predicted = Prediction(us * 1e-6, 1.0, "TB/s", "DRAM")
    return Advice(label, SQUARE, predicted, None if measured is None else measured * 1e-6, reserve=reserve)


def test_the_fastest_is_taken_and_of_equal_ones_that_with_most_to_spare() -> None:
    found = choose([advised("a", 100, 1.1), advised("b", 100.9, 1.5), advised("c", 102, 9)])
    assert found.label == "b"
    assert found.behind == pytest.approx({"a": 100 / 100.9 - 1, "b": 0, "c": 102 / 100.9 - 1})
    assert "1 more within 1%, of which its ring has most to spare: stages come 1.5 times as fast" in found.why
    assert "the next takes 1.1% longer" in found.why
    assert choose([advised("a", 100), advised("b", 98)]).label == "b"


def test_what_was_measured_decides_and_scales_the_rest() -> None:
    found = choose([advised("a", 100, measured=150), advised("b", 110, measured=140), advised("c", 90)])
    # Measured times are 1.5 and 1.27 of those predicted, typically 1.386: c would take 124.8.
    assert found.label == "c"
    assert found.seconds["c"] == pytest.approx(90e-6 * (1.5 + 140 / 110) / 2)
    assert found.why.startswith("124.8 us predicted")
    assert choose([advised("a", 100, measured=100.5), advised("b", 100, measured=100.1)]).label == "b"
    near = choose([advised("a", 100, 9.0), advised("b", 100.5, 1.0, measured=100.5)])
    assert near.label == "b"
    assert near.why.startswith("100.5 us measured")


def test_with_and_without_specialised_warps_of_one_sweep() -> None:
    bare = [
        replace(advised("c", 110, measured=104.0), specialised=False),
        replace(advised("d", 120), specialised=False),
    ]
    roles = [advised("a", 100, measured=100.0), advised("b", 105)]
    found = choose([*roles, *bare])
    told = "100.0 us (measured) a, and without them 104.0 us (measured) c, +4.0%"
    assert (found.worth, found.compared) == (True, f"specialised warps are worth it: {told}")
    slower = choose([advised("a", 103), *roles[1:], *(replace(each, measured=None) for each in bare)])
    assert slower.worth
    assert slower.compared.startswith("specialised warps are worth it: 103.0 us (predicted) a, ")
    same = choose([advised("a", 108), replace(advised("c", 110), specialised=False)])
    assert (same.worth, same.label) == (False, "a")
    assert "not worth it" in same.compared
    assert (choose(roles).worth, choose(bare).compared) == (None, "")


def test_a_kernel_whose_warps_all_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(point())
    family = families.family("gemm")
    none = replace(family.targets["sm_90a"], phases=lambda *_: None)
    monkeypatch.setitem(family.targets, "sm_90a", none)  # type: ignore[arg-type]
    role = replace(planned.main.roles[0], name="all", warps=planned.main.threads // 32)
    found = advise(replace(planned, kernels=(replace(planned.main, roles=(role,)),)), SQUARE)
    assert (found.specialised, found.worth, found.verdict) == (False, None, "no warps are specialised")
    assert advise(planned, SQUARE).specialised


def test_there_must_be_something_to_choose_from() -> None:
    with pytest.raises(ValueError, match="no plan"):
        choose([])
