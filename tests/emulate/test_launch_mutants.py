"""Mutants of a launch: which there are, that each is noticed, and what running them would show."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.emulate.mutants.edits import Mutant
from warpwright.emulate.mutants.trials import Trial, mutants_of, trials
from warpwright.emulate.units.tma.encoding import field
from warpwright.emulate.variant import harness


def of_launch(folder: Path) -> list[Mutant]:
    return [mutant for mutant in mutants_of(harness.load(folder)) if mutant.launch is not None]


def test_every_kind_is_listed(cooperative: Path) -> None:
    names = {mutant.name for mutant in of_launch(cooperative)}
    a = {
        "address +16 B", "extent of K -1", "extent of M -1", "extent of L -1", "stride of M doubled",
        "stride of L doubled", "every second M", "every second L", "box of K -32", "box of M -1", "another swizzle",
        "another type", "NaN outside",
    }  # fmt: skip
    assert {name for name in names if name.endswith("in the tensor map of a")} == {
        f"{what} in the tensor map of a" for what in a
    }
    assert {
        "+1 in the extents of b #2 (parameter 3)",
        "+16 in d_mnl's address (parameter 6)",
        "+1 in d_mnl's extent of N (parameter 6)",
        "+1 in d_mnl's stride of M (parameter 6)",
        "+1 in cluster_tiles #1 (parameter 10)",
        "+1 in k_tiles #1 (parameter 11)",
        "a cluster more in the grid",
    } <= names
    assert len(names) == len(of_launch(cooperative))


@pytest.mark.parametrize("which", ["cooperative", "with_c"])
def test_each_is_noticed(which: str, request: pytest.FixtureRequest) -> None:
    subject = harness.load(request.getfixturevalue(which))
    chosen = [mutant for mutant in mutants_of(subject) if mutant.launch is not None]
    done = list(trials(subject, chosen))
    assert [trial.mutant.name for trial in done if trial.survived] == []
    kinds = {trial.mutant.name: trial.caught.partition(":")[0] for trial in done}
    for name, kind in kinds.items():
        # A grid that is another one differs from the plan; none at all is refused.
        due = {"tensor-map"} if "tensor map" in name else {"plan", "launch-refused"} if "grid" in name else {"launch"}
        assert kind in due, (name, kind, [t.caught for t in done if t.mutant.name == name])


def test_only_what_the_name_says_is_altered(cooperative: Path) -> None:
    subject = harness.load(cooperative)
    call = subject.prepare(subject.cases()[0]).calls[0]
    (mutant,) = (each for each in of_launch(cooperative) if each.name == "extent of M -1 in the tensor map of a")
    assert mutant.launch is not None
    (altered,) = mutant.launch((call.launch,))
    assert altered.params[1:] == call.launch.params[1:]
    before, after = call.launch.params[0], altered.params[0]
    assert field(after, "extent", 1) == (field(before, "extent", 1) - 1) % 2**32
    assert after[:36] + after[40:] == before[:36] + before[40:]


def test_a_launch_that_is_left_as_it_is_survives(cooperative: Path) -> None:
    subject = harness.load(cooperative)
    same = Mutant("no fault", 0, "the launch", (), lambda launches: launches)
    assert list(trials(subject, [same])) == [Trial(same, "")]
