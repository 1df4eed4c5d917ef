"""Of several CTAs that do not end, the one is told that explains most, wherever it stands."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.diagnosis.written import Written
from tests.emulate.plans import gemm_plan
from warpwright.diagnosis.hang import hang_of
from warpwright.diagnosis.report import Report

#: What explains most comes first, with what is said of it.
KINDS = {
    "phase": "its phase starts wrong",
    "kept": "taken round 0, to be released only once round 1 is there",
    "follows": "not come to load round 0",
}


def _note(written: Written, kind: str, cta: int) -> None:
    """Consumers that wait for the first load, with the wrong parity or for a producer that never came; or a ring of one
    stage, whose producer waits until it is released."""
    kept = kind == "kept"
    for warp in range(8):
        written.note(warp, "AB_WAIT", kept, 0, int(kept or kind == "phase"), cta)
        if kept:
            written.note(warp, "AB_GOT", 0, 0, 0, cta)
    if kept:
        written.note(8, "AB_WAIT", 1, 0, 0, cta)
        written.note(8, "AB_DONE", 0, 0, 0, cta)


@pytest.mark.parametrize("kinds", [*permutations(KINDS), *permutations(("kept", "follows")), ("follows", "follows")])
def test_the_cta_that_explains_most_is_told(kinds: tuple[str, ...]) -> None:
    plan = gemm_plan({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4})
    written = Written(plan)
    for cta, kind in enumerate(kinds):
        _note(written, kind, cta)
    found = hang_of(plan.main, written.marks)
    assert found is not None
    told = next(kind for kind in KINDS if kind in kinds)
    assert (found.cta, found.alike) == (kinds.index(told), len(kinds) - 1)
    assert KINDS[told] in found.head
    assert [cause.rank for cause in found.causes] == sorted(cause.rank for cause in found.causes)
    text = "\n".join(Report("v", "p", "measured", "hang", "gpu", hang=found).lines())
    others = "2 more CTAs do not" if len(kinds) == 3 else "one more CTA does not"
    assert f"CTA {found.cta}, and {others} end either" in text
