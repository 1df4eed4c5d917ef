"""What a trace says of loads that no warp can see, and figures of random traces against counting every clock."""

from __future__ import annotations

import random

import pytest

from tests.diagnosis.written import Written
from tests.emulate.plans import gemm_plan
from warpwright.diagnosis.figures import figures_of
from warpwright.diagnosis.spans import Ring, Span, Trace, trace_of

PRODUCER, FIRST, SECOND = 8, range(4), range(4, 8)


def test_a_load_has_landed_when_the_first_who_waits_has_it() -> None:
    """Where somebody does not wait, it took what the median of the others did, and no longer than until it was had."""
    plan = gemm_plan({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4})
    written = Written(plan)
    had = {0: (0, 500), 1: (1000, 1600), 2: (2000, 2700), 3: (3000, 3800), 4: (4000, 4900), 5: (5300, 5320)}
    for n, (wait, got) in had.items():
        written.stamp(PRODUCER, n, AB_WAIT=1000 * n - 20, AB_GOT=1000 * n - 10, AB_DONE=1000 * n)
        for warp in FIRST:
            written.stamp(warp, n, AB_WAIT=wait, AB_GOT=got, AB_DONE=got + 50, AB_RELEASED=got + 50)
        for warp in SECOND:  # later, and in round 4 so late that it is there
            waits = 4930 if n == 4 else wait
            written.stamp(warp, n, AB_WAIT=waits, AB_GOT=got + 50, AB_DONE=got + 90, AB_RELEASED=got + 90 - 20 * n)
    trace = trace_of(plan.main, written.marks)
    (ring,) = trace.rings
    assert ring.issued == {n: 1000 * n for n in had}
    assert ring.landed == {0: 500, 1: 1600, 2: 2700, 3: 3800, 4: 4650, 5: 5320}
    assert ring.freed == {n: max(got + 50, got + 90 - 20 * n) for n, (_, got) in had.items()}
    loads = {span.round: (span.start, span.end, span.what) for span in trace.spans if span.kind == "load"}
    assert loads == {n: (1000 * n, ring.landed[n], f"ab stage {n % 4}") for n in had}


def _random(seed: int) -> Trace:
    """Loads and releases of rounds, and what three warps of two roles do, wherever they like."""
    draw = random.Random(seed)
    issued = {n: draw.randrange(300) for n in range(8)}
    landed = {n: clock + draw.randrange(1, 120) for n, clock in issued.items() if draw.random() < 0.9}
    freed = {n: clock + draw.randrange(1, 120) for n, clock in landed.items() if draw.random() < 0.9}
    spans = [Span("load", "producer", 4, issued[n], landed[n], f"ab stage {n % 4}", n) for n in landed]
    for role, warp in (("consumer", 0), ("consumer", 1), ("producer", 4)):
        for n in range(6):
            kind = draw.choice(("wait", "turn", "compute", "store")) if role == "consumer" else "wait"
            what = f"{draw.choice(('ab_full', 'ab_empty'))}[{n % 4}]" if kind == "wait" else "its turn"
            start = 80 * n + draw.randrange(40)
            spans.append(Span(kind, role, warp, start, start + draw.randrange(1, 40), what, n))
    spans.append(Span("compute", "consumer", 0, 100, 420, "ab stage 0", 7))
    return Trace(0, tuple(spans), (Ring("ab", 4, issued, landed, freed, {}, ()),))


@pytest.mark.parametrize("seed", range(40))
def test_figures_are_what_counting_every_clock_gives(seed: int) -> None:
    trace = _random(seed)
    found, (ring,) = figures_of(trace), trace.rings
    assert found is not None
    computed = [span for span in trace.spans if span.kind == "compute"]
    first, last = min(span.start for span in computed), max(span.end for span in computed)

    def goes_on(clock: int, *kinds: str, warp: int | None = None, what: str = "", role: str = "") -> int:
        return sum(
            span.start <= clock < span.end and span.kind in kinds and warp in (None, span.warp)
            and span.what.startswith(what) and span.role.startswith(role) for span in trace.spans
        )  # fmt: skip

    clocks = range(first, last)
    pairs = [(goes_on(t, "load") > 0, goes_on(t, "compute") > 0) for t in clocks]
    parts = [pairs.count(pair) / len(clocks) for pair in ((True, True), (True, False), (False, True), (False, False))]
    assert (found.both, found.loads, found.compute, found.neither) == pytest.approx(parts)
    assert (found.clocks, found.rounds, found.stages) == (len(clocks), len(ring.freed), 4)
    assert found.overlap == pytest.approx(parts[0] / min(parts[0] + parts[1], parts[0] + parts[2]))

    def levels(begun: dict[int, int], ended: dict[int, int]) -> list[int]:
        return [sum(c <= t for c in begun.values()) - sum(c <= t for c in ended.values()) for t in clocks]

    lead, used = levels(ring.landed, ring.freed), levels(ring.issued, ring.freed)
    assert found.lead == pytest.approx({level: lead.count(level) / len(clocks) for level in sorted(set(lead))})
    assert found.mean_lead == pytest.approx(sum(lead) / len(clocks))
    assert found.deep == pytest.approx(sum(level > 1 for level in used) / len(clocks))
    for role, warps in (("consumer", (0, 1)), ("producer", (4,))):
        for what, kind in (("ab_full", "wait"), ("ab_empty", "wait"), ("its turn", "turn")):
            stalled = sum(goes_on(t, kind, warp=w, what=what) and not goes_on(t, "compute", warp=w)
                          for t in clocks for w in warps)  # fmt: skip
            part = found.stalls.get(role, {}).get(what, 0.0)
            assert part == pytest.approx(stalled / len(clocks) / len(warps)), (role, what)
