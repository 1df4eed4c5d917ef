"""The loop: takes an exploration through the steps that are asked for, and weighs the evidence where it has changed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from warpwright.errors import DeviceUnavailableError
from warpwright.pipeline import emulating, on_gpu, rendering
from warpwright.pipeline.exploration import Exploration, Variant
from warpwright.pipeline.judging import judge_all, ledger_lines
from warpwright.record import damage, obstacles, rebuild

__all__ = ["STEPS", "Observer", "Silent", "advance"]

#: In the order of the chain. The first three exclude each other: sources come from the templates, from the templates
#: but where a person has edited a folder's, or from the folders alone, as they are.
STEPS = ("render", "render_unedited", "reread", "build", "emulate", "validate", "bench")
Step = Callable[[], None]


class Observer(Protocol):
    """Whoever watches: a terminal, or nobody."""

    def progress(self, title: str, total: int) -> AbstractContextManager[Step]:
        """Show that `total` things are being done; what it gives is called as each of them is."""

    def note(self, text: str, bad: bool = False) -> None:
        """Tell a person what they should know; `bad`: that something could not be done."""


class Silent:
    """Watches without a word."""

    @contextlib.contextmanager
    def progress(self, title: str, total: int) -> Iterator[Step]:
        yield lambda: None

    def note(self, text: str, bad: bool = False) -> None:
        pass


def advance(
    exploration: Exploration,
    steps: Sequence[str],
    observer: Observer | None = None,
    jobs: int | None = None,
    again: Sequence[str] = (),
) -> None:
    """Take every legal variant through `steps`, in the order of the chain, at most `jobs` processes at a time.

    What is recorded is not done again, but for the steps in `again`. Afterwards each variant has its judgement.
    Raises ToolchainError where a tool is missing, OSError where a folder cannot be written, UserError where a step has
    nothing to start from, DeviceUnavailableError where a GPU is asked for and there is none. A step that could not be
    done for a variant is in its `undone`, the GPU's loss on the way among the reasons.
    """
    unknown = [step for step in (*steps, *again) if step not in STEPS]
    if unknown:
        raise ValueError(f"unknown steps {unknown}: there are {', '.join(STEPS)}")
    way = _Way(exploration, observer or Silent(), jobs, frozenset(again))
    way.heal()
    try:
        for step in STEPS:
            if step in steps:
                getattr(way, step)()
        way.note_damage()
    except DeviceUnavailableError:
        way.note_damage()
        raise
    finally:  # what was finished counts, whatever ended the rest
        way.judge(exploration.legal)
        if "build" in steps and exploration.rendered:
            rebuild(exploration.folder)


class _Way:
    """One call of `advance`. `weighed` holds the variants whose judgement is up to date."""

    def __init__(self, exploration: Exploration, observer: Observer, jobs: int | None, again: frozenset[str]) -> None:
        self.exploration, self.observer, self.jobs, self.again = exploration, observer, jobs, again
        self.lines = ledger_lines(exploration.out)
        self.weighed: set[str] = set()
        self.gpu = on_gpu.Gpu()

    def judge(self, variants: Sequence[Variant]) -> None:
        stale = [variant for variant in variants if variant.identity not in self.weighed]
        judge_all(stale, self.lines)
        self.weighed |= {variant.identity for variant in stale}

    def heal(self) -> None:
        """Make room where a file of a result does not say what a result must, or where no file can be written: what
        lies there is kept beside its place, and told."""
        for variant in self.exploration.legal:
            found = {each.path: each for each in (*obstacles(variant.folder), *variant.folder.damaged())}
            for each in found.values():
                kept = each.set_aside().name
                self.observer.note(f"{variant.name}: {each}; kept as {kept}, what it said is to be obtained again")
            with contextlib.suppress(OSError):  # where it cannot be written, it is read as it is
                variant.folder.seal_results()

    def note_damage(self) -> None:
        """Note at each variant, and tell, which of its files no step has set right."""
        for variant in self.exploration.legal:
            left = [str(each) for each in damage(variant.folder)]
            if left:
                variant.undone["files"] = "; ".join(left)
                self.observer.note(
                    f"{variant.name}: {variant.undone['files']}; `warpwright run` sets that right", bad=True
                )

    def render(self) -> None:
        for note in rendering.render(self.exploration):
            self.observer.note(note)
        self._tell_undone("render", "not rendered")

    def render_unedited(self) -> None:
        for note in rendering.render(self.exploration, keep_edited=True):
            self.observer.note(note)

    def reread(self) -> None:
        rendering.reread(self.exploration)

    def build(self) -> None:
        from warpwright.build import BuildJob, Unbuilt
        from warpwright.build import build as build_jobs
        from warpwright.build.cache import Cache
        from warpwright.canonical import plain

        variants = self.exploration.rendered
        tasks = [BuildJob(variant.source, variant.plan, variant.folder.path) for variant in variants]
        again, cache = "build" in self.again, Cache()
        with self.observer.progress("building", len(tasks)) as step:
            outcomes = build_jobs(tasks, self.jobs, lambda *_: step(), cache=cache, again=again)
        for variant, outcome in zip(variants, outcomes, strict=True):
            if isinstance(outcome, Unbuilt):
                variant.undone["build"] = outcome.why
            else:
                variant.build = plain(outcome)
        self._tell_undone("build", "not built")
        if cache.trouble:
            self.observer.note(f"the cache keeps nothing, which costs time alone: {cache.trouble}")

    def _tell_undone(self, step: str, what: str) -> None:
        """Tell which variants a step could not be done for, each reason once."""
        causes: dict[str, list[Variant]] = {}
        for variant in self.exploration.legal:
            if step in variant.undone:
                causes.setdefault(variant.undone[step], []).append(variant)
        for why, variants in causes.items():
            others = f" (and {len(variants) - 1} more)" if len(variants) > 1 else ""
            self.observer.note(f"{what}: {variants[0].name}{others}: {why}", bad=True)

    def emulate(self) -> None:
        self.judge(self.exploration.legal)
        variants = emulating.to_emulate(self.exploration.legal, "emulate" in self.again)
        self._work("emulating", variants, 1, lambda step: emulating.emulate(variants, self.jobs, step))
        emulating.note_missing(self.exploration.legal)
        self._tell_undone("emulate", "not emulated")

    def validate(self) -> None:
        self._on_gpu("validate", "not validated", "validating", on_gpu.to_validate, on_gpu.validate)

    def bench(self) -> None:
        problems = len(self.exploration.spec.bench["problems"])
        self._on_gpu("bench", "not timed", "timing", on_gpu.to_bench, on_gpu.bench, problems)

    def _on_gpu(
        self,
        step: str,
        undone: str,
        title: str,
        choose: Callable[[Exploration, bool], list[Variant]],
        work: Callable[[Exploration, Sequence[Variant], Step, on_gpu.Gpu], None],
        steps: int = 1,
    ) -> None:
        """Do one step on the GPU, `steps` per variant, and tell which variants it could not be done for."""
        self.judge(self.exploration.legal)
        variants = choose(self.exploration, step in self.again)
        for told in on_gpu.left_out(self.exploration, step, variants):
            self.observer.note(told)
        self._work(title, variants, steps, lambda on_step: work(self.exploration, variants, on_step, self.gpu))
        self.judge(self.exploration.legal)
        on_gpu.note_missing(self.exploration, step)
        self._tell_undone(step, undone)

    def _work(self, title: str, variants: Sequence[Variant], steps: int, work: Callable[[Step], object]) -> None:
        """Do one step for the variants that need it, if any."""
        if not variants:
            return
        with self.observer.progress(title, len(variants) * steps) as step:
            work(step)
        self.weighed -= {variant.identity for variant in variants}
