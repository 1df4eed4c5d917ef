"""From what a person types to a recorded variant or a point: names, prefixes, CONFIG:INDEX."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from warpwright import resources
from warpwright.canonical import plain
from warpwright.errors import UserError
from warpwright.plan.prediction import extents_of
from warpwright.record import Folder, folders_in, obsolete_in

if TYPE_CHECKING:
    from warpwright.plan.types import Plan

__all__ = ["find_folder", "find_plan", "obsolete", "recorded"]

_LISTED = 20


def recorded(out: Path, config: str = "") -> list[Folder]:
    """Return the variant folders below `out`, of one configuration or of all."""
    if not out.is_dir():
        return []
    parents = [out / config] if config else sorted(path for path in out.iterdir() if path.name != "ledger")
    return [folder for parent in parents for folder in folders_in(parent)]


def obsolete(folders: Iterable[Folder]) -> set[Path]:
    """Return the paths of those folders that no configuration file asks for any more."""
    folders = list(folders)
    names = {parent: obsolete_in(parent) for parent in {folder.path.parent for folder in folders}}
    return {folder.path for folder in folders if folder.path.name in names[folder.path.parent]}


def find_folder(name: str, out: Path) -> Folder:
    """Return the one recorded variant that `name` means: a path, a name, a label, or the head of one or of an identity.

    `quickstart/NAME` looks in one configuration only. Of several that fit, the one that its configuration has now.
    UserError when none or several fit, with those that are near.
    """
    if (Path(name) / "plan.json").is_file():
        return Folder(Path(name).absolute())
    config = name.partition(":")[0]
    if Path(config).suffix in (".yaml", ".yml"):
        from warpwright import pipeline

        spec, _ = pipeline.load(config)  # says so where there is no such file
        raise UserError(f"{name}: a configuration, not one variant of it; `warpwright list {spec.name}` shows them")
    scope, _, tail = name.rstrip("/").rpartition("/")
    folders = recorded(out, Path(scope).name)
    tests = (
        lambda folder: folder.path.name == tail,
        lambda folder: folder.label == tail,
        lambda folder: folder.path.name.startswith(tail) or folder.identity.startswith(tail),
        lambda folder: tail in folder.path.name,
    )
    for test in tests:
        hits = [folder for folder in folders if test(folder)]
        if len(hits) > 1:
            past = obsolete(hits)
            hits = [folder for folder in hits if folder.path not in past] or hits
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise UserError(f"{name}: {len(hits)} variants fit; name one:\n{_listing(hits)}")
    if not folders:
        raise UserError(f"{name}: no variant is recorded in {out}; `warpwright run CONFIG` makes some")
    near = difflib.get_close_matches(tail, [folder.path.name for folder in folders], n=3, cutoff=0.3)
    hint = f"the nearest: {', '.join(near)}" if near else "`warpwright list` shows them"
    raise UserError(f"{name}: no variant of that name in {out}; {hint}")


def find_plan(point: str, out: Path) -> tuple[Plan, Mapping[str, int]]:
    """Return the plan that `point` means, and the extents of the problem to explain it for.

    `point` is CONFIG, CONFIG:INDEX or CONFIG:LABEL, or a recorded variant. UserError when it is none of them.
    """
    config, colon, which = point.partition(":")
    if colon or resources.resolve_config(config).is_file():
        return _plan_of_config(config, which, out)
    from warpwright.families import family
    from warpwright.plan.stored import PlanError, plan_from_json

    folder = find_folder(point, out)
    try:
        plan = plan_from_json(folder.read("plan.json") or {})
    except PlanError as error:
        raise UserError(f"{folder.path}: {error}") from None
    return plan, extents_of(plain(family(plan.family).bench[0]))


def _plan_of_config(config: str, which: str, out: Path) -> tuple[Plan, Mapping[str, int]]:
    from warpwright import pipeline

    exploration = pipeline.plan(config, out)
    variants = exploration.variants
    hits = [variant for variant in variants if which and which in (variant.plan.label, variant.name, variant.identity)]
    if which.isdecimal() and int(which) < len(variants):
        hits = [variants[int(which)]]
    elif not which and len(variants) == 1:
        hits = variants
    if len(hits) == 1:
        return hits[0].plan, extents_of(exploration.spec.bench["problems"][0])
    listing = "\n".join(f"  {config}:{index}  {variant.plan.label}" for index, variant in enumerate(variants[:_LISTED]))
    more = f"\n  and {len(variants) - _LISTED} more: warpwright plan {config}" if len(variants) > _LISTED else ""
    wrong = f"{config} has no point {which!r}" if which else f"{config} has {len(variants)} points"
    raise UserError(f"{wrong}; name one by its index or label:\n{listing}{more}")


def _listing(folders: list[Folder]) -> str:
    lines = [f"  {folder.path.parent.name}/{folder.path.name}" for folder in folders[:_LISTED]]
    if len(folders) > _LISTED:
        lines.append(f"  and {len(folders) - _LISTED} more")
    return "\n".join(lines)
