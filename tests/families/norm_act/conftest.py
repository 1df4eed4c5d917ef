"""Small kernels of each design, built once for all tests of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.families.norm_act.points import SMALL, legal
from warpwright.build import BuildJob, build
from warpwright.canonical import plain
from warpwright.record import write_json
from warpwright.render import render


@pytest.fixture(scope="session")
def all_built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("norms")
    plans = {name: legal(**choices) for name, choices in SMALL.items()}
    jobs = [BuildJob(render(plan), plan, top / name) for name, plan in plans.items()]
    for artifact in build(jobs):
        assert artifact.built, artifact.failure
        assert artifact.findings == ()
    for name, plan in plans.items():
        write_json(top / name / "plan.json", plain(plan))
    return {name: top / name for name in SMALL}


@pytest.fixture(params=SMALL)
def built(request: pytest.FixtureRequest, all_built: dict[str, Path], tmp_path: Path) -> Path:
    """The folder of a built kernel, to be spoilt."""
    return Path(shutil.copytree(all_built[request.param], tmp_path / request.param))
