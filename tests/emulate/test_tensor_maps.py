"""What a launch passes against the plan: tensor maps, grid and values, altered in the source and in the bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.device.plans import problem
from tests.once import Once
from warpwright.build import BuildJob, build
from warpwright.build.launch_capture import HostError, Launch, TensorValue
from warpwright.device.problem import Case
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.units.tma.encoding import changed, field
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.harness import Subject
from warpwright.emulate.variant.launches import Host
from warpwright.families import workload

SHAPE = "(a.stride[0], a.stride[1], 1)"


def view(name: str, old: str, iterator: str, stride: str) -> tuple[str, str]:
    """Replace the tensor that a map is made of."""
    layout = f"cute.make_layout({name}.shape, stride={stride})" if stride else f"{name}.layout"
    return f"tma_view({name}, {old}", f"tma_view(cute.make_tensor({iterator}, {layout}), {old}"


#: Faults in the host code of the kernel with C, (what, by what): the findings that show them.
PLANTED: dict[str, tuple[tuple[str, str], str]] = {
    "B over A": (view("b", "(n, depth", "a.iterator", ""), "b: address"),
    "A a vector further": (view("a", "(m, depth", "a.iterator + 8", ""), "a: address"),
    "rows packed from K": (
        view("a", "(m, depth", "a.iterator", "(a.stride[0], cute.assume(Int64(k), divby=8), 1)"),
        "a: the stride of M",
    ),
    "batches twice as far": (
        view("a", "(m, depth", "a.iterator", "(a.stride[0] * 2, a.stride[1], 1)"),
        "a: the stride of L",
    ),
    "the strides of B for A": (
        view("a", "(m, depth", "a.iterator", "(b.stride[0], b.stride[2], 1)"),
        "a: the stride of L",
    ),
    "D through C": (view("d", "(m, whole", "c.iterator", ""), "d: address"),
    "extents exchanged": (("tma_view(b, (n, depth", "tma_view(b, (m, depth"), "b: the extent of N"),
    "D to its last element": (
        ("whole = cutlass.max(n // D_ALIGNMENT, 1) * D_ALIGNMENT", "whole = n"),
        "d: the extent of N",
    ),
    "strides in 32 bits": (
        view("a", "(m, depth", "a.iterator", "(Int64(Int32(a.stride[0])), a.stride[1], 1)"),
        "a: the stride of L",
    ),
    "offsets in 32 bits": (
        view("c", "(m, n", "c.iterator", "(Int64(Int32(m) * Int32(c.stride[1])), c.stride[1], 1)"),
        "c: the stride of L",
    ),
    "a k tile too many": (("k_tiles = cute.ceil_div(k, TILE_K)", "k_tiles = k // TILE_K + 1"), "k_tiles"),
    "the default stream": (("            stream=stream,\n", ""), "stream"),
    "clusters of the other extent": (("tiles_mnl = (cute.ceil_div(m, ", "tiles_mnl = (cute.ceil_div(n, "), "tiles_mnl"),
}  # fmt: skip


@pytest.fixture
def small(_built: list[Path]) -> list[Path]:
    """The folders of a kernel in a cluster of two, and of one with C."""
    return _built


@pytest.fixture(scope="session")
def planted(_built: list[Path], once: Once) -> dict[str, Subject]:
    """The kernel with C, built once with each fault."""
    plan = harness.load(_built[1]).plan
    source = (_built[1] / "kernel.py").read_text()

    def make(top: Path) -> dict[str, Path]:
        folders = {name: top / str(number) for number, name in enumerate(PLANTED)}
        jobs = []
        for name, ((old, new), _) in PLANTED.items():
            assert source.count(old) == 1, (name, old)
            jobs.append(BuildJob(source.replace(old, new), plan, folders[name]))
        for name, artifact in zip(PLANTED, build(jobs), strict=True):
            assert artifact.built, (name, artifact.failure)
        for folder in folders.values():
            (folder / "plan.json").write_text((_built[1] / "plan.json").read_text())
        return folders

    return {name: harness.load(folder) for name, folder in once("tensor-maps", make).items()}


def launch_findings(subject: Subject) -> list[Finding]:
    """Those of all launches, of cases and of huge problems; nothing is run."""
    found = [finding for _, launches in subject.huge() for finding in launches.findings]
    return found + [finding for case in subject.cases() for finding in subject.prepare(case).findings]


@pytest.mark.parametrize("fault", PLANTED)
def test_faults_of_the_host_code_are_found(planted: dict[str, Subject], fault: str) -> None:
    about = PLANTED[fault][1]
    found = launch_findings(planted[fault])
    shown = [finding for finding in found if about in finding.about]
    assert shown, [str(finding) for finding in found]
    name = about.partition(":")[0]
    assert "\n  kernel.py:" in shown[0].message, shown[0].message
    line = f"{name}_tma = ", f"{name} = ", "gemm_kernel("
    assert any(text in shown[0].message for text in (line[:2] if ":" in about or "k_t" in about else line))


def test_what_is_only_wrong_at_large_extents_shows_there(planted: dict[str, Subject]) -> None:
    for fault in ("strides in 32 bits", "offsets in 32 bits"):
        subject = planted[fault]
        cases = {case.problem.name for case, launches in subject.huge() if launches.findings}
        assert {"far_batches_35", "far_batches_36"} <= cases
        small = [case for case in subject.cases() if case.problem.name != "far"]
        assert len(small) > 5
        assert fault != "strides in 32 bits" or not any(subject.prepare(case).findings for case in small)


def test_a_verdict_tells_it_once_and_runs_what_is_there(planted: dict[str, Subject]) -> None:
    verdict = harness.emulate(planted["B over A"])
    kinds = [defect.finding.kind for defect in verdict.defects]
    assert verdict.status == "crash"  # B has more rows than A
    assert kinds == ["tensor-map", "global-bounds"] or kinds == ["tensor-map", "global-bounds", "wrong-result"]
    assert "has address 0x" in verdict.diagnosis
    assert ", byte 0 of a, expected 0x" in verdict.diagnosis


def test_right_kernels_have_none(small: list[Path]) -> None:
    assert len(small) == 2
    for folder in small:
        subject = harness.load(folder)
        assert len(subject.huge()) > 10
        assert launch_findings(subject) == []
        assert [launches.differences for _, launches in subject.huge() if launches.differences] == []


# Bytes and numbers of the launch ---------------------------------------------------------------------------------


class Altered:
    """A host function whose launches are altered."""

    def __init__(self, host: Host, edit: Callable[[Launch], Launch]) -> None:
        self.host, self.edit = host, edit

    def __call__(self, values: Sequence[TensorValue | int | float]) -> tuple[Launch, ...]:
        return tuple(self.edit(launch) for launch in self.host(values))


def parameter(index: int, edit: Callable[[bytes], bytes]) -> Callable[[Launch], Launch]:
    def edited(launch: Launch) -> Launch:
        params = list(launch.params)
        params[index] = edit(params[index])
        return replace(launch, params=tuple(params))

    return edited


def add(name: str, step: int, mode: int = 0) -> Callable[[bytes], bytes]:
    return lambda raw: changed(raw, name, field(raw, name, mode) + step, mode)


def prepared(folder: Path, edit: Callable[[Launch], Launch]) -> tuple[Subject, Any]:
    """Ragged in every extent, two of four tiles in flight."""
    subject = harness.load(folder)
    subject.host = Altered(subject.host, edit)
    return subject, subject.prepare(Case(problem("p", 97, 35, 163), 2, 0, (1,)))


#: Of the kernel with C: A, B, C and D are parameters 0, 2, 4 and 6; maps have K or N, then M or N, then L.
BYTES: list[tuple[int, Callable[[bytes], bytes], str, str]] = [
    (0, add("address", 16), "a: address", "byte 16 of a, expected 0x"),
    (0, add("address", 1 << 41), "a: address", "in no tensor"),
    (2, add("extent", -1, 0), "b: the extent of K", "has the extent of K 162, expected 163"),
    (0, add("extent", 1, 1), "a: elements up to", "B beyond it, expected the end of a"),
    (0, add("stride", 1, 0), "a: the stride of M", "has the stride of M 352 B, expected 336 B"),
    (0, add("stride_high", 1, 0), "a: the stride of M", f"has the stride of M {336 + (1 << 36)} B"),
    (0, add("box", -1, 1), "a: the box", "has the box (64, 63, 1), expected (64, 64, 1)"),
    (0, lambda raw: changed(changed(raw, "swizzle", 2), "box", 31), "a: the swizzle", "64B, expected 128B"),
    (0, lambda raw: changed(raw, "type", 10), "a: elements of", "has elements of bf16, expected f16"),
    (0, lambda raw: changed(raw, "fill", 1), "a: outside the tensor", "has outside the tensor nan, expected zero"),
    (4, lambda raw: changed(raw, "step", 1, 1), "c: traversal strides", "has traversal strides (1, 2, 1)"),
    (6, lambda raw: changed(raw, "rank", 1), "d: bytes", "not a tensor map: it has 2 modes, and stride of more"),
    (6, lambda raw: b"\xff" * 128, "d: bytes", "is none that can be copied through: not a tensor map"),
    (6, add("address", 8), "d: bytes", "a base address that is a multiple of 16"),
    (6, lambda raw: changed(raw, "interleave", 1), "d: bytes", "interleaved by 16 B: not emulated"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BYTES)))
def test_altered_maps_are_found(small: list[Path], number: int) -> None:
    index, edit, about, text = BYTES[number]
    subject, case = prepared(small[1], parameter(index, edit))
    shown = [finding for finding in case.findings if finding.about == about]
    assert [finding.kind for finding in shown] == ["tensor-map"], [str(finding) for finding in case.findings]
    assert text in shown[0].message
    outcome = next(iter(subject.outcomes(case, subject.module)))
    assert set(case.findings) <= set(outcome.findings)
    assert outcome.complete or len(outcome.findings) > 1 or "bytes" in about


def test_what_a_map_promotes_to_l2_is_nobody_s_business(small: list[Path]) -> None:
    _, case = prepared(small[1], parameter(0, lambda raw: changed(raw, "promotion", 0)))
    assert case.findings == ()


def test_the_altered_map_is_what_runs(small: list[Path]) -> None:
    """NaN outside A, times the zeros outside B, in a K that ends within a tile."""
    subject, case = prepared(small[1], parameter(0, lambda raw: changed(raw, "fill", 1)))
    outcome = next(iter(subject.outcomes(case, subject.module)))
    assert [finding.kind for finding in outcome.findings] == ["tensor-map", "wrong-result"]


def little(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def test_values_are_compared_one_by_one(small: list[Path]) -> None:
    sizes = [len(raw) for raw in prepared(small[1], lambda launch: launch)[1].calls[0].launch.params]
    assert sizes == [128, 12, 128, 12, 128, 12, 128, 12, 40, 4, 4, 4, 4, 4, 4, 4]
    edits: list[tuple[int, Callable[[bytes], bytes], str]] = [
        (1, lambda raw: raw[:4] + little(7) + raw[8:], "1 of gemm_kernel, the extents of a, is 7, expected 163"),
        (8, lambda raw: bytes([raw[0] ^ 16]) + raw[1:], "d_mnl's address, is 0x"),
        (8, lambda raw: raw[:8] + little(-1) + raw[12:], "d_mnl's extent of M, is -1, expected 97"),
        (8, lambda raw: raw[:24] + little(8) + raw[28:], "d_mnl's stride of M, is 8, expected"),
        (9, lambda raw: bytes(4), "alpha, is 0.0, expected"),
        (10, lambda raw: bytes(4), "beta, is 0.0, expected"),
        (11, lambda raw: little(1), "tiles_mnl, is 1, expected 2"),
        (14, lambda raw: little(1), "tile_count, is 1, expected 4"),
        (15, lambda raw: little(4), "k_tiles, is 4, expected 3"),
    ]  # fmt: skip
    for index, edit, text in edits:
        _, case = prepared(small[1], parameter(index, edit))
        assert [finding.kind for finding in case.findings] == ["launch"], (index, case.findings)
        assert text in case.findings[0].message
    # What lies between the fields of a tensor means nothing.
    _, case = prepared(small[1], parameter(8, lambda raw: raw[:20] + b"\xff" * 4 + raw[24:]))
    assert case.findings == ()


def test_a_grid_of_another_size_differs(small: list[Path]) -> None:
    for grid in ((1, 1, 1), (3, 1, 1), (2, 2, 1)):
        _, case = prepared(small[1], lambda launch, grid=grid: replace(launch, grid=grid))  # type: ignore[misc]
        (difference,) = case.differences
        assert (difference.rule, difference.expected, difference.found) == ("launch: grid", "(2, 1, 1)", str(grid))
        assert case.runnable


@pytest.mark.parametrize(
    ("field_of", "value", "rule"),
    [
        ("cluster", (2, 1, 1), "launch: cluster"),
        ("shared_bytes", 1024, "launch: shared memory"),
        ("block", (128, 1, 1), "launch: threads"),
    ],
)
def test_a_launch_of_another_shape_differs(small: list[Path], field_of: str, value: Any, rule: str) -> None:
    _, case = prepared(small[1], lambda launch: replace(launch, **{field_of: value}))
    assert [(difference.rule, difference.found) for difference in case.differences] == [
        (rule, "128" if field_of == "block" else str(value))
    ]
    assert case.findings == ()


def test_a_refusal_of_the_host_function_is_a_finding(small: list[Path]) -> None:
    def refuses(values: Sequence[TensorValue | int | float]) -> tuple[Launch, ...]:
        raise HostError("too large")

    subject = harness.load(small[1])
    subject.host = refuses
    shown = subject.huge()
    assert len(shown) > 10
    for case, launches in shown:
        assert [finding.about for finding in launches.findings] == ["refused"], case.problem.name
        assert "too large" in launches.findings[0].message


def test_a_grid_that_is_none_is_refused(small: list[Path]) -> None:
    subject, case = prepared(small[0], lambda launch: replace(launch, grid=(3, 1, 1)))
    assert [difference.rule for difference in case.differences] == ["launch: grid"]
    outcome = next(iter(subject.outcomes(case, subject.module)))
    assert [finding.kind for finding in outcome.findings] == ["launch-refused"]


def test_a_launch_that_is_not_made_is_a_finding(small: list[Path]) -> None:
    subject = harness.load(small[1])
    subject.host = lambda values: ()
    case = subject.prepare(subject.cases()[0])
    assert not case.runnable
    assert "the host function launches nothing, the plan has " in case.findings[0].message


def test_huge_problems_are_beyond_32_bits(small: list[Path]) -> None:
    """In extents, in bytes and elements between rows and batches, in tiles along K."""
    subject = harness.load(small[1])
    cases: list[Case] = workload("gemm").huge(subject.plan)
    extents = [case.problem.extents for case in cases]
    assert any(e["M"] * e["N"] > 2**31 for e in extents)
    assert any(e["K"] > 4096 * subject.plan.design.tile_k for e in extents)
    assert {2**31 - 1} <= {e[mode] for e in extents for mode in "MNK"}
    for bits in (31, 32):
        assert any(case.problem.padding * 16 * case.problem.extents["M"] > 2 * 2**bits for case in cases)


def test_a_launch_on_the_default_stream_is_a_finding(small: list[Path]) -> None:
    _, case = prepared(small[1], lambda launch: replace(launch, own_stream=False))
    assert [finding.about for finding in case.findings] == ["stream"]
    assert (
        "gemm_kernel is launched on the default stream, not on the caller's\n  kernel.py:" in case.findings[0].message
    )
