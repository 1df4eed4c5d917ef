"""Of the mutants of each small kernel one of each kind is tried here, all of them in tests/attack/test_mutants.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.mutants import ATTACKED, DEALT, TRIED, dealt, kind, missed, share, survivors
from tests.small import FORMS
from warpwright import emulate, families
from warpwright.emulate.mutants.edits import Mutant
from warpwright.emulate.mutants.trials import mutants_of
from warpwright.emulate.variant import harness

#: Kinds that no small kernel has: none fills its accumulators with zeros one by one (tests/emulate/test_decisions.py),
#: or hands anything on through global memory (tests/emulate/test_atomics.py).
ELSEWHERE = {"no fill by", "no last fill by", "relaxed instead of"}
EACH = [(family, form, turn) for family, forms in TRIED.items() for turn, form in enumerate(forms)]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "form", "turn"), EACH)
def test_a_mutant_of_each_kind_is_caught(
    family: str, form: str, turn: int, small_kernels: Callable[[str], Mapping[str, Path]]
) -> None:
    subject = harness.load(small_kernels(family)[form])
    listed, survive = mutants_of(subject), survivors(family, form, subject.plan.label)
    assert set(survive) <= {mutant.name for mutant in listed}
    chosen = share(listed, survive, turn)
    assert {kind(mutant) for mutant in listed} - {kind(mutant) for mutant in chosen} <= {
        name.partition(" #")[0] for name in survive
    }
    assert missed(subject, chosen) == []


@pytest.mark.slow
@pytest.mark.parametrize(("family", "form"), [(family, form) for family in DEALT for form in FORMS[family]])
def test_a_mutant_of_each_kind_is_caught_on_some_form(
    family: str, form: str, small_kernels: Callable[[str], Mapping[str, Path]]
) -> None:
    built = small_kernels(family)
    subjects = {each: harness.load(built[each]) for each in FORMS[family]}
    listed = {each: mutants_of(subject) for each, subject in subjects.items()}
    survive = {each: survivors(family, each, subject.plan.label) for each, subject in subjects.items()}
    assert set(survive[form]) <= {mutant.name for mutant in listed[form]}
    chosen = {each: share(listed[each], survive[each], turn) for turn, each in enumerate(listed)}
    mine = dealt({each: {kind(mutant) for mutant in found} for each, found in chosen.items()})[form]
    assert missed(subjects[form], [mutant for mutant in chosen[form] if kind(mutant) in mine]) == []


def test_each_kind_is_dealt_to_one_form_that_has_it() -> None:
    kinds = {"a": {"delete x", "flip y", "flip z"}, "b": {"flip y", "flip z", "+1 in w"}, "c": set[str]()}
    found = dealt(kinds)
    assert sorted(each for mine in found.values() for each in mine) == sorted(set().union(*kinds.values()))
    assert all(found[form] <= kinds[form] for form in kinds)


def test_every_family_has_its_mutants_tried() -> None:
    assert {name.removesuffix("_sm100a") for name in FORMS} == set(families.NAMES)
    assert set(ATTACKED) == set(FORMS) == {*TRIED, *DEALT}
    assert all(ATTACKED.values())


def test_one_of_each_kind_is_chosen_and_another_in_each_turn() -> None:
    listed = [Mutant(f"{what} #{n}", 1, "", ()) for what in ("delete a", "flip a", "delete b") for n in (1, 2, 3)]

    def chosen(turn: int, *surviving: str) -> list[str]:
        return [mutant.name for mutant in share(listed, surviving, turn)]

    assert chosen(0) == ["delete a #1", "flip a #1", "delete b #1"]
    assert chosen(4, "flip a #2") == ["delete a #2", "flip a #1", "delete b #2"]
    assert chosen(0, *(f"flip a #{n}" for n in (1, 2, 3))) == ["delete a #1", "delete b #1"]


@pytest.mark.slow
def test_every_kind_that_the_emulator_knows_is_tried(small_kernels: Callable[[str], Mapping[str, Path]]) -> None:
    """A new one, wherever it is written, that no small kernel has is none that `make test` tries."""
    written = {words for path in Path(emulate.__file__).parent.rglob("*.py") for words in kinds_in(path)}
    assert len(written) > 10
    tried = {
        kind(mutant)
        for family, forms in ATTACKED.items()
        for turn, form in enumerate(forms)
        for subject in [harness.load(small_kernels(family)[form])]
        for mutant in share(mutants_of(subject), survivors(family, form, subject.plan.label), turn)
    }
    untried = {words for words in written if not any(re.match(words, one) for one in tried)}
    assert untried == {re.escape(words) for words in ELSEWHERE}


def kinds_in(path: Path) -> set[str]:
    """Patterns of the kinds that functions of a module yield as alterations: (kind, opcode, line, edits)."""
    found = set()
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef) and "Alteration" in ast.unparse(function.returns or ast.Constant(0)):
            for node in ast.walk(function):
                if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                    found.add(_pattern(node.value.elts[0]))
    return found


def _pattern(words: ast.expr) -> str:
    if isinstance(words, ast.JoinedStr):
        return "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in words.values)
    assert isinstance(words, ast.Constant), ast.unparse(words)
    return re.escape(words.value)
