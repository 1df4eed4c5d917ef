"""What figures must be: everything that was ever written is accepted, and one wrong key of it is told with its rule."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.record.figures import FIGURES, GPU
from warpwright import resources
from warpwright.device import bench, compare, tolerance, validate
from warpwright.pipeline import emulating
from warpwright.protocols import LARGEST_RATIO, PROTOCOLS
from warpwright.record import METHODS, read_ledger
from warpwright.record.schema import check_figures, check_gpu, check_protocol
from warpwright.record.wrong import SchemaError


def test_every_committed_line_fits() -> None:
    lines = [line for path in sorted(resources.ledger().glob("*.jsonl")) for line in read_ledger(path)]
    for evidence in (line.evidence for line in lines):
        check_figures(evidence.method, evidence.status, evidence.figures)
        check_protocol(evidence.method, evidence.protocol)
        if evidence.method not in ("built", "emulated"):
            check_gpu(evidence.gpu, evidence.subject.arch)
    assert {line.evidence.method for line in lines} == set(METHODS)


@pytest.mark.parametrize(("method", "status"), FIGURES)
def test_genuine_figures_fit(method: str, status: str) -> None:
    check_figures(method, status, FIGURES[method, status])


def at(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one key, by its path."""

    def change(figures: dict[str, Any]) -> None:
        *way, last = path.split(".")
        inner: Any = figures
        for part in way:
            inner = inner[int(part) if isinstance(inner, list) else part]
        if value is ...:
            del inner[last]
        else:
            inner[int(last) if isinstance(inner, list) else last] = value

    return change


WRONG: list[tuple[str, str, str, Any, str]] = [
    ("built", "correct", "registers", ..., "figures.registers is missing: a build that is correct has it"),
    ("built", "correct", "registers", 168.0, "figures.registers is 168.0: it must be a valid integer"),
    ("built", "correct", "registers", True, "figures.registers is True: it must be a valid integer"),
    ("built", "correct", "spill_bytes", -1, "figures.spill_bytes is -1: it must be greater than or equal to 0"),
    ("built", "correct", "dynamic_shared_bytes", None, "figures.dynamic_shared_bytes is missing: a build that is"),
    ("built", "correct", "speed", 1, "figures.speed is 1: no result of its kind has such a key"),
    ("built", "correct", "failure", {"reason": "error", "detail": ""}, "a build without a kernel has one: correct"),
    ("built", "degraded", "findings", [], "figures.findings is []: they make a build correct, not degraded"),
    ("built", "degraded", "findings.0.wrong", True, "they make a build incorrect, not degraded"),
    ("built", "compile_failed", "failure", ..., "figures.failure is None: a build without a kernel has one"),
    ("emulated", "correct", "problems", [], "figures.problems is []: at least one is run"),
    ("emulated", "correct", "problems", ["a", "a"], "figures.problems is ['a']: each is told once"),
    ("emulated", "correct", "runs", 0, "figures.runs is 0: it must be greater than or equal to 1"),
    ("emulated", "correct", "runs", 1, "figures.runs is 1: every problem is run at least once"),
    ("emulated", "correct", "ratio", 1.5, "figures.ratio is 1.5: of what is correct no error exceeds its bound, 1"),
    ("emulated", "correct", "ratio", "inf", "figures.ratio is 'inf': of what is correct no error exceeds its bound"),
    ("emulated", "correct", "ratio", math.nan, "figures.ratio is nan: it must be"),
    ("emulated", "correct", "ratio", math.inf, "figures.ratio is inf: it must be"),
    ("emulated", "correct", "ratio", "0.5", "figures.ratio is '0.5': it must be"),
    ("emulated", "correct", "elements", 0, "figures.elements is 0: something is compared"),
    ("emulated", "correct", "coverage.taken", 91, "figures.coverage.taken is 91: at most 90, the total"),
    ("emulated", "correct", "findings", [{"rule": "a", "expected": "", "found": ""}], "are what degrades"),
    ("emulated", "hang", "defects", [], "figures.defects is []: not with status hang"),
    ("emulated", "hang", "defects.0.seed", 2**64, "figures.defects.0.seed is 18446744073709551616: it must be"),
    ("compared", "correct", "cases", {}, "the largest of the cases' is 0.0"),
    ("compared", "correct", "cases.ragged.ratio", ..., "figures.cases.ragged.ratio is missing"),
    ("compared", "correct", "ratio", 0.2, "figures.ratio is 0.2: the largest of the cases' is 0.09"),
    ("compared", "correct", "equal", 1.01, "figures.equal is 1.01: it must be less than or equal to 1"),
    ("gpu-validated", "correct", "problems", 26, "figures.problems is 26: correct, incorrect and skipped are 27"),
    ("gpu-validated", "correct", "correct", 0, "figures.problems is 27: correct, incorrect and skipped are 0"),
    ("gpu-validated", "correct", "skipped", ["large"], "correct, incorrect and skipped are 28"),
    ("gpu-validated", "correct", "launches", 26, "figures.launches is 26: each problem is launched at least once"),
    ("gpu-validated", "correct", "ratio", 1.1, "figures.ratio is 1.1: of what is correct no error exceeds its bound"),
    ("gpu-validated", "correct", "seconds", -1, "figures.seconds is -1: it must be greater than or equal to 0"),
    ("gpu-validated", "correct", "seconds", 10**400, "figures.seconds is 1000"),
    ("gpu-validated", "incorrect", "incorrect", [], "correct, incorrect and skipped are 26"),
    ("benchmarked", "correct", "problems", [], "figures.problems is []: at least one is timed"),
    ("benchmarked", "correct", "problems", 5, "figures.problems is 5: it must be a valid list"),
    ("benchmarked", "correct", "problems.0.cold_us", ..., "figures.problems.0.cold_us is missing"),
    ("benchmarked", "correct", "problems.0.cold_us.p5", 0, "figures.problems.0.cold_us.p5 is 0: it must be greater"),
    ("benchmarked", "correct", "problems.0.cold_us.p5", 190.0, "p5, median, p95 and p99 rise"),
    ("benchmarked", "correct", "problems.0.cold_us.p95", 189.7, "p5, median, p95 and p99 rise"),
    ("benchmarked", "correct", "problems.0.cold_us.p99", 191.3, "p5, median, p95 and p99 rise"),
    ("benchmarked", "correct", "problems.0.peer.ratio", 2.0, "peer.ratio is 2.0: that of the medians is 0.9508"),
    ("benchmarked", "correct", "problems.0.peer.tie", 0, "problems.0.peer.tie is 0: it must be a valid boolean"),
    ("benchmarked", "correct", "problems.0.speed", 0.0, "figures.problems.0.speed is 0.0: it must be greater than 0"),
    ("benchmarked", "correct", "problems.0.peer.sustained_ratio", 0.908, "that of the medians is 0.9090"),
    ("benchmarked", "correct", "problems.0.peer.sustained_ratio", ..., "that of the medians is 0.9090"),
    ("benchmarked", "correct", "problems.0.peer.sustained_us", ..., "there are not two medians to compare"),
    ("benchmarked", "correct", "problems.0.sustained_us", ..., "it is there if, and only if, sustained_us is"),
    ("benchmarked", "correct", "problems.0.problem", {}, "figures.problems.0.problem is {}: it has extents"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "status", "path", "value", "told"), WRONG)
def test_one_wrong_key_is_told(method: str, status: str, path: str, value: Any, told: str) -> None:
    figures = copy.deepcopy(FIGURES[method, status])
    at(path, value)(figures)
    with pytest.raises(SchemaError) as raised:
        check_figures(method, status, figures)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("method", "status", "told"),
    [
        ("gpu-validated", "", "status is '': of gpu-validated results it is one of correct, incorrect, launch_failed"),
        ("gpu-validated", "degraded", "status is 'degraded'"),
        ("gpu-validated", None, "status is None"),
        ("benchmarked", "incorrect", "status is 'incorrect'"),
        ("built", "hang", "status is 'hang'"),
    ],
)
def test_a_method_gives_its_own_statuses_alone(method: str, status: Any, told: str) -> None:
    with pytest.raises(SchemaError) as raised:
        check_figures(method, status, FIGURES[method, "correct"])
    assert told in str(raised.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("figures", [{}, [], None, "figures", 5])
def test_a_pass_without_figures_is_none(method: str, figures: Any) -> None:
    with pytest.raises(SchemaError):
        check_figures(method, "correct", figures)


def test_figures_that_are_too_deep_are_told() -> None:
    deep: Any = {}
    for _ in range(50_000):
        deep = {"a": deep}
    figures = {**FIGURES["built", "correct"], "failure": deep}
    with pytest.raises(SchemaError):
        check_figures("built", "correct", figures)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"gpu": ""}, "gpu.gpu is '': it must be"),
        ({"gpu": " "}, "gpu.gpu is ' ': it must say something"),
        ({"driver": ""}, "gpu.driver is ''"),
        ({"driver": ...}, "gpu.driver is missing"),
        ({"compute_capability": "9"}, "gpu.compute_capability is '9'"),
        ({"compute_capability": "8.0"}, "gpu.compute_capability is '8.0': a kernel for sm_90a runs on 9.0 alone"),
        ({"sms": 0}, "gpu.sms is 0"),
        ({"memory_bytes": 1.5e11}, "gpu.memory_bytes is 150000000000.0"),
        ({"colour": "green"}, "gpu.colour is 'green': no result of its kind has such a key"),
    ],
)
def test_a_gpu_is_described_as_a_whole(change: dict[str, Any], told: str) -> None:
    check_gpu(GPU, "sm_90a")
    gpu = {name: value for name, value in {**GPU, **change}.items() if value is not ...}
    with pytest.raises(SchemaError) as raised:
        check_gpu(gpu, "sm_90a")
    assert told in str(raised.value)


@pytest.mark.parametrize("protocol", [0, -1, 99, 10**9, None, "1", 1.0, True, [1]])
def test_a_protocol_that_nobody_wrote_is_refused(protocol: Any) -> None:
    for method in PROTOCOLS:
        with pytest.raises(SchemaError, match=r"^protocol is .*can be read here$"):
            check_protocol(method, protocol)


def test_what_is_written_can_be_read() -> None:
    written = {module.METHOD: module.PROTOCOL for module in (bench, compare, validate)}
    for method, protocol in {**written, "emulated": emulating.PROTOCOL}.items():
        check_protocol(method, protocol)
        assert protocol == max(PROTOCOLS[method])
    assert set(PROTOCOLS) == set(METHODS) - {"built"}
    assert tolerance.LARGEST_RATIO == LARGEST_RATIO
