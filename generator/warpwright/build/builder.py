"""One call of `build`: what is recorded or cached is taken as it is, the rest compiled, checked and written."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.build.artifact import COMPILED_FILES, Artifact, Failure, read_artifact, write_file
from warpwright.build.cache import Cache, cache_key
from warpwright.build.check import check, verdict
from warpwright.build.compile import OPTIONS
from warpwright.build.pool import Compiled, Pool, Task
from warpwright.build.resources import ToolError, disassemble
from warpwright.build.sass_census import sass_census
from warpwright.build.toolchain import Toolchain, current
from warpwright.canonical import canonical_json, digest
from warpwright.cpu import lacking
from warpwright.plan.types import Plan
from warpwright.sealed import DamagedError, check_digest, sha256

__all__ = ["BuildJob", "build"]

#: Seconds that one compile may take: a hundred times the usual.
TIMEOUT_SECONDS = 120.0
#: Kernels that are disassembled together, which shares the 0.25 s that nvdisasm takes to start.
_BATCH = 8
#: on_progress(done, total, artifact), called in the caller's process as each variant is finished.
Progress = Callable[[int, int, Artifact], None]


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
) -> list[Artifact]:
    """Build all `jobs` and return their artifacts in the same order.

    At most `workers` compiles run at a time (default: one per usable core). A job whose out_dir already holds its
    sound result costs nothing, one whose kernel is in the cache a few file copies; the DSL is imported only where
    something must be compiled. A compile that fails, aborts, or takes longer than `timeout` seconds becomes that
    job's compile_failed and touches no other. Any interruption leaves the finished jobs on disk.
    Raises ToolchainError where a needed tool is missing, OSError where out_dir cannot be written.
    """
    run = _Run(jobs, current(), cache or Cache(), on_progress)
    missing = run.finish_known()
    count = max(1, workers or len(os.sched_getaffinity(0)))
    for arch, tasks in missing.items():
        batch: list[Compiled] = []
        with Pool(arch, count, timeout) as pool:
            for outcome in pool.run(tasks):
                if outcome and outcome.failure:
                    run.finish(outcome.key, {"compile.log": outcome.log.encode()}, {}, outcome.failure)
                elif outcome:
                    batch.append(outcome)
                if len(batch) >= max(count, _BATCH) or (outcome is None and batch):
                    run.finish_compiled(batch, arch)
                    batch = []
            run.finish_compiled(batch, arch)
    return run.results()


class _Run:
    """The bookkeeping of one call of `build`: which jobs share a key, and what became of each."""

    def __init__(
        self, jobs: Sequence[BuildJob], toolchain: Toolchain, cache: Cache, on_progress: Progress | None
    ) -> None:
        self.cache = cache
        self._jobs, self._toolchain, self._on_progress = jobs, toolchain, on_progress
        self._texts = [job.text() for job in jobs]
        self._keys = [cache_key(t, j.plan, toolchain, OPTIONS) for t, j in zip(self._texts, jobs, strict=True)]
        self._plans = [digest(job.plan) for job in jobs]
        self._artifacts: list[Artifact | None] = [None] * len(jobs)
        self._pending: defaultdict[str, list[int]] = defaultdict(list)
        self._done = 0

    def finish_known(self) -> dict[str, list[Task]]:
        """Finish what is recorded or cached; return what is left to compile, by arch, each key once."""
        missing: defaultdict[str, list[Task]] = defaultdict(list)
        for index, key in enumerate(self._keys):
            recorded = self._recorded(index)
            if recorded:
                self._note(index, recorded)
                continue
            self._pending[key].append(index)
        for key, indices in list(self._pending.items()):
            entry = self.cache.get(key)
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
                log = compiled.files["compile.log"]
                self.finish(compiled.key, {"compile.log": log}, {}, Failure("error", str(listing)))
                continue
            facts = dict(compiled.facts)
            facts["kernels"] = [{**k, "sass": sass_census(listing[k["name"]])} for k in facts["kernels"]]
            entry = self.cache.put(compiled.key, compiled.files, facts)
            self.finish(compiled.key, entry.files, entry.facts, None)

    def finish(self, key: str, files: Mapping[str, bytes], facts: Mapping[str, Any], failure: Failure | None) -> None:
        """Write the outcome of `key` into the folder of every job that has it; build.json comes last."""
        for index in self._pending.pop(key):
            job, text = self._jobs[index], self._texts[index]
            contents = {**files, "kernel.py": text.encode()}
            artifact = self._artifact(index, {n: sha256(c) for n, c in contents.items()}, facts, failure)
            job.out_dir.mkdir(parents=True, exist_ok=True)
            for name in {*COMPILED_FILES, "build.json"} - set(contents):
                (job.out_dir / name).unlink(missing_ok=True)  # of an earlier source
            for name, content in contents.items():
                write_file(job.out_dir / name, content)
            write_file(job.out_dir / "build.json", artifact.to_json().encode())
            self._note(index, artifact)

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

    def _note(self, index: int, artifact: Artifact) -> None:
        self._artifacts[index] = artifact
        self._done += 1
        if self._on_progress:
            self._on_progress(self._done, len(self._jobs), artifact)

    def results(self) -> list[Artifact]:
        return [a for a in self._artifacts if a is not None]


def _listings(cubins: Sequence[bytes], arch: str) -> list[dict[str, str] | ToolError]:
    """Disassemble together, or, where one of them cannot be disassembled, each on its own."""
    if not cubins:
        return []
    try:
        return list(disassemble(cubins, arch))
    except ToolError as error:
        return [error] if len(cubins) == 1 else [listing for c in cubins for listing in _listings([c], arch)]
