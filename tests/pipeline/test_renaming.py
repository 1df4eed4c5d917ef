"""What a configuration is called, and where it lies, is no part of what its variants' evidence is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright import pipeline
from warpwright.build.pool import Pool
from warpwright.emulate.variant import parallel
from warpwright.pipeline import Exploration, evidence_check
from warpwright.pipeline.committed import line_of
from warpwright.record import write_ledger

CONFIG = """\
# {comment}
version: 1
name: {name}
purpose: One small variant.
kernel:
  family: gemm
  arch: sm_90a
  a: {{dtype: f16, major: k}}
  b: {{dtype: f16, major: k}}
  d: {{dtype: f16, major: n}}
design:
  tile: {{m: 64, n: 32, k: 64}}
  consumer_warps: 4
  stages: {stages}
"""
STEPS = ("render", "build", "emulate")


def explore(top: Path, file: str, name: str, stages: str = "2", out: str = "out") -> Exploration:
    path = top / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CONFIG.format(comment=file, name=name, stages=stages))
    return pipeline.plan(str(path), top / out)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing should have to be compiled or emulated")

    monkeypatch.setattr(Pool, "_start", refuse)
    monkeypatch.setattr(parallel, "each", refuse)


@pytest.fixture
def first(tmp_path: Path) -> Exploration:
    exploration = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(exploration, STEPS)
    (variant,) = exploration.variants
    assert (variant.judgement.evidence, variant.status) == ("emulated", "correct")
    return exploration


@pytest.mark.usefixtures("no_work")
class TestAfterTheFirst:
    @pytest.fixture(autouse=True)
    def _ready(self, first: Exploration) -> None:
        """`first` has to come before `no_work`."""

    @pytest.mark.parametrize(("file", "name"), [("b.yaml", "first"), ("a.yaml", "second"), ("sub/c.yaml", "third")])
    def test_another_name_keeps_everything(self, tmp_path: Path, first: Exploration, file: str, name: str) -> None:
        renamed = explore(tmp_path, file, name)
        pipeline.advance(renamed, STEPS)
        (old,), (new,) = first.variants, renamed.variants
        assert new.source == old.source
        assert (new.identity, new.name) == (old.identity, old.name)
        assert (new.judgement.evidence, new.status) == ("emulated", "correct")


def test_no_work_is_noticed(tmp_path: Path, first: Exploration, no_work: None) -> None:
    with pytest.raises(AssertionError, match="compiled or emulated"):
        pipeline.advance(explore(tmp_path, "a.yaml", "first", stages="3"), STEPS)


def test_a_ledger_serves_whatever_configuration_has_the_variant(tmp_path: Path, first: Exploration) -> None:
    (variant,) = first.variants
    lines = [line_of(variant, evidence) for evidence in variant.judgement.valid]
    write_ledger(tmp_path / "elsewhere" / "ledger" / "first.jsonl", lines)
    renamed = explore(tmp_path, "b.yaml", "second", out="elsewhere")
    pipeline.advance(renamed, STEPS)
    assert evidence_check.check(renamed, pipeline.ledgers(tmp_path / "elsewhere")).passed
    other = explore(tmp_path, "b.yaml", "second", stages="3", out="elsewhere")
    pipeline.advance(other, STEPS)
    report = evidence_check.check(other, pipeline.ledgers(tmp_path / "elsewhere"))
    assert [complaint.problem for complaint in report.complaints] == ["missing", "missing"]


def test_an_edited_kernel_adopts_nothing(tmp_path: Path, first: Exploration) -> None:
    renamed = explore(tmp_path, "b.yaml", "second")
    pipeline.advance(renamed, ("render",))
    (variant,) = renamed.variants
    (variant.folder.path / "kernel.py").write_text(variant.source + "# edited\n")
    for name in ("emulated.json", "build.json"):
        (variant.folder.path / name).unlink(missing_ok=True)
    again = explore(tmp_path, "b.yaml", "second")
    pipeline.advance(again, ("reread",))
    assert again.variants[0].judgement.evidence == "planned"
