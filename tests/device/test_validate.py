"""The whole path of validation against a CPU double: right kernels, and each way to be wrong, in a child process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder, make_plan
from warpwright.device.supervise import DeviceUnavailableError, Supervisor
from warpwright.device.validate import Validation, validate
from warpwright.device.variant import load_variant
from warpwright.plan.types import Limit
from warpwright.record.schema import check_gpu

HOST = "tests.device.doubles:HostBackend"
TORCH = "tests.device.doubles:TorchHostBackend"
FULL_CHAIN = ("alpha", "beta_c", {"op": "bias_n", "dtype": "bf16"}, {"op": "bias_m", "dtype": "f32"}, "relu")
#: Leaves out the problems of millions of elements.
QUICK = Validation(seed=7, max_elements=60_000)
FEW = Validation(seed=7, names=("aligned_integer", "ragged", "tiny", "beta_zero"), max_elements=60_000)


def run(folders: list[Path], options: Validation = FEW, silence: float = 20.0, backend: str = HOST) -> list[dict]:
    with Supervisor(backend, silence=silence, paths=[ROOT]) as supervisor:
        return list(validate([load_variant(f) for f in folders], supervisor, options))


@pytest.mark.parametrize(
    "plan",
    [
        make_plan(cluster=(2, 1)),
        make_plan(("bf16", "m"), ("bf16", "n"), ("bf16", "m"), epilogue=FULL_CHAIN, cluster=(1, 2)),
        make_plan(d=("f32", "n"), epilogue=("alpha", "gelu_erf")),
        make_plan(d=("f32", "m"), epilogue=("beta_c", "gelu_tanh", "silu")),
    ],
    ids=["plain", "chain", "gelu_erf", "tanh_silu"],
)
def test_a_right_kernel_is_correct_on_every_problem(tmp_path: Path, plan) -> None:
    (result,) = run([make_folder(tmp_path, plan)], QUICK)
    assert (result["status"], result["diagnosis"]) == ("correct", "")
    names = {problem["name"] for problem in result["problems"]}
    assert {"aligned", "ragged", "tiny", "unit", "k_zero", "l_zero", "m_zero", "n_zero", "nonfinite", "batch"} <= names
    assert result["figures"]["correct"] == len(names) >= 24
    assert float(result["figures"]["ratio"]) <= 1.0
    assert 0 < result["figures"]["relative"] < 0.01
    assert result["gpu"]["gpu"] == "double"
    check_gpu(result["gpu"], result["arch"])
    assert result["source_sha"]
    assert result["cubin_sha"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("drop", "outside their bound"),
        ("unwritten", "never written, the first at [0, "),
        ("guard", "elements outside d were written, the first "),
        ("input", "input a or its guard band was overwritten"),
        ("random", "launch 1 differs from launch 0 on the same operands, first at d[0, 0, 0]"),
    ],
)
def test_a_wrong_kernel_is_incorrect_and_says_how(tmp_path: Path, fault: str, words: str) -> None:
    (result,) = run([make_folder(tmp_path, fault=fault)])
    assert result["status"] == "incorrect"
    assert words in result["diagnosis"]


@pytest.mark.parametrize("fault", ["", "drop", "unwritten"])
def test_torch_gives_the_same_verdicts_as_numpy(tmp_path: Path, fault: str) -> None:
    pytest.importorskip("torch")
    plans = [
        make_plan(epilogue=("alpha", "gelu_tanh")),
        make_plan(("bf16", "m"), ("bf16", "n"), ("bf16", "m"), epilogue=FULL_CHAIN),
        make_plan(d=("f32", "n"), epilogue=("gelu_erf", "silu")),
    ]
    folders = [make_folder(tmp_path, plan, f"torch-{i:012d}", fault=fault) for i, plan in enumerate(plans)]
    results = run(folders, QUICK, 60.0, TORCH)
    assert len(results) == 3
    for result in results:
        assert result["status"] == ("incorrect" if fault else "correct"), result["diagnosis"]


def test_reading_c_where_beta_is_zero_is_incorrect(tmp_path: Path) -> None:
    (result,) = run([make_folder(tmp_path, make_plan(epilogue=("beta_c",)), fault="read_c")])
    assert result["status"] == "incorrect"
    assert result["figures"]["incorrect"] == ["beta_zero"]


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("load", "launch_failed", "undefined symbol"),
        ("refuse", "launch_failed", "invalid configuration argument"),
        ("sticky", "crash", "illegal memory access"),
        ("abort", "crash", "problem aligned_integer, launch 0: the process ended with signal SIGABRT"),
        ("hang", "hang", "no sign of life for 2 s: problem aligned_integer, launch 0"),
    ],
)
def test_a_failure_is_that_variant_s_status_and_the_next_runs(
    tmp_path: Path, fault: str, status: str, words: str
) -> None:
    bad = make_folder(tmp_path, name="bad-000000000000", fault=fault)
    good = make_folder(tmp_path, name="good-111111111111")
    first, second = run([bad, good], silence=2.0 if fault == "hang" else 20.0)
    assert first["status"] == status
    assert words in first["diagnosis"]
    assert (second["status"], second["variant"]) == ("correct", "good-111111111111")


def test_a_reference_that_takes_long_is_no_hang_of_the_variant(tmp_path: Path) -> None:
    (result,) = run([make_folder(tmp_path)], silence=1.5, backend="tests.device.doubles:SlowReferenceBackend")
    assert result["status"] == "not_run"
    assert "no sign of life for 1.5 s: problem aligned_integer, computing the reference" in result["diagnosis"]


def test_a_listed_problem_is_run_with_normal_and_integer_operands(tmp_path: Path) -> None:
    options = Validation(problems=[{"m": 20, "n": 12, "k": 40, "l": 2}], seed=1)
    (result,) = run([make_folder(tmp_path)], options)
    assert [p["name"] for p in result["problems"]] == ["20x12x40x2", "20x12x40x2_integer"]
    assert result["status"] == "correct"


def test_without_a_device_the_reason_is_told(tmp_path: Path) -> None:
    variant = load_variant(make_folder(tmp_path))
    with (
        Supervisor("tests.device.doubles:nothing", paths=[ROOT]) as supervisor,
        pytest.raises(DeviceUnavailableError, match="has no attribute 'nothing'"),
    ):
        list(validate([variant], supervisor, FEW))


def test_no_problem_left_is_no_verdict(tmp_path: Path) -> None:
    (result,) = run([make_folder(tmp_path)], Validation(names=("no such problem",)))
    assert result["status"] == "not_run"


def test_problems_of_a_list_beyond_the_limits_are_left_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, replace(make_plan(), limits=(Limit("columns", (("N", 1),), 24),)))
    fits, wide = {"m": 32, "n": 24, "k": 16, "l": 1}, {"m": 32, "n": 25, "k": 16, "l": 1}
    (result,) = run([folder], Validation(seed=7, problems=(wide, fits)))
    assert (result["status"], result["figures"]["names"]) == ("correct", ["32x24x16x1", "32x24x16x1_integer"])
    (result,) = run([folder], Validation(seed=7, problems=(wide,)))
    assert result["status"] == "not_run"
    assert result["diagnosis"] == (
        "no problem was run: what is asked for is beyond its limits (25 columns, at most 24)"
    )
