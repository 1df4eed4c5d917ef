"""What could not be done is no verdict, and is not passed over either."""

from __future__ import annotations

import errno
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.test_renaming import STEPS, explore
from warpwright import pipeline
from warpwright.emulate.variant import parallel
from warpwright.emulate.variant.parallel import Answer
from warpwright.pipeline import emulating, evidence_check
from warpwright.pipeline.committed import line_of
from warpwright.record import Folder, write_ledger


def test_a_variant_that_cannot_be_emulated_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(first, STEPS)
    assert pipeline.exit_code(first.variants) == 0
    (variant,) = first.variants
    lines = [line_of(variant, evidence) for evidence in variant.judgement.valid]
    write_ledger(tmp_path / "out" / "ledger" / "first.jsonl", lines)
    (variant.folder.path / "emulated.json").unlink()

    def dies(work: Any, folders: list[Path], jobs: int | None, on_step: Any) -> list[Answer]:
        return [Answer(error="the emulating process ended with code 1") for _ in folders]

    monkeypatch.setattr(parallel, "each", dies)
    second = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(second, STEPS)
    assert second.variants[0].status == "correct"  # the ledger says so, for this very source
    assert pipeline.exit_code(second.variants) == 1
    report = evidence_check.check(second, pipeline.ledgers(tmp_path / "out"))
    assert not report.passed
    assert "ended with code 1" in str(report.complaints[0])


class Notes(pipeline.Silent):
    def __init__(self) -> None:
        self.told: list[tuple[str, bool]] = []

    def note(self, text: str, bad: bool = False) -> None:
        self.told.append((text, bad))


def test_what_the_machine_cannot_build_is_no_verdict_and_the_next_run_heals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a cache, too, which is told and hinders nothing."""
    monkeypatch.setenv("WARPWRIGHT_CACHE", "/dev/null/cache")
    first = explore(tmp_path, "a.yaml", "first")
    notes = Notes()
    with monkeypatch.context() as without:
        without.setattr("warpwright.build.pool.child_command", lambda *_: ["/bin/false"])
        pipeline.advance(first, STEPS, notes)
    (variant,) = first.variants
    assert variant.undone["build"].startswith("the build service did not start")
    assert notes.told == [(f"not built: {variant.name}: {variant.undone['build']}", True)]
    assert pipeline.exit_code(first.variants) == 1
    assert (variant.status, variant.judgement.evidence) == ("", "planned")
    assert not (variant.folder.path / "build.json").exists()
    second, notes = explore(tmp_path, "a.yaml", "first"), Notes()
    pipeline.advance(second, STEPS, notes)
    assert second.variants[0].status == "correct"
    assert pipeline.exit_code(second.variants) == 0
    ((told, bad),) = notes.told
    assert told.startswith("the cache keeps nothing, which costs time alone: /dev/null/cache/kernels/")
    assert told.endswith(": Not a directory")
    assert not bad
    monkeypatch.setattr("warpwright.build.pool.child_command", lambda *_: ["/bin/false"])
    third = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(third, STEPS, again=("build",))
    assert third.variants[0].status == "correct"  # what is recorded stays
    assert pipeline.exit_code(third.variants) == 1


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_what_the_machine_cannot_render_is_no_verdict(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exploration = pipeline.plan("quickstart", tmp_path, ["c1x1-s6"])
    first, second = exploration.legal
    write, notes = Folder.write, Notes()

    def fails(folder: Folder, name: str, value: Any) -> None:
        if folder == first.folder:
            raise error
        write(folder, name, value)

    monkeypatch.setattr(Folder, "write", fails)
    pipeline.advance(exploration, ("render",), notes)
    assert (first.status, first.source, list(first.undone)) == ("", "", ["render"])
    assert second.source
    assert second.undone == {}
    (told,) = notes.told
    assert told[0].startswith(f"not rendered: {first.name}: ")
    assert pipeline.exit_code(exploration.variants) == 1
    with pytest.raises(type(error)):  # of none that can be rendered there is no run
        pipeline.advance(pipeline.plan("quickstart", tmp_path, [first.name]), ("render",))


def test_a_verdict_is_for_the_plan_it_was_compared_with(tmp_path: Path) -> None:
    exploration = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(exploration, STEPS)
    folder = exploration.variants[0].folder.path
    assert emulating.recorded(folder) is not None
    stored = json.loads((folder / "plan.json").read_text())
    stored["kernels"][0]["copies"] = []
    (folder / "plan.json").write_text(json.dumps(stored))
    assert emulating.recorded(folder) is None


def test_an_error_of_a_template_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = importlib.import_module("warpwright.render.render")
    templates = tmp_path / "templates" / "gemm" / "sm_90a"
    templates.mkdir(parents=True)
    (templates / "kernel.py.j2").write_text("one\ntwo {{ plan.label }}\nthree {{ missing.part }}\n")
    monkeypatch.setattr(module, "templates", lambda: tmp_path / "templates")
    module._environment.cache_clear()
    exploration = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(exploration, ("render",))
    module._environment.cache_clear()
    (variant,) = exploration.variants
    assert variant.status == "render_failed"
    assert variant.error.startswith("kernel.py.j2:3: UndefinedError: ")
    assert (variant.folder.path / "plan.json").is_file()
