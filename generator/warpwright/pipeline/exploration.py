"""A configuration on its way through the chain: its variants, and what is known about each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright import resources
from warpwright.canonical import canonical_json
from warpwright.errors import UserError
from warpwright.record import Folder, Judgement

if TYPE_CHECKING:
    from warpwright.plan.types import Plan
    from warpwright.point import Point
    from warpwright.spec import Spec

__all__ = ["Exploration", "Variant", "chosen", "exit_code", "load", "plan"]

#: What makes a text of --only a glob. No name has any of these.
_WILD = frozenset("*?[")


@dataclass
class Variant:
    """One variant on its way through the chain; `source` is "" until rendered, `error` says why it could not be.

    `point` is the first point of the file that gives this plan; others may spell it in another way.
    """

    point: Point
    plan: Plan
    folder: Folder
    #: Its place among all points of the file, from 0, as `warpwright plan` lists them: CONFIG:INDEX.
    index: int = 0
    source: str = ""
    error: str = ""
    build: dict[str, Any] = field(default_factory=dict)
    #: Steps that could not be done, with the reason: that is no verdict, and nothing to pass over either.
    undone: dict[str, str] = field(default_factory=dict)
    judgement: Judgement = field(default_factory=lambda: Judgement("", ""))

    @property
    def name(self) -> str:
        return self.folder.path.name

    @property
    def identity(self) -> str:
        return self.plan.identity

    @property
    def status(self) -> str:
        """The variant's status, "" while nothing has been found out about it."""
        if not self.plan.legal:
            return "illegal"
        return "render_failed" if self.error else self.judgement.status

    def reasons(self) -> list[str]:
        """Say why the status is not `correct`, most important first; [] where it is, or for illegal points."""
        if self.error:
            return [self.error]
        return [why for evidence in self.judgement.valid for why in evidence.reasons()]

    def passed(self, method: str) -> bool:
        """Whether a valid result of `method` lets the next step go on."""
        return any(e.method == method and e.status in ("correct", "degraded") for e in self.judgement.valid)

    def has_own(self, method: str) -> bool:
        """Whether the folder itself, and not only the ledger, holds a valid result of `method`."""
        return any(e.method == method and e.origin == "here" for e in self.judgement.valid)


@dataclass(frozen=True)
class Exploration:
    """A loaded YAML file with its variants, in the order of its points, each plan once."""

    spec: Spec
    file: Path
    out: Path
    variants: list[Variant]
    #: Folders of all its legal variants, also of those that `only` leaves out.
    current: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The file's name for people, the same on every machine."""
        return resources.config_label(self.file)

    @property
    def typed(self) -> str:
        """The configuration as a person would type it here: the path that was given, or a shipped one's name."""
        return self.file.stem if self.shipped else str(self.file)

    @property
    def shipped(self) -> bool:
        return self.file.parent == resources.configs()

    @property
    def folder(self) -> Path:
        """Where the variants' folders are."""
        return self.out / self.spec.name

    @property
    def legal(self) -> list[Variant]:
        return [variant for variant in self.variants if variant.plan.legal]

    @property
    def rendered(self) -> list[Variant]:
        return [variant for variant in self.variants if variant.source]


def load(config: str) -> tuple[Spec, Path]:
    """Load a YAML file by path, or a shipped one by name. Raises UserError when there is neither, SpecErrors."""
    from warpwright.spec import load as load_spec

    file = resources.resolve_config(config)
    if not file.exists():
        shipped = sorted(path.stem for path in resources.configs().glob("*.yaml"))
        near = difflib.get_close_matches(file.stem, shipped, n=1)
        way = f"did you mean {near[0]}?" if near else "`warpwright new FILE` writes one."
        raise UserError(f"{config}: no such file; {way} These are shipped: {', '.join(shipped)}")
    return load_spec(file), file


def plan(config: str, out: Path, only: Sequence[str] | None = ()) -> Exploration:
    """Load a configuration and plan every point; nothing is written. Points with one and the same plan are one variant.

    `only` keeps the variants that one of its texts chooses (see `chosen`). UserError when there is none.
    """
    from warpwright.plan import folder_name
    from warpwright.plan import plan as plan_point

    spec, file = load(config)
    variants: dict[str, Variant] = {}
    for point in spec.points():
        planned = plan_point(point)
        known = variants.setdefault(planned.identity, Variant(point, planned, Folder(Path()), len(variants)))
        if known.plan is planned:
            known.folder = Folder(out / spec.name / folder_name(planned))
        elif _text(known.plan) != _text(planned):
            raise _alike(file, known.plan, planned)
    _check_folders(file, variants.values())
    current = tuple(variant.name for variant in variants.values() if variant.plan.legal)
    if "" in (only or ()):
        raise UserError("--only: an empty text chooses nothing; leave it out for all variants")
    kept = [variant for variant in variants.values() if chosen(only, variant.name, variant.plan.label)]
    if not kept:
        texts = " or ".join(only or ())
        raise UserError(f"{file}: no variant's name has {texts} in it; `warpwright plan {config}` lists them")
    return Exploration(spec, file, out, kept, current)


def _text(plan: Plan) -> str:
    return canonical_json([plan.family, plan.arch, plan.kernel, plan.design])


def _check_folders(file: Path, variants: Iterable[Variant]) -> None:
    """Raise UserError where two variants would share a folder: what is found out about one would be said of both."""
    known: dict[str, Variant] = {}
    for variant in variants:
        other = known.setdefault(variant.name.lower(), variant)  # some file systems take both cases alike
        if other is not variant and variant.plan.legal and other.plan.legal:
            raise _alike(file, other.plan, variant.plan)


def _alike(file: Path, one: Plan, other: Plan) -> UserError:
    """Two plans whose identities begin alike: one in billions by chance, and seconds' work by intent."""
    return UserError(
        f"{file}: two variants, {one.label} and {other.label}, have identities that cannot be told apart "
        f"({one.identity}, {other.identity}); leave one of them out"
    )


def chosen(only: Sequence[str] | None, name: str, label: str) -> bool:
    """Whether one of the texts chooses a variant: a glob by its whole label or name, another text by a part of it."""
    return not only or any(
        fnmatchcase(name, text) or fnmatchcase(label, text) if _WILD & set(text) else text in name for text in only
    )


def exit_code(variants: Iterable[Variant]) -> int:
    """Return 0 when every legal variant is correct, nothing was left undone, and there is one at all; else 1.

    An illegal point is an answer.
    """
    legal = [variant for variant in variants if variant.plan.legal]
    return 0 if legal and all(variant.status == "correct" and not variant.undone for variant in legal) else 1
