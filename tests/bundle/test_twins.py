"""Twins in a bundle: a hang on a host without a compiler is named there, with a double in the place of its GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.kit import ROOT, bundle
from tests.device.plans import make_folder
from tests.diagnosis.written import one_never_releases
from tests.emulate.plans import gemm_plan
from tests.families.ladder.points import legal as rung
from warpwright.bundle import twins
from warpwright.bundle.twins import write_twins
from warpwright.canonical import digest
from warpwright.device.marks import STAMPED, instrumented, is_twin
from warpwright.device.opening import VARIANTS
from warpwright.device.variant import LIBRARY, ORIGIN, load_variant
from warpwright.diagnosis.explained import explained
from warpwright.diagnosis.hung import TWIN, problem_of, with_twin
from warpwright.diagnosis.taken import QUIET
from warpwright.diagnosis.twin import twin_source
from warpwright.errors import DeviceUnavailableError, UserError
from warpwright.plan.types import Plan
from warpwright.record import write_json
from warpwright.render import render

NAME = "hangs-000000000000"


@pytest.fixture
def plan() -> Plan:
    return gemm_plan({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4})


def _run(packed: Path, marks: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(packed / "run.py"), "--backend", "tests.device.doubles:MarkingBackend", "--only"]
    command += ["validate", "--max-elements", "60000", "--problems", "ragged*", "--silence", "1", "--seed", "5"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DOUBLE_MARKS": str(marks)}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False, cwd=packed)


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize("packs", [True, False])
def test_a_hang_is_named_where_the_bundle_has_the_twin(plan: Plan, tmp_path: Path, packs: bool) -> None:
    config = tmp_path / "out" / "demo"
    make_folder(config, plan, NAME, fault="hang")

    def twins(folders: Any, directory: Path) -> dict[str, str]:
        made = make_folder(tmp_path / "made", instrumented(plan), NAME)
        make_folder(directory / VARIANTS / NAME, load_variant(made).plan, TWIN)
        return {}

    packed = bundle(config, twins=twins if packs else None).directory
    marks = one_never_releases(plan, 4).save(tmp_path / "marks.npz", hangs=True)
    done = _run(packed, marks)
    assert done.returncode == 1, done.stderr
    (result,) = [
        r for line in (packed / "results.jsonl").read_text().splitlines() if "method" in (r := json.loads(line))
    ]
    assert result["status"] == "hang"
    cause = "in its instrumented twin, producer (warp 8) waits for ab_empty[0], phase 0 (round 4, parity 0): consumer 1"
    assert (cause in result["diagnosis"]) == packs
    assert result["diagnosis"].startswith("no sign of life for 1 s: problem ragged")
    assert (cause in done.stdout) == packs


def test_the_problem_is_the_one_that_the_verdict_names(plan: Plan) -> None:
    said = {"status": "hang", "diagnosis": "no sign of life for 30 s: problem 512x256x512x1_integer, launch 2"}
    asked = [{"m": 512, "n": 256, "k": 512, "l": 1}]
    found = problem_of(said, plan, asked)
    assert found is not None
    assert (found.name, found.fill) == ("512x256x512x1_integer", "integer")
    assert problem_of({**said, "status": "crash"}, plan, asked) is None
    assert problem_of({**said, "diagnosis": "no sign of life for 30 s: loading"}, plan, asked) is None


@pytest.mark.parametrize(
    "error", [DeviceUnavailableError("the GPU is gone"), OSError("no room"), UserError("no build")]
)
def test_a_hang_whose_twin_cannot_be_run_says_so(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """On a host without a compiler, and where it is built; what was said of the hang stays."""

    def fails(*_: object, **__: object) -> None:
        raise error

    said = "no sign of life for 30 s: problem 512x256x512x1_integer, launch 2"
    result, asked = {"status": "hang", "variant": NAME, "diagnosis": said}, [{"m": 512, "n": 256, "k": 512, "l": 1}]
    told = {**result, "diagnosis": f"{said}; its twin could not be run: {error}"}
    monkeypatch.setattr("warpwright.diagnosis.hung.diagnose_measured", fails)
    monkeypatch.setattr("warpwright.diagnosis.explained.build_twin", fails)
    (tmp_path / TWIN).mkdir()
    nobody: Any = None
    if not isinstance(error, UserError):  # which only a build raises
        assert with_twin(result, tmp_path, plan, asked, nobody) == told
    assert explained(result, plan, "", asked, nobody) == told
    right = {**result, "status": "correct"}
    assert with_twin(right, tmp_path, plan, asked, nobody) == explained(right, plan, "", asked, nobody) == right


def test_twins_are_built_beside_their_variants(plan: Plan, tmp_path: Path) -> None:
    folder = make_folder(tmp_path, plan, NAME)
    steps: list[int] = []
    assert write_twins([folder], tmp_path / "bundle", lambda: steps.append(1)) == {}
    twin = load_variant(tmp_path / "bundle" / VARIANTS / NAME / TWIN)
    assert is_twin(twin.plan)
    assert twin.plan.design == plan.design
    assert steps == [1]
    assert not (tmp_path / "bundle" / VARIANTS / NAME / QUIET).exists()  # it is no step of a sequence


def test_of_a_step_of_a_sequence_the_twin_that_is_stamped_is_built_too(tmp_path: Path) -> None:
    plan = rung(3)
    folder = make_folder(tmp_path, plan, NAME)
    assert write_twins([folder], tmp_path / "bundle", lambda: None) == {}
    quiet = load_variant(tmp_path / "bundle" / VARIANTS / NAME / QUIET)
    assert quiet.origin.source_sha == digest(render(instrumented(plan, STAMPED)))
    assert quiet.origin.toolchain
    assert (tmp_path / "bundle" / VARIANTS / NAME / TWIN / LIBRARY).exists()


@pytest.mark.parametrize(
    "edit", [("", ""), ("STAGES = 4 ", "STAGES = 3 "), ("Int32, stream):", "Int32, stream):  # mine")]
)
def test_the_twin_of_an_edited_kernel_has_the_edit_and_the_marks(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: tuple[str, str]
) -> None:
    """Of one that is edited where its twin has a mark there is none, and it says why."""
    folder, built, text = make_folder(tmp_path, plan, NAME), list[str](), render(plan)
    (folder / "kernel.py").write_text(text.replace(*edit))
    if edit[1]:
        assert edit[0] in text
        write_json(folder / "rendered.json", {"source_sha": "0" * 64})  # another source was built

    def build(of: Plan, source: str, to: Path, service: Any) -> None:
        built.append(source)
        to.mkdir(parents=True)
        for name in ("plan.json", LIBRARY, ORIGIN):
            (to / name).touch()

    monkeypatch.setattr(twins, "compile_into", build)
    missing = write_twins([folder], tmp_path / "bundle", lambda: None)
    if "stream" in edit[0]:
        assert "is edited where its twin has a mark" in missing[NAME]
        assert built == []
    else:
        assert missing == {}
        assert built == [twin_source(plan).replace(*edit)]
