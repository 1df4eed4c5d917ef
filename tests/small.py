"""The small kernels that tests emulate and spoil: of each family, every form that its templates have.

Where a family has templates for several archs, those of another than the first are a family of their own here."""

from __future__ import annotations

from pathlib import Path

import tests.emulate.small as gemm
import tests.emulate.small_tensor as gemm_tensor
from tests.families.copy import small as copy
from tests.families.ladder import small as ladder
from tests.families.norm_act import points as norm_act
from tests.families.sgemm import small as sgemm
from warpwright import pipeline
from warpwright.build import BuildJob, build
from warpwright.canonical import plain
from warpwright.record import write_json
from warpwright.render import render

__all__ = ["FORMS", "built"]

_FILES = {
    "gemm": gemm.FILE,
    "gemm_sm100a": gemm_tensor.FILE,
    "copy": copy.FILE,
    "sgemm": sgemm.FILE,
    "ladder": ladder.FILE,
}
#: Of each family: what the kernels are called that `built` builds.
FORMS: dict[str, tuple[str, ...]] = {
    "gemm": gemm.FORMS,
    "gemm_sm100a": gemm_tensor.FORMS,
    "copy": copy.FORMS,
    "sgemm": sgemm.FORMS,
    "ladder": ladder.FORMS,
    "norm_act": tuple(norm_act.SMALL),
}


def built(family: str, top: Path) -> dict[str, Path]:
    """Build the small kernels of a family below `top`, and return their folders by form."""
    if family == "norm_act":
        return _norms(top)
    (top / "small.yaml").write_text(_FILES[family])
    exploration = pipeline.plan(str(top / "small.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build"))
    assert {variant.status for variant in exploration.variants} == {"correct"}
    return dict(zip(FORMS[family], (variant.folder.path for variant in exploration.legal), strict=True))


def _norms(top: Path) -> dict[str, Path]:
    plans = {name: norm_act.legal(**choices) for name, choices in norm_act.SMALL.items()}
    for artifact in build([BuildJob(render(plan), plan, top / name) for name, plan in plans.items()]):
        assert artifact.built, artifact.failure
        assert artifact.findings == ()
    for name, plan in plans.items():
        write_json(top / name / "plan.json", plain(plan))
    return {name: top / name for name in plans}
