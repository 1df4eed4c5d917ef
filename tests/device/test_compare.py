"""Comparison with the emulator, on a CPU double: what agrees, what does not, and what says nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder, make_plan, problem
from warpwright.device.cases import StoredCase, add_cases, case_inputs, inputs_digest, read_case, write_case
from warpwright.device.compare import _short, compare
from warpwright.device.memo import fresh
from warpwright.device.problem import Problem
from warpwright.device.supervise import Supervisor
from warpwright.device.variant import load_variant
from warpwright.device.xp import NumpyXp
from warpwright.families import workload
from warpwright.plan.types import Plan

HOST, TORCH = "tests.device.doubles:HostBackend", "tests.device.doubles:TorchHostBackend"
RAGGED = problem("ragged", 21, 13, 37)
EXACT = problem("tiles", 32, 16, 24, fill="integer", padding=2)
OFF = problem("beta_zero", 20, 12, 8, zero=("beta",))
CHAIN = make_plan(("bf16", "m"), ("bf16", "n"), ("f32", "n"), epilogue=("alpha", "beta_c"))


def emulated(plan: Plan, given: Problem, seed: int = 5) -> StoredCase:
    """What a perfect emulator would say: float64, rounded once."""
    xp, inputs = NumpyXp(), case_inputs(plan, given, seed)
    dtypes = {a.name: a.dtype for a in plan.arguments}
    stored = lambda name: xp.decode(inputs[name], dtypes[name])  # noqa: E731
    expected = workload(plan.family).expected(xp, plan, given, stored, fresh)
    outputs = {name: xp.encode(found.values, dtypes[name]) for name, found in expected.items()}
    return StoredCase(given, 1, seed, inputs_digest(inputs), "e" * 16, outputs)


def folder_with(root: Path, plan: Plan, *cases: StoredCase, **double: Any) -> Path:
    folder = make_folder(root, plan, **double)
    add_cases(root, folder, {case.problem.name: write_case(case) for case in cases})
    return folder


def run(folder: Path, backend: str = HOST) -> dict[str, Any]:
    with Supervisor(backend, silence=60.0, paths=[ROOT]) as supervisor:
        (result,) = compare([load_variant(folder)], supervisor)
    return result


def test_a_case_survives_its_file(tmp_path: Path) -> None:
    case = emulated(CHAIN, OFF)
    (tmp_path / "case.npz").write_bytes(write_case(case))
    again = read_case(tmp_path / "case.npz")
    assert replace(again, outputs={}) == replace(case, outputs={})
    assert list(again.outputs) == ["d"]
    assert np.array_equal(again.outputs["d"], case.outputs["d"])


def test_inputs_are_what_the_digest_says_and_nan_where_they_must_not_be_read() -> None:
    inputs = case_inputs(CHAIN, OFF, 5)
    assert np.isnan(NumpyXp().decode(inputs["c"], "f32")).all()
    assert inputs_digest(inputs) == inputs_digest(case_inputs(CHAIN, OFF, 5))
    assert inputs_digest(inputs) != inputs_digest(case_inputs(CHAIN, replace(OFF, zero=()), 5))
    assert inputs_digest(inputs) != inputs_digest(case_inputs(CHAIN, OFF, 6))


@pytest.mark.parametrize("backend", [HOST, TORCH])
def test_the_same_arithmetic_is_equal_bit_by_bit(tmp_path: Path, backend: str) -> None:
    if backend == TORCH:
        pytest.importorskip("torch")
    plan = make_plan(d=("f16", "m"), cluster=(2, 1))
    result = run(folder_with(tmp_path, plan, emulated(plan, RAGGED), emulated(plan, EXACT)), backend)
    assert (result["status"], result["diagnosis"], result["method"]) == ("correct", "", "compared")
    figures = result["figures"]
    assert set(figures["cases"]) == {"ragged", "tiles"}
    assert (figures["equal"], figures["difference"], figures["ulps"], figures["ratio"]) == (1.0, 0.0, 0.0, 0.0)
    assert 0 < figures["device"] == figures["emulator"] <= 1
    assert result["emulator"] == "e" * 16
    assert {"source_sha", "cubin_sha", "library_sha", "arch", "toolchain", "gpu", "time"} <= set(result)


def test_a_tile_that_is_switched_off_is_not_read(tmp_path: Path) -> None:
    assert run(folder_with(tmp_path, CHAIN, emulated(CHAIN, OFF)))["status"] == "correct"
    spoilt = folder_with(tmp_path / "read", CHAIN, emulated(CHAIN, OFF), fault="read_c")
    assert run(spoilt)["status"] == "incorrect"


@pytest.mark.parametrize(("fault", "status"), [("", "correct"), ("late", "incorrect")])
def test_a_case_in_place_is_launched_in_place(tmp_path: Path, fault: str, status: str) -> None:
    plan = make_plan(epilogue=("alpha", "beta_c"), in_place="c")
    case = emulated(plan, replace(EXACT, in_place=True))
    assert run(folder_with(tmp_path, plan, case, fault=fault))["status"] == status


def test_a_last_place_is_told_and_allowed_where_sums_are_rounded(tmp_path: Path) -> None:
    plan = make_plan(d=("f32", "n"))
    case = emulated(plan, RAGGED)
    case.outputs["d"][0, 3, 4] += 1
    result = run(folder_with(tmp_path, plan, case))
    assert result["status"] == "correct"
    ragged = result["figures"]["cases"]["ragged"]
    assert ragged["ulps"] == 1.0
    assert ragged["equal"] == pytest.approx(1 - 1 / (21 * 13), abs=1e-4)
    assert 0 < ragged["ratio"] < 1
    assert ragged["difference"] > 0


@pytest.mark.parametrize("given", [RAGGED, EXACT])
def test_beyond_both_bounds_is_incorrect_and_names_the_element(tmp_path: Path, given: Problem) -> None:
    plan = make_plan(d=("f32", "n"))
    case = emulated(plan, given)
    case.outputs["d"][0, 3, 4] += 1 if given is EXACT else 1 << 12
    result = run(folder_with(tmp_path, plan, case))
    assert result["status"] == "incorrect"
    assert f"{given.name}: 1 of " in result["diagnosis"]
    assert "d[0, 3, 4]" in result["diagnosis"]


@pytest.mark.parametrize(("fault", "words"), [("drop", "the emulator has"), ("unwritten", "never written")])
def test_a_wrong_kernel_is_incorrect(tmp_path: Path, fault: str, words: str) -> None:
    plan = make_plan()
    result = run(folder_with(tmp_path, plan, emulated(plan, EXACT), fault=fault))
    assert result["status"] == "incorrect"
    assert words in result["diagnosis"]


def test_a_crash_is_a_status_with_the_case(tmp_path: Path) -> None:
    plan = make_plan()
    result = run(folder_with(tmp_path, plan, emulated(plan, EXACT), fault="abort"))
    assert result["status"] == "crash"
    assert "case tiles" in result["diagnosis"]


def test_other_operands_say_nothing(tmp_path: Path) -> None:
    plan = make_plan()
    result = run(folder_with(tmp_path, plan, replace(emulated(plan, RAGGED), inputs="0" * 64)))
    assert result["status"] == "not_run"
    assert "numpy draws other random numbers" in result["diagnosis"]


def test_variants_without_cases_are_passed_over(tmp_path: Path) -> None:
    with Supervisor(HOST, paths=[ROOT]) as supervisor:
        assert list(compare([load_variant(make_folder(tmp_path))], supervisor)) == []


@pytest.mark.parametrize(("part", "status"), [(0.9, "correct"), (1.1, "incorrect")])
def test_device_and_emulator_may_be_twice_a_bound_apart(tmp_path: Path, part: float, status: str) -> None:
    """Each is within the bound of the exact sum, and rounded: further apart, one of them is wrong."""
    plan = make_plan(d=("f32", "n"))
    case = emulated(plan, RAGGED)
    xp, inputs = NumpyXp(), case_inputs(plan, RAGGED, 5)
    a, b = (xp.decode(inputs[name], "f16") for name in "ab")
    k = a.shape[-1]
    unit = k * 2.0**-23
    bound = unit / (1 - unit) * (np.abs(a) @ np.abs(b))[0, 3, 4]
    value = xp.decode(case.outputs["d"], "f32")[0, 3, 4]
    off = np.array([value + part * 2 * bound])
    case.outputs["d"][0, 3, 4] = xp.encode(off, "f32")[0]
    result = run(folder_with(tmp_path, plan, case))
    assert result["status"] == status
    assert float(result["figures"]["cases"]["ragged"]["ratio"]) == pytest.approx(part, rel=0.05)


@pytest.mark.parametrize(
    ("value", "short"), [(0.99996, 0.9999), (0.12345, 0.1235), (1.0, 1.0), (1.00004, 1.0), (-0.0, 0.0), ("inf", "inf")]
)
def test_figures_have_four_digits_and_what_is_below_one_stays_there(value: Any, short: Any) -> None:
    assert str(_short(value)) == str(short)


def test_where_one_case_says_nothing_the_variant_is_not_correct(tmp_path: Path) -> None:
    plan = make_plan()
    cases = emulated(plan, EXACT), replace(emulated(plan, RAGGED), inputs="0" * 64)
    result = run(folder_with(tmp_path, plan, *cases))
    assert (result["status"], set(result["figures"]["cases"])) == ("not_run", {"tiles"})
