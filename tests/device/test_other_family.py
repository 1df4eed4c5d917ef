"""A family with one mode, two outputs, a workspace and a grid limit of its own name goes the same way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostTensor
from tests.device.plans import make_folder
from tests.device.scale import ScaleBackend, ScaleKernel, ScaleWorkload, register, scale_plan
from warpwright.device.bench import Timing, bench
from warpwright.device.call import CallError, CheckedKernel
from warpwright.device.cases import StoredCase, case_inputs, inputs_digest, read_case, write_case
from warpwright.device.check import check_problem
from warpwright.device.check_case import check_case
from warpwright.device.contest import run_contest
from warpwright.device.memo import Store, fresh
from warpwright.device.problem import Problem
from warpwright.device.subject import Subject, load_subject
from warpwright.device.supervise import Outcome
from warpwright.device.tensors import buffer_bytes
from warpwright.device.variant import Variant, load_variant
from warpwright.device.xp import NumpyXp
from warpwright.families.running import Expected

PROBLEM = Problem("p", (("N", 700),))


@pytest.fixture
def workload(monkeypatch: pytest.MonkeyPatch) -> ScaleWorkload:
    return register(monkeypatch)


@pytest.fixture
def variant(workload: ScaleWorkload, tmp_path: Path) -> Variant:
    return load_variant(make_folder(tmp_path, scale_plan()))


@pytest.fixture
def backend() -> ScaleBackend:
    return ScaleBackend()


def subject_of(backend: ScaleBackend, variant: Variant, fault: str = "") -> tuple[Subject, ScaleKernel]:
    subject = load_subject(backend, variant)
    kernel = subject.kernel.function = ScaleKernel(variant.plan, backend, fault)
    return subject, kernel


def check(backend: ScaleBackend, subject: Subject, problem: Problem = PROBLEM, repeats: int = 3) -> dict[str, Any]:
    return check_problem(backend, subject, problem, repeats, 3, Store(1 << 20), lambda _: None)


def test_a_plan_with_a_design_of_its_own_is_read_back(variant: Variant) -> None:
    assert variant.plan == scale_plan()


def test_both_outputs_are_compared_and_the_workspace_is_fresh_each_time(backend, variant) -> None:
    subject, kernel = subject_of(backend, variant)
    figures = check(backend, subject)
    assert (figures["status"], figures["faults"], figures["launches"]) == ("correct", [], 3)
    assert (figures["n"], figures["elements"]) == (700, 704)
    assert str(figures["ratio"]) == "0.0"  # doubling is exact
    assert [call["max_ctas"] for call in kernel.calls] == [6, 6, 2]
    assert kernel.calls[0]["partial"].shape == (2, 700)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("sum", "4 of 4 elements are outside their bound; the first, total[0], is "),
        ("unwritten", "launch 0: 1 elements of y were never written, the first at [699]"),
        ("workspace", "launch 0: 1 elements outside partial were written"),
    ],
)
def test_a_fault_names_its_tensor(backend, variant, fault: str, words: str) -> None:
    figures = check(backend, subject_of(backend, variant, fault)[0])
    assert figures["status"] == "incorrect"
    assert words in figures["faults"][0]


def test_every_output_must_be_the_same_in_every_launch(backend, variant) -> None:
    figures = check(backend, subject_of(backend, variant, "random")[0])
    assert figures["faults"] == ["launch 1 differs from launch 0 on the same operands, first at total[3]"]


def test_the_ratio_is_that_of_the_worst_output(backend, variant) -> None:
    figures = check(backend, subject_of(backend, variant, "random")[0], repeats=1)
    assert figures["status"] == "correct"
    assert 0 < figures["ratio"] < 1, "y is exact, and total is not"
    assert figures["relative"] > 0


def test_a_problem_that_just_fits_is_not_skipped(backend, variant, monkeypatch) -> None:
    subject, _ = subject_of(backend, variant)
    buffers = {a.name: buffer_bytes(a, PROBLEM) for a in subject.arguments()}
    # A second of each output for the repeats, and twenty numbers beside each of its elements.
    needed = sum(buffers.values()) + buffers["y"] + buffers["total"] + 20 * 8 * (700 + 4)
    monkeypatch.setattr(backend, "free_bytes", lambda: needed - 1)
    assert check(backend, subject)["status"] == "skipped"
    monkeypatch.setattr(backend, "free_bytes", lambda: needed)
    assert check(backend, subject)["status"] == "correct"


def test_an_input_that_must_not_be_read_is_nan(backend, variant) -> None:
    subject, kernel = subject_of(backend, variant)
    assert check(backend, subject, Problem("off", (("N", 24),), zero=("alpha",)))["status"] == "correct"
    assert np.isnan(backend.xp.decode(kernel.calls[0]["x"].bits, "f16")).all()


def test_a_sample_is_of_its_own_mode(backend, variant, workload, monkeypatch) -> None:
    monkeypatch.setattr(workload, "sampled", True)
    subject, _ = subject_of(backend, Variant(variant.folder, scale_plan(("y",)), variant.origin), "unwritten")
    figures = check(backend, subject, Problem("p", (("N", 701),)), 1)
    assert figures["elements"] == 141
    assert "the first, y[700], is nan" in figures["faults"][1]


def stored(workload: ScaleWorkload, problem: Problem) -> StoredCase:
    plan, xp = scale_plan(), NumpyXp()
    inputs = case_inputs(plan, problem, 5)
    dtypes = {a.name: a.dtype for a in plan.arguments}
    expected = workload.expected(xp, plan, problem, lambda name: xp.decode(inputs[name], dtypes[name]), fresh)
    outputs = {name: xp.encode(found.values, dtypes[name]) for name, found in expected.items()}
    return StoredCase(problem, 1, 5, inputs_digest(inputs), "e" * 16, outputs)


def test_every_output_is_compared_with_the_emulator_s(backend, variant, workload, tmp_path: Path) -> None:
    (tmp_path / "case.npz").write_bytes(write_case(stored(workload, PROBLEM)))
    case = read_case(tmp_path / "case.npz")
    assert (sorted(case.outputs), case.problem) == (["total", "y"], PROBLEM)
    figures = check_case(backend, subject_of(backend, variant)[0], case)
    assert (figures["status"], figures["equal"], figures["elements"]) == ("correct", 1.0, 704)
    case.outputs["total"][2] += 1 << 12
    figures = check_case(backend, subject_of(backend, variant)[0], case)
    assert figures["status"] == "incorrect"
    assert "1 of 4 elements differ from the emulator's by more than both bounds; the first, total[2]" in str(figures)


def test_figures_leave_out_what_is_not_finite(backend, variant, workload, monkeypatch) -> None:
    """There the family's bound is NaN as well, and the device's NaN has whatever payload."""

    def strewn(xp: Any, plan: Any, argument: Any, problem: Problem, seed: int) -> Any:
        values = np.arange(problem.extents["N"]) % 7.0
        values[[3, 100, 699]] = np.nan, np.inf, np.inf
        return xp.encode(values, argument.dtype)

    def with_bounds(*given: Any) -> dict[str, Expected]:
        return {name: replace(e, error=np.zeros_like(e.values)) for name, e in exact(*given).items()}

    exact = workload.expected
    monkeypatch.setattr(workload, "inputs", strewn)
    monkeypatch.setattr(workload, "expected", with_bounds)
    case = stored(workload, PROBLEM)
    case.outputs["y"][3] ^= 0x12
    case.outputs["y"][5] += 1
    figures = check_case(backend, subject_of(backend, variant)[0], case)
    assert "1 of 700 elements differ" in figures["faults"][0]  # of the first output: NaN is right, of any payload
    assert figures["equal"] == 1 - 2 / 704
    assert (figures["ulps"], figures["difference"]) == (1.0, 2.0**-7)


class InProcess:
    """A supervisor without a process."""

    def __init__(self, backend: ScaleBackend) -> None:
        self.backend = backend

    def start(self) -> dict[str, Any]:
        return self.backend.describe()

    def request(self, request: dict[str, Any]) -> Outcome:
        events: list[dict[str, Any]] = []
        run_contest(self.backend, request, events.append)
        return Outcome(events=[event for event in events if event["event"] == "measured"])


def test_speed_is_told_in_the_family_s_rate(backend, variant) -> None:
    options = Timing([{"n": 4096}], rounds=3, sustained_rounds=1, sustained_seconds=0.001, seed=1)
    (result,) = bench([variant], InProcess(backend), options)  # type: ignore[arg-type]
    figures = result["figures"]
    assert (result["status"], result["problem"], figures["problem"]) == ("correct", {"n": 4096}, {"n": 4096})
    assert figures["rate"] == "TB/s"
    assert figures["speed"] == pytest.approx(4 * 4096 / figures["cold_us"]["median"] / 1e6, rel=1e-3)
    assert figures["peer"]["name"] == "double"
    assert result["samples"]["peer_cold_us"]


def given(n: int = 40, **changes: Any) -> dict[str, Any]:
    tensors = {
        "x": HostTensor(np.zeros(n + 8, np.int16)[: n + 8][:n], "f16"),
        "y": HostTensor(np.zeros(n, np.int16), "f16"),
        "total": HostTensor(np.zeros(4, np.int32), "f32"),
        "partial": HostTensor(np.zeros((2, n), np.int32), "f32"),
    }
    return {**tensors, "alpha": 2.0, **changes}


def called(**arguments: Any) -> tuple[Any, ...]:
    calls: list[tuple[Any, ...]] = []
    CheckedKernel(scale_plan(), lambda *a: calls.append(a), 132, "host")(**arguments)
    return calls[0]


def test_a_call_takes_vectors_a_workspace_and_the_limit_by_its_own_name() -> None:
    arguments = given()
    launched = called(**arguments)
    assert launched == (*arguments.values(), 132)
    assert called(**arguments, max_ctas=5)[-1] == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_ctas": 133}, "max_ctas: 133; must be a whole number from 1 to 132"),
        ({"max_clusters": 1}, "max_clusters: unknown argument; the arguments are x, y, total, partial, alpha"),
        ({"x": HostTensor(np.zeros((1, 40), np.int16), "f16")}, "x: shape (1, 40); must have the modes (N)"),
        ({"x": HostTensor(np.zeros(48, np.int16), "f16")}, "y: N = 40 in shape (40,); 'x' has N = 48"),
        ({"x": HostTensor(np.zeros(80, np.int16)[::2], "f16")}, "x: stride 2 in N; this variant is N-major"),
        ({"partial": HostTensor(np.zeros((3, 40), np.int32), "f32")}, "partial: 2 = 3 in shape (3, 40)"),
        (
            {"partial": HostTensor(np.zeros((2, 40), np.int32), "f32").as_strided((2, 40), (16, 1))},
            "partial: stride 16 in 2; must be at least 40",
        ),
        ({"partial": None}, "partial: type NoneType; must be a torch tensor"),
    ],
)
def test_a_broken_rule_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError) as caught:
        called(**given(**changes))
    assert str(caught.value).startswith(message)


def test_a_workspace_shares_memory_with_nothing() -> None:
    raw = np.zeros((2, 40), np.int32)
    x = HostTensor(raw.view(np.int16).reshape(-1)[:40], "f16")
    with pytest.raises(CallError, match=r"partial: bytes .* overlap those of 'x'; a workspace must not share memory"):
        called(**given(x=x, partial=HostTensor(raw, "f32")))
