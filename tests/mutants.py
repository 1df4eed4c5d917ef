"""Mutants of small kernels: `make test` tries one of each kind on each form of a family, `make attack` all of them.

A mutant that no case catches says that a fault in its place would not be caught either. Alike ones are caught alike:
what a run of the tests must show is that no kind has stopped to be.
"""

from __future__ import annotations

import binascii
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tests.small import FORMS
from warpwright.emulate.mutants.edits import Mutant
from warpwright.emulate.mutants.trials import read_reasons, trials
from warpwright.emulate.variant.harness import Subject

__all__ = ["ATTACKED", "DEALT", "TRIED", "dealt", "kind", "missed", "share", "survivors"]

#: Of each family the forms whose mutants are tried. Of the ladder threads that load, and a ring: its first rung and its
#: third have nothing that these have not; for Blackwell its third, where tensor memory and TMA are.
ATTACKED: Mapping[str, Sequence[str]] = FORMS | {"gemm": ("cooperative",), "ladder": ("grid", "ring", "blackwell_tma")}
#: Families of so many forms that `make test` deals the kinds out to them, instead of trying one of each on each.
DEALT = ("gemm_sm100a",)
TRIED: Mapping[str, Sequence[str]] = {name: forms for name, forms in ATTACKED.items() if name not in DEALT}

_HERE = Path(__file__).parent


def kind(mutant: Mutant) -> str:
    """What is altered, of which instruction: a mutant's name without the count of its place."""
    return mutant.name.partition(" #")[0]


def share(listed: Iterable[Mutant], surviving: Iterable[str], turn: int) -> list[Mutant]:
    """Return one mutant of each kind that is no survivor: of kinds with several, others for each `turn`."""
    of_kind: dict[str, list[Mutant]] = {}
    for mutant in listed:
        if mutant.name not in surviving:
            of_kind.setdefault(kind(mutant), []).append(mutant)
    return [alike[turn % len(alike)] for alike in of_kind.values()]


def dealt(kinds: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Deal kinds out to the forms that have them (`kinds` by form): each to one."""
    found: dict[str, set[str]] = {form: set() for form in kinds}
    for each in sorted(set().union(*kinds.values())):
        forms = [form for form in kinds if each in kinds[form]]
        found[forms[binascii.crc32(each.encode()) % len(forms)]].add(each)
    return found


def survivors(family: str, form: str, label: str) -> list[str]:
    """The names of the mutants of a kernel that survive: for a reason, or since a case is missing."""
    top = _HERE / "emulate" if family.startswith("gemm") else _HERE / "families" / family
    return [*read_reasons(top / "mutants", label)]


def missed(subject: Subject, chosen: Sequence[Mutant]) -> list[str]:
    """The names of those mutants that no case catches."""
    return [trial.mutant.name for trial in trials(subject, list(chosen)) if trial.survived]
