"""Cases of the emulator for a bundle: which are chosen, that their operands can be drawn again, and who has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.records import rewrite
from warpwright.bundle.cases import write_cases
from warpwright.device.cases import CASES, StoredCase, case_inputs, inputs_digest, read_case
from warpwright.device.cases import cases_of as stored_cases
from warpwright.device.judged_by import operations_of
from warpwright.device.xp import NumpyXp
from warpwright.emulate.variant import harness
from warpwright.pipeline.emulating import emulator_digest


def cases_of(folder: Path, target: Path) -> dict[str, StoredCase]:
    steps: list[int] = []
    copied = target / "variants" / folder.name
    copied.mkdir(parents=True)
    assert write_cases([folder], target, 1, lambda: steps.append(1)) == {}
    assert steps == [1]
    found = [read_case(path) for path in stored_cases(copied)]
    assert [read_case(path).problem.name for path in stored_cases(copied, "t*")] == ["tiles"]
    return {case.problem.name: case for case in found}


def test_cases_are_exact_ragged_long_and_switched_off(with_c: Path, tmp_path: Path) -> None:
    found = cases_of(with_c, tmp_path)
    assert set(found) == {"tiles", "ragged", "k_long_normal", "extreme", "beta_zero", "in_place"}
    assert found["tiles"].problem.fill == "integer"
    assert {found[name].problem.fill for name in ("ragged", "k_long_normal", "beta_zero")} == {"normal"}
    assert found["k_long_normal"].problem.extents["K"] > 4000
    assert found["beta_zero"].problem.zero == ("beta",)
    subject = harness.load(with_c)
    for case in found.values():
        inputs = case_inputs(subject.plan, case.problem, case.seed)
        assert inputs_digest(inputs) == case.inputs
        assert case.emulator == emulator_digest(subject.plan.family, operations_of(subject.plan.kernel))
        assert case.outputs["d"].shape == tuple(case.problem.extents[mode] for mode in "LMN")
        finite = np.isfinite(NumpyXp().decode(case.outputs["d"], "f16"))
        assert finite.any()
        assert finite.all() == (case.problem.fill != "extreme")


def test_outputs_are_the_kernel_s(cooperative: Path, tmp_path: Path) -> None:
    case = cases_of(cooperative, tmp_path)["tiles"]
    xp, subject = NumpyXp(), harness.load(cooperative)
    inputs = case_inputs(subject.plan, case.problem, case.seed)
    product = xp.matmul(xp.decode(inputs["a"], "f16"), xp.decode(inputs["b"], "f16"))
    assert np.array_equal(xp.decode(case.outputs["d"], "f16"), product)


def test_a_kernel_that_the_emulator_refutes_has_none(cooperative: Path, tmp_path: Path) -> None:
    ptx = (cooperative / "kernel.ptx").read_text()
    rewrite(cooperative, "kernel.ptx", ptx.replace("p, 1,  1,", "p, -1,  1,"))
    missing = write_cases([cooperative], tmp_path, 1, lambda: None)
    assert "wrong-result" in missing[cooperative.name]
    assert not (tmp_path / CASES).exists()
