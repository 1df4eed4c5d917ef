"""From what a person types to variants: the one reading of a name that every command shares.

quickstart             a shipped configuration, or the NAME of one that is recorded in out/
dir/my.yaml            a configuration's file (./quickstart.yaml is the one here, quickstart the shipped one)
CONFIG:3               the point of that index, as `warpwright plan CONFIG` lists them
CONFIG:LABEL           a point by its label, name or identity, by the head of one, or by a part that it alone has
LABEL, VARIANT, 0604a  a recorded variant, by the same; NAME/LABEL looks in one configuration
out/NAME/VARIANT       a recorded variant's folder, or the kernel.py in it
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from warpwright import resources
from warpwright.canonical import plain
from warpwright.cli.completion import SUFFIXES
from warpwright.errors import UserError
from warpwright.kinds import not_a_file
from warpwright.plan.prediction import extents_of
from warpwright.record import Folder, configurations_in, folders_in, obsolete_in, origins

if TYPE_CHECKING:
    from warpwright.pipeline import Exploration, Variant
    from warpwright.plan.types import Plan

__all__ = ["explore", "find_folder", "find_folders", "find_plan", "find_plans", "find_variants", "obsolete", "recorded"]

_LISTED = 20
#: Letters from which on a text can be the head of an identity, and digits from which on a number can be one.
_HEAD, _DIGITS = 4, 6
T = TypeVar("T")


@dataclass(frozen=True)
class _Typed:
    """What was typed, by its form and by the files there: a configuration, by its file or by the folder of what is
    recorded of it, and `which` of its variants ("" for all); or neither, and then at most a recorded variant."""

    config: str = ""
    directory: Path | None = None
    which: str = ""

    @property
    def configuration(self) -> bool:
        return bool(self.config or self.directory)

    @property
    def orphaned(self) -> bool:
        """Whether only folders are left of it: the file that asked for them is not known, or gone."""
        return not self.config and self.directory is not None and not origins(self.directory)

    def file(self) -> str:
        """Return the configuration's file or shipped name. UserError where its folder does not lead to just one."""
        if self.config or self.directory is None:
            return self.config
        files = origins(self.directory)
        if not files:
            raise UserError(f"{self.directory}: no configuration file is known for it; give the file")
        if len(files) > 1:
            several = ", ".join(map(_shown, files))
            raise UserError(f"{self.directory}: {len(files)} configurations have this name; give one: {several}")
        return _shown(files[0])

    def name(self) -> str:
        """Return the name under which its variants are recorded."""
        if self.directory is not None:
            return self.directory.name
        from warpwright import pipeline

        return pipeline.load(self.config)[0].name


def explore(text: str, out: Path, only: Sequence[str] | None = (), whole: bool = False) -> Exploration:
    """Plan the configuration that `text` means, with the one variant of it that it names, or all that `only` keeps.

    `whole`: the command is for configurations, not for single variants. UserError where `text` means nothing, several
    things, or a variant that no configuration has any more.
    """
    from warpwright import pipeline

    typed = _read(text, out)
    if typed.configuration:
        if typed.which and whole:
            raise UserError(f"{text}: this is for a whole configuration; give {typed.file()}")
        where = typed.directory.parent if typed.directory else out
        exploration = pipeline.plan(typed.file(), where, only)
        return replace(exploration, variants=[_point(exploration, typed.which)]) if typed.which else exploration
    folder = find_folder(text, out)
    files = origins(folder.path.parent, folder.path.name)
    if whole or not files:
        gone = "no configuration file has this variant now, so it can only be shown, explained and emulated"
        raise UserError(f"{text}: {f'one variant; give {_shown(files[0])}' if files else gone}")
    exploration = pipeline.plan(_shown(files[0]), folder.path.parent.parent, only)
    kept = [variant for variant in exploration.variants if variant.name == folder.path.name]
    if not kept:
        raise UserError(f"{text}: {_shown(files[0])} does not have this variant now, or --only leaves it out")
    return replace(exploration, variants=kept)


def find_folders(text: str, out: Path) -> list[Folder]:
    """Return the recorded variants that `text` means: all of a configuration, obsolete ones too, or one; all for ""."""
    if not text:
        return recorded(out)
    typed = _read(text, out)
    if not typed.configuration or typed.which:
        return [find_folder(text, out)]
    return folders_in(typed.directory) if typed.directory else recorded(out, typed.name())


def find_folder(text: str, out: Path) -> Folder:
    """Return the one recorded variant that `text` means. Of several that fit, the one that its configuration has now.

    UserError when none or several fit, with those that are near.
    """
    path = Path(text)
    for folder in (path, path.parent if path.name == "kernel.py" else path):
        if text and (folder / "plan.json").is_file():
            return Folder(folder if folder.name else folder.absolute())
    typed = _read(text, out)
    if typed.which and typed.directory and typed.orphaned:
        return _pick(typed.which, typed.directory.parent, typed.directory.name)
    if typed.which:
        found = explore(text, out).variants[0].folder
        if not found.path.is_dir():
            raise UserError(f"{text}: not recorded in {out}; `warpwright run {text}` makes it")
        return found
    if typed.configuration:
        name = typed.name()  # says so where there is no such file
        raise UserError(f"{text}: a configuration, not one variant of it; `warpwright list {name}` shows them")
    scope, _, tail = text.rstrip("/").rpartition("/")
    return _pick(tail, out, Path(scope).name, text)


def find_variants(text: str, out: Path, only: Sequence[str] | None = ()) -> list[Folder]:
    """Return the folders, there or not, of the legal variants that `text` and `only` mean: all of a configuration as
    its file is now, or one that may be obsolete."""
    from warpwright.pipeline import chosen

    typed = _read(text, out)
    if typed.configuration and not typed.orphaned:
        return [variant.folder for variant in explore(text, out, only).legal]
    kept = [folder for folder in find_folders(text, out) if chosen(only, folder.path.name, folder.label)]
    if not kept:
        raise UserError(f"{text}: --only leaves nothing of it")
    return kept


def find_plan(text: str, out: Path) -> tuple[Plan, Mapping[str, int]]:
    """Return the plan that `text` means, and the extents of the problem to explain it for.

    A configuration of one point stands for that point. UserError when `text` means no plan, or several.
    """
    typed = _read(text, out)
    if typed.configuration and not typed.orphaned:
        exploration = explore(text, out)
        if len(exploration.variants) > 1:
            raise _no_point(exploration, f"{text} has {len(exploration.variants)} points")
        plan = exploration.variants[0].plan
        asked = exploration.spec.bench["problems"]
        return plan, extents_of(next((each for each in asked if not plan.exceeded(extents_of(each))), asked[0]))
    from warpwright.families import family
    from warpwright.plan.stored import PlanError, plan_from_json

    folder = find_folder(text, out)
    try:
        plan = plan_from_json(folder.read("plan.json") or {})
    except PlanError as error:
        raise UserError(f"{folder.path}: {error}") from None
    return plan, extents_of(plain(family(plan.family).bench[0]))


def find_plans(text: str, out: Path) -> tuple[list[tuple[Plan, Folder]], Mapping[str, int]]:
    """Return the plans that `text` means, all of a configuration or one, each with its folder, there or not; and the
    extents of the problem to look at them for. UserError when `text` means none."""
    typed = _read(text, out)
    if (typed.configuration and typed.orphaned) or not typed.configuration:
        plan, extents = find_plan(text, out)
        return [(plan, find_folder(text, out))], extents
    exploration = explore(text, out)
    plans = [(variant.plan, variant.folder) for variant in exploration.variants]
    return plans, extents_of(exploration.spec.bench["problems"][0])


def recorded(out: Path, config: str = "") -> list[Folder]:
    """Return the variant folders below `out`, of one configuration or of all. UserError where `out` is a file."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: not a folder, so no variants are kept there; choose another with --out")
    parents = [out / config] if config else configurations_in(out)
    return [folder for parent in parents for folder in folders_in(parent)]


def obsolete(folders: Iterable[Folder]) -> set[Path]:
    """Return the paths of those folders that no configuration file asks for any more."""
    folders = list(folders)
    names = {parent: obsolete_in(parent) for parent in {folder.path.parent for folder in folders}}
    return {folder.path for folder in folders if folder.path.name in names[folder.path.parent]}


def _read(text: str, out: Path) -> _Typed:
    """Tell what kind of thing was typed. UserError for nothing at all."""
    if not text.strip() or "\0" in text:
        raise UserError(
            f"{text!r}: no name; give a configuration or a variant (`warpwright list` shows what is recorded)"
        )
    whole = _configuration(text, out)
    head, colon, which = text.rpartition(":")
    if whole.configuration or not colon:
        return whole
    if not head.strip() or not which.strip():
        raise UserError(f"{text}: before a colon there is a configuration, after it the index or label of a point")
    return replace(_configuration(head, out, always=True), which=which)


def _configuration(text: str, out: Path, always: bool = False) -> _Typed:
    """Read the name of a configuration; nothing where it is none, or, with `always`, a file that is not there."""
    path = Path(text)
    if path.suffix in SUFFIXES or (resources.resolve_config(text).is_file() and path.name != "kernel.py"):
        return _Typed(config=text)
    if path.exists() and not (path.is_dir() or path.is_file()):
        raise UserError(f"{text}: {not_a_file(path)}; a configuration is a YAML file")
    bare = path.name == text
    for directory in (out / text,) if bare else (path,):
        if directory.name not in ("", "ledger") and not (directory / "plan.json").is_file() and folders_in(directory):
            return _Typed(directory=directory if bare else directory.absolute())
    return _Typed(config=text if always else "")


def _point(exploration: Exploration, which: str) -> Variant:
    """Return the variant that `which` means: an index among all points, or a label, name or identity."""
    variants = exploration.variants
    if which.isascii() and which.isdecimal():
        hits = [variant for variant in variants if str(variant.index) == which.lstrip("0").rjust(1, "0")]
        if hits:
            return hits[0]
        if len(which) < _DIGITS:  # a number that is out of range must not mean the variant whose identity it begins
            raise _no_point(exploration, f"{exploration.typed} has no point {which!r}")
    hits = _fitting(which, variants, lambda variant: (variant.name, variant.plan.label, variant.identity))
    if len(hits) == 1:
        return hits[0]
    what = f"{len(hits)} points that fit" if hits else "no point"
    raise _no_point(exploration, f"{exploration.typed} has {what} {which!r}", hits)


def _no_point(exploration: Exploration, wrong: str, fitting: Sequence[Variant] = ()) -> UserError:
    """Return the error for a point that is not told clearly enough, with those to choose from."""
    variants = fitting or exploration.variants
    shown = [f"  {exploration.typed}:{variant.index}  {variant.plan.label}" for variant in variants[:_LISTED]]
    more = [f"  and {len(variants) - _LISTED} more: warpwright plan {exploration.typed}"] * (len(variants) > _LISTED)
    return UserError("\n".join([f"{wrong}; name one by its index or label:", *shown, *more]))


def _pick(tail: str, out: Path, config: str = "", typed: str = "") -> Folder:
    """Return the one folder below `out` that a name means; `typed` is how errors call it."""
    typed = typed or tail
    folders = recorded(out, config)
    hits = _fitting(tail, folders, lambda folder: (folder.path.name, folder.label, folder.identity))
    if len(hits) > 1:
        past = obsolete(hits)
        hits = [folder for folder in hits if folder.path not in past] or hits
    if len(hits) == 1:
        return hits[0]
    if hits:
        lines = [f"  {folder.path.parent.name}/{folder.path.name}" for folder in hits[:_LISTED]]
        lines += [f"  and {len(hits) - _LISTED} more"] * (len(hits) > _LISTED)
        raise UserError("\n".join([f"{typed}: {len(hits)} variants fit; name one:", *lines]))
    if Path(typed).is_dir():
        raise UserError(f"{typed}: a folder in which no variant is recorded; name a configuration, a file of it")
    if not folders:
        raise UserError(f"{typed}: no variant is recorded in {out / config}; `warpwright run CONFIG` makes some")
    shipped = [path.stem for path in resources.configs().glob("*.yaml")]
    near = difflib.get_close_matches(tail, [*shipped, *(folder.path.name for folder in folders)], n=3, cutoff=0.3)
    hint = f"the nearest: {', '.join(near)}" if near else "`warpwright list` shows them"
    raise UserError(f"{typed}: no configuration and no variant of that name in {out}; {hint}")


def _fitting(text: str, things: Iterable[T], names: Callable[[T], tuple[str, str, str]]) -> list[T]:
    """Return the things that a text fits, by the strictest of the ways in which it fits any: folder name, label, head
    of a name or of an identity, part of a name."""
    called = [(thing, *names(thing)) for thing in things]
    ways: tuple[Callable[[str, str, str], bool], ...] = (
        lambda name, label, identity: text == name,
        lambda name, label, identity: text == label,
        lambda name, label, identity: name.startswith(text) or (len(text) >= _HEAD and identity.startswith(text)),
        lambda name, label, identity: text in name,
    )
    hits = ([thing for thing, *known in called if fits(*known)] for fits in ways)
    return next(filter(None, hits), [])


def _shown(file: Path) -> str:
    """Return a configuration's file as a person would type it: a shipped one's name, else its path from here."""
    if file.parent == resources.configs().resolve():
        return file.stem
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)
