"""A result counts for exactly its source, toolchain and arch, and the worst verdict that counts decides."""

from __future__ import annotations

import dataclasses

import pytest

from warpwright.record import LEVELS, STATUSES, Evidence, Subject, judge, stale_because

SUBJECT = Subject("a" * 64, "sm_90a", {"cutlass_dsl": "4.8.1", "gcc": "12.2.0"}, "c" * 64)


def evidence(method: str, status: str = "correct", subject: Subject = SUBJECT, origin: str = "here") -> Evidence:
    return Evidence(method, status, subject, origin=origin)


def test_evidence_is_the_strongest_method_passed() -> None:
    for method in LEVELS:
        validated = [evidence("gpu-validated")] if method == "benchmarked" else []
        judged = judge(SUBJECT, [evidence("built"), *validated, evidence(method)])
        assert (judged.evidence, judged.status) == (method, "correct")


def test_a_time_of_what_was_not_seen_to_be_right_is_no_level() -> None:
    for others in ([], [evidence("gpu-validated", "partial")]):
        judged = judge(SUBJECT, [evidence("built"), *others, evidence("benchmarked")])
        assert (judged.evidence, judged.status) == ("built", "correct")
        assert [each.method for each, _ in judged.stale] == [each.method for each in others]


def test_nothing_known_is_planned_without_a_status() -> None:
    judged = judge(SUBJECT, [])
    assert (judged.evidence, judged.status) == ("planned", "")


@pytest.mark.parametrize("status", [s for s in STATUSES if s not in ("correct", "degraded")])
def test_a_failure_on_the_device_overrules_a_good_build(status: str) -> None:
    judged = judge(SUBJECT, [evidence("built"), evidence("gpu-validated", status)])
    assert (judged.evidence, judged.status) == ("built", status)


def test_degraded_build_stays_degraded_when_its_numbers_are_right() -> None:
    judged = judge(SUBJECT, [evidence("built", "degraded"), evidence("gpu-validated")])
    assert (judged.evidence, judged.status) == ("gpu-validated", "degraded")


def test_worst_verdict_wins_whatever_the_order() -> None:
    for found in ([("built", "hang"), ("emulated", "incorrect")], [("built", "incorrect"), ("emulated", "hang")]):
        assert judge(SUBJECT, [evidence(*each) for each in found]).status == "hang"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source_sha": "b" * 64}, "it is for source bbbbbbbbbbbb, the source is now aaaaaaaaaaaa"),
        ({"arch": "sm_100a"}, "it is for sm_100a, the variant is now for sm_90a"),
        ({"toolchain": {"cutlass_dsl": "4.8.0"}}, "it was obtained with cutlass_dsl 4.8.0, now 4.8.1"),
        ({"toolchain": {}}, "it was obtained with cutlass_dsl unknown, now 4.8.1"),
        ({"cubin_sha": "d" * 64}, "it is for cubin dddddddddddd, the same source now gives cccccccccccc"),
    ],
)
def test_anything_else_is_stale_and_decides_nothing(change: dict[str, object], says: str) -> None:
    other = evidence("gpu-validated", "hang", dataclasses.replace(SUBJECT, **change))  # type: ignore[arg-type]
    assert stale_because(other, SUBJECT) == says
    judged = judge(SUBJECT, [evidence("built"), other])
    assert (judged.evidence, judged.status) == ("built", "correct")
    assert [reason for _, reason in judged.stale] == [says]


def test_another_cubin_of_the_same_source_is_another_kernel_on_a_gpu_alone() -> None:
    """ptxas may choose registers otherwise: a build and an emulation are obtained anew where they are compared."""
    other = dataclasses.replace(SUBJECT, cubin_sha="d" * 64)
    told = {method: stale_because(evidence(method, "correct", other), SUBJECT) for method in ("built", "emulated")}
    assert told == {"built": "", "emulated": ""}
    for method in ("compared", "gpu-validated", "benchmarked"):
        assert "it is for cubin" in stale_because(evidence(method, "correct", other), SUBJECT)


def test_the_folder_replaces_the_ledger_where_both_are_valid() -> None:
    here = evidence("gpu-validated", "hang")
    ledger = evidence("gpu-validated", "correct", origin="ledger")
    for found in ([here, ledger], [ledger, here]):
        assert judge(SUBJECT, found).status == "hang"


def test_a_stale_folder_does_not_hide_the_ledger() -> None:
    old = evidence("gpu-validated", "hang", dataclasses.replace(SUBJECT, source_sha="0" * 64))
    judged = judge(SUBJECT, [old, evidence("gpu-validated", origin="ledger")])
    assert (judged.evidence, judged.status) == ("gpu-validated", "correct")


@pytest.mark.parametrize("change", [{"toolchain": {"cutlass_dsl": "4.8.1", "gcc": "14.1.0"}}, {"cubin_sha": ""}])
def test_what_cannot_change_the_kernel_does_not_make_it_stale(change: dict[str, object]) -> None:
    other = evidence("gpu-validated", subject=dataclasses.replace(SUBJECT, **change))  # type: ignore[arg-type]
    assert judge(SUBJECT, [other]).evidence == "gpu-validated"


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_ledgers_the_worst_counts(order: int) -> None:
    found = [evidence("gpu-validated", status, origin="ledger") for status in ("correct", "hang", "degraded")]
    assert judge(SUBJECT, found[::order]).status == "hang"


def test_a_variant_that_is_not_built_here_has_no_other_cubin() -> None:
    unbuilt = dataclasses.replace(SUBJECT, cubin_sha="")
    assert stale_because(evidence("gpu-validated"), unbuilt) == ""
