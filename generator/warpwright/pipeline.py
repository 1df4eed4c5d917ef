"""The way through, from a YAML file to recorded variants: what `run`, `ci` and the single-step commands all call.

Each function is one arrow of the chain for a list of variants; a variant that fails one arrow keeps its status and
is left out of the next, and never touches its neighbours. Imports that cost time are made where they are needed: a
run that finds all its work done must start at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright import resources
from warpwright.canonical import digest, plain
from warpwright.errors import UserError
from warpwright.record import Folder, Judgement, LedgerLine, Subject, judge, note_current, read_ledger, rebuild

if TYPE_CHECKING:
    from warpwright.plan.types import Plan
    from warpwright.spec import Spec

__all__ = [
    "Exploration",
    "Variant",
    "build",
    "exit_code",
    "judge_all",
    "judge_folder",
    "ledger_lines",
    "load",
    "plan",
    "record",
    "render",
    "reread",
    "subject_of",
]


@dataclass
class Variant:
    """One variant on its way through the chain; `source` is "" until rendered, `error` says why it could not be."""

    plan: Plan
    identity: str
    folder: Folder
    source: str = ""
    error: str = ""
    build: dict[str, Any] = field(default_factory=dict)
    judgement: Judgement = field(default_factory=lambda: Judgement("", ""))

    @property
    def name(self) -> str:
        return self.folder.path.name

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
        """The file's name in rendered headers, the same on every machine."""
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


def plan(spec: Spec, file: Path, out: Path, only: Sequence[str] = ()) -> Exploration:
    """Plan every point; nothing is written. Points with one and the same plan are one variant.

    `only` keeps the variants whose name contains one of its texts. UserError when there is none.
    """
    from warpwright.plan import folder_name, identity
    from warpwright.plan import plan as plan_point

    variants: dict[str, Variant] = {}
    for point in spec.points():
        planned = plan_point(point)
        name = identity(planned)
        variants.setdefault(name, Variant(planned, name, Folder(out / spec.name / folder_name(planned))))
    if not variants:
        raise UserError(
            f"{file}: no point is left of {spec.count()}: its `where` excludes every one; relax a predicate"
        )
    current = tuple(variant.name for variant in variants.values() if variant.plan.legal)
    kept = [variant for variant in variants.values() if not only or any(text in variant.name for text in only)]
    if not kept:
        raise UserError(f"{file}: no variant's name contains {' or '.join(only)}; `warpwright plan {file}` lists them")
    return Exploration(spec, file, out, kept, current)


def render(exploration: Exploration) -> list[str]:
    """Render every legal variant and write plan.json, point.json and kernel.py into its folder.

    Returns what a person should know of the folders, a line each: what was kept of their work, and whether another
    configuration file writes there too.
    """
    from warpwright.render import render as render_plan

    notes = []
    for variant in exploration.legal:
        try:
            variant.source = render_plan(variant.plan, exploration.label)
        except Exception as error:  # a template's or an operation's fault is this variant's status, not the run's end
            variant.error = f"{type(error).__name__}: {error}"
            continue
        variant.folder.write("point.json", plain(variant.plan.point))
        variant.folder.write("plan.json", plain(variant.plan))
        kept = variant.folder.write_source(variant.source)
        if kept:
            notes.append(f"{variant.name}: kernel.py had been edited; it is rendered anew, the edited one is {kept}")
    if exploration.rendered or exploration.folder.is_dir():
        for other in note_current(exploration.folder, exploration.file, exploration.current):
            notes.append(
                f"{exploration.file} and {other} have one name, {exploration.spec.name}, and so share "
                f"{exploration.folder}: give one of them another `name`, or another --out"
            )
    return notes


def reread(exploration: Exploration) -> None:
    """Take the sources from the variants' folders, as `generate` or a person left them, instead of rendering them.

    UserError when there is none at all.
    """
    for variant in exploration.legal:
        variant.source = variant.folder.source() or ""
    if exploration.legal and not exploration.rendered:
        raise UserError(f"{exploration.folder}: no kernel.py there; `warpwright generate {exploration.typed}` first")


def build(exploration: Exploration, jobs: int | None, on_step: Callable[[], None]) -> None:
    """Build every rendered variant in at most `jobs` processes; what is recorded or cached costs next to nothing.

    Raises ToolchainError where a tool is missing, OSError where a folder cannot be written.
    """
    from warpwright.build import BuildJob
    from warpwright.build import build as build_jobs

    variants = exploration.rendered
    tasks = [BuildJob(variant.source, variant.plan, variant.folder.path) for variant in variants]
    artifacts = build_jobs(tasks, jobs, lambda done, total, artifact: on_step())
    for variant, artifact in zip(variants, artifacts, strict=True):
        variant.build = plain(artifact)


def judge_all(exploration: Exploration) -> None:
    """Weigh what is known about every variant, from its folder and from the ledger."""
    lines = ledger_lines(exploration.spec.name, exploration.out)
    for variant in exploration.legal:
        variant.judgement = judge_folder(variant.folder, lines) if variant.source else Judgement("planned", "")


def record(exploration: Exploration) -> None:
    """Bring the manifest of the configuration up to date with its folders."""
    if exploration.rendered:
        rebuild(exploration.folder)


def ledger_lines(name: str, out: Path) -> list[LedgerLine]:
    """Return the ledger of the configuration called `name`: the one beside its variants, else the shipped one."""
    own = out / "ledger" / f"{name}.jsonl"
    return read_ledger(own if own.is_file() else resources.ledger() / own.name)


def subject_of(variant: Variant) -> Subject:
    """Return what a result must be for, in order to count for a rendered variant."""
    return _subject(variant.source, variant.plan.arch, variant.build)


def judge_folder(folder: Folder, lines: Iterable[LedgerLine]) -> Judgement:
    """Weigh everything known about the source that a variant's folder holds now."""
    source, stored = folder.source(), folder.read("plan.json")
    if source is None or stored is None:
        return Judgement("planned", "")
    subject = _subject(source, str(stored.get("arch")), folder.read("build.json") or {})
    ledger = [
        line.evidence for line in lines if line.label == folder.label and line.identity.startswith(folder.identity)
    ]
    return judge(subject, [*folder.evidence(), *ledger])


def exit_code(variants: Iterable[Variant]) -> int:
    """Return 0 when every legal variant is correct and there is one, else 1. An illegal point is an answer."""
    statuses = [variant.status for variant in variants if variant.plan.legal]
    return 0 if statuses and all(status == "correct" for status in statuses) else 1


def _subject(source: str, arch: str, build: Mapping[str, Any]) -> Subject:
    source_sha = digest(source)
    cubin_sha = build.get("cubin_sha", "") if build.get("source_sha") == source_sha else ""
    return Subject(source_sha, arch, _toolchain(), cubin_sha)


def _toolchain() -> dict[str, str]:
    """Return the toolchain at hand, {} where it is incomplete: results are then judged by source and arch alone."""
    from warpwright.build.toolchain import ToolchainError, current

    try:
        found: dict[str, str] = plain(current())
    except ToolchainError:
        return {}
    return found
