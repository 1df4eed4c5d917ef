"""One call of `build`: what is recorded or cached is taken as it is, the rest compiled, checked and written."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.build.artifact import COMPILED_FILES, Artifact, Failure, Unbuilt, read_artifact, write_file
from warpwright.build.cache import Cache, cache_key
from warpwright.build.check import check, verdict
from warpwright.build.compile import OPTIONS
from warpwright.build.pool import Compiled, Pool, Task
from warpwright.build.resources import ToolError, disassemble
from warpwright.build.sass_census import sass_census
from warpwright.build.toolchain import Toolchain, ToolchainError, current
from warpwright.canonical import canonical_json, digest
from warpwright.cpu import lacking
from warpwright.plan.types import Plan
from warpwright.sealed import DamagedError, check_digest, sha256

__all__ = ["BuildJob", "build"]

#: Seconds that one compile may take: a hundred times the usual.
TIMEOUT_SECONDS = 120.0
#: Kernels that are disassembled together, which shares the 0.25 s that nvdisasm takes to start.
_BATCH = 8
#: What became of a variant.
Outcome = Artifact | Unbuilt
#: on_progress(done, total, outcome), called in the caller's process as each variant is finished.
Progress = Callable[[int, int, Outcome], None]


@dataclass(frozen=True)
class BuildJob:
    """One variant: the module's text (or a file that holds it), its plan, and the folder that gets the results."""

    source: str | Path
    plan: Plan
    out_dir: Path

    def text(self) -> str:
        return self.source.read_text() if isinstance(self.source, Path) else self.source


def build(
    jobs: Sequence[BuildJob],
    workers: int | None = None,
    on_progress: Progress | None = None,
    timeout: float = TIMEOUT_SECONDS,
    cache: Cache | None = None,
    again: bool = False,
) -> list[Outcome]:
    """Build all `jobs` and return what became of them in the same order.

    At most `workers` compiles run at a time (default: one per usable core). A job whose out_dir already holds its
    sound result costs nothing, one whose kernel is in the cache a few file copies, unless they are to be built
    `again`; the DSL is imported only where something must be compiled. A compile that fails or aborts twice becomes
    that job's compile_failed; what the machine could not do (`trouble`; more than `timeout` seconds, say) leaves it
    Unbuilt, with nothing recorded. Neither touches another job. Any interruption leaves the finished jobs on disk.
    Raises ToolchainError where a needed tool is missing.
    """
    run = _Run(jobs, current(), cache or Cache(), on_progress, again)
    count = max(1, workers or len(os.sched_getaffinity(0)))
    for arch, tasks in run.finish_known().items():
        batch: list[Compiled] = []
        try:
            with Pool(arch, count, timeout) as pool:
                for outcome in pool.run(tasks):
                    if outcome and outcome.failure:
                        run.finish(outcome.key, {"compile.log": outcome.log.encode()}, {}, outcome.failure)
                    elif outcome:
                        batch.append(outcome)
                    if len(batch) >= max(count, _BATCH) or (outcome is None and batch):
                        run.finish_compiled(batch, arch)
                        batch = []
        except (OSError, ToolchainError) as error:  # no service, and none for the tasks that are left
            run.give_up([task.key for task in tasks if task.key not in {c.key for c in batch}], str(error))
        run.finish_compiled(batch, arch)
    return run.results()


class _Run:
    """The bookkeeping of one call of `build`: which jobs share a key, and what became of each."""

    def __init__(
        self,
        jobs: Sequence[BuildJob],
        toolchain: Toolchain,
        cache: Cache,
        on_progress: Progress | None,
        again: bool = False,
    ) -> None:
        self.cache, self._again = cache, again
        self._jobs, self._toolchain, self._on_progress = jobs, toolchain, on_progress
        self._texts = [job.text() for job in jobs]
        self._keys = [cache_key(t, j.plan, toolchain, OPTIONS) for t, j in zip(self._texts, jobs, strict=True)]
        self._plans = [digest(job.plan) for job in jobs]
        self._outcomes: list[Outcome | None] = [None] * len(jobs)
        self._pending: defaultdict[str, list[int]] = defaultdict(list)
        self._done = 0

    def finish_known(self) -> dict[str, list[Task]]:
        """Finish what is recorded or cached; return what is left to compile, by arch, each key once."""
        missing: defaultdict[str, list[Task]] = defaultdict(list)
        for index, key in enumerate(self._keys):
            recorded = None if self._again else self._recorded(index)
            if recorded:
                self._note(index, recorded)
                continue
            self._pending[key].append(index)
        for key, indices in list(self._pending.items()):
            entry = None if self._again else self.cache.get(key)
            if entry and self._usable(indices[0], entry.facts):
                self.finish(key, entry.files, entry.facts, None)
            else:
                if entry:
                    self.cache.discard(key)
                job = self._jobs[indices[0]]
                missing[job.plan.arch].append(Task(key, self._texts[indices[0]], canonical_json(job.plan)))
        return missing

    def _usable(self, index: int, facts: Mapping[str, Any]) -> bool:
        """Whether a cached kernel is of use here: its facts have the form that is read, its host code runs."""
        if lacking(str(facts.get("cpu", ""))):
            return False
        try:
            self._artifact(index, {}, facts, None)
        except (KeyError, TypeError, AttributeError, IndexError):
            return False
        return True

    def _recorded(self, index: int) -> Artifact | None:
        """The artifact in the job's folder, if it is of this very key and plan, and every file is as recorded."""
        out_dir = self._jobs[index].out_dir
        artifact = read_artifact(out_dir)
        if artifact is None or artifact.key != self._keys[index] or artifact.plan_sha != self._plans[index]:
            return None
        if artifact.failure and not artifact.failure.final:
            return None
        try:
            for name, expected in artifact.files.items():
                check_digest(out_dir / name, expected)
        except (FileNotFoundError, DamagedError):
            return None
        return artifact

    def finish_compiled(self, batch: Sequence[Compiled], arch: str) -> None:
        """Disassemble, store and finish kernels that were compiled."""
        listings = _listings([c.files["kernel.cubin"] for c in batch], arch)
        for compiled, listing in zip(batch, listings, strict=True):
            if isinstance(listing, ToolError):
                self.finish(compiled.key, {}, {}, Failure("machine", str(listing)))
                continue
            facts = dict(compiled.facts)
            facts["kernels"] = [{**k, "sass": sass_census(listing[k["name"]])} for k in facts["kernels"]]
            entry = self.cache.put(compiled.key, compiled.files, facts, over=self._again)
            self.finish(compiled.key, entry.files, entry.facts, None)

    def finish(self, key: str, files: Mapping[str, bytes], facts: Mapping[str, Any], failure: Failure | None) -> None:
        """Write the outcome of `key` into the folder of every job that has it, or nothing where it is the machine's."""
        for index in self._pending.pop(key):
            if failure and not failure.final:
                self._note(index, Unbuilt(failure.detail))
                continue
            contents = {**files, "kernel.py": self._texts[index].encode()}
            artifact = self._artifact(index, {n: sha256(c) for n, c in contents.items()}, facts, failure)
            try:
                _record(self._jobs[index].out_dir, contents, artifact)
            except OSError as error:
                self._note(index, Unbuilt(f"{error.filename or self._jobs[index].out_dir}: {error.strerror or error}"))
            else:
                self._note(index, artifact)

    def give_up(self, keys: Sequence[str], why: str) -> None:
        """Leave what is pending of `keys` unbuilt."""
        for key in keys:
            if key in self._pending:
                self.finish(key, {}, {}, Failure("machine", why))

    def _artifact(
        self, index: int, files: Mapping[str, str], facts: Mapping[str, Any], failure: Failure | None
    ) -> Artifact:
        plan = self._jobs[index].plan
        findings = check(plan, facts) if failure is None else ()
        kernels = [] if failure else facts["kernels"]
        launch = facts.get("launch", {})
        return Artifact(
            status="compile_failed" if failure else verdict(findings),
            key=self._keys[index],
            source_sha=sha256(self._texts[index].encode()),
            plan_sha=self._plans[index],
            arch=plan.arch,
            symbol=plan.symbol,
            toolchain=self._toolchain,
            cpu=facts.get("cpu", ""),
            files=files,
            cubin_sha=files.get("kernel.cubin", ""),
            kernels=tuple(k["name"] for k in kernels),
            registers=max((k["registers"] for k in kernels), default=None),
            spill_bytes=max((k["sass"]["local_bytes"] for k in kernels), default=None),
            stack_bytes=max((k["stack_bytes"] for k in kernels), default=None),
            static_shared_bytes=max((k["static_shared_bytes"] for k in kernels), default=None),
            dynamic_shared_bytes=max((one["shared_bytes"] for one in launch.get("launches", ())), default=None),
            launch=launch,
            census={k["name"]: {"ptx": k["ptx"], "sass": k["sass"]} for k in kernels},
            findings=findings,
            failure=failure,
            seconds=facts.get("seconds", 0.0),
            cpu_seconds=facts.get("cpu_seconds", 0.0),
        )

    def _note(self, index: int, outcome: Outcome) -> None:
        self._outcomes[index] = outcome
        self._done += 1
        if self._on_progress:
            self._on_progress(self._done, len(self._jobs), outcome)

    def results(self) -> list[Outcome]:
        return [outcome for outcome in self._outcomes if outcome is not None]


def _record(folder: Path, contents: Mapping[str, bytes], artifact: Artifact) -> None:
    """Write files and then build.json, which is away while they change; what is there already is left as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    record = artifact.to_json().encode()
    changed = [name for name, content in contents.items() if _read(folder / name) != content]
    if changed or _read(folder / "build.json") != record:
        (folder / "build.json").unlink(missing_ok=True)
    for name in {*COMPILED_FILES} - set(contents):
        (folder / name).unlink(missing_ok=True)  # of an earlier source
    for name in changed:
        write_file(folder / name, contents[name])
    write_file(folder / "build.json", record)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _listings(cubins: Sequence[bytes], arch: str) -> list[dict[str, str] | ToolError]:
    """Disassemble together, or, where one of them cannot be disassembled, each on its own."""
    if not cubins:
        return []
    try:
        return list(disassemble(cubins, arch))
    except ToolError as error:
        return [error] if len(cubins) == 1 else [listing for c in cubins for listing in _listings([c], arch)]
