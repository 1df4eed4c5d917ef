"""What is known about a variant, how strong it is, and whether it still holds.

**Evidence** names the strongest method that a variant has passed: planned, built, emulated, gpu-validated,
benchmarked (design order, cheap to dear). **Status** is what the methods applied so far say, taken together:
`correct` means that nothing found speaks against the variant, *as far as its evidence goes*. A variant that was only
built is therefore `built` / `correct`: its PTX and SASS are what the plan says, but nobody has run it. The two are
never read apart, and only a gpu-validated variant is timed or ranked. The alternative, a tenth status for "built but
not run", would have to be carried by every other list of statuses and would say what the evidence column says already.

When methods disagree, the worst verdict is the status: a kernel that hangs on the GPU is a `hang`, whatever its
census says. A result counts only for the exact source, arch, compiler and, where both sides know it, cubin that it was
obtained with, and only as long as the code that judged is the code at hand; any other is *stale*: it is kept, shown as
stale, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from warpwright.statuses import STATUSES

__all__ = [
    "DECISIVE",
    "LEVELS",
    "METHODS",
    "PLANNED",
    "STATUSES",
    "Evidence",
    "Judgement",
    "Standard",
    "Subject",
    "judge",
    "stale_because",
]

PLANNED = "planned"
#: Methods that leave a file, from cheap to dear, with the file's name in the variant's folder.
METHODS: dict[str, str] = {
    "built": "build.json",
    "emulated": "emulated.json",
    "compared": "compared.json",
    "gpu-validated": "gpu.json",
    "benchmarked": "bench.json",
}
#: The methods that are levels of evidence. A comparison of device and emulator says how far each bears the other out:
#: its verdict counts, but it proves less about a kernel than either.
LEVELS = tuple(method for method in METHODS if method != "compared")


#: The parts of a toolchain that decide what runs on the device. The others (gcc, Python, the CPU of the build host, the
#: disassemblers) differ between the machines that share a ledger; were one of them to change the kernel after all, the
#: cubin's digest would tell.
DECISIVE = ("cutlass_dsl", "dsl_libs")


@dataclass(frozen=True)
class Standard:
    """What a method's results are judged by now: version of the method, and a digest of the code that judges.

    `code` is "" for a method whose results are no judgement (a time) or are always obtained anew (a build's checks).
    """

    protocol: int
    code: str = ""


@dataclass(frozen=True)
class Subject:
    """Exactly what a result must be for, in order to count. `cubin_sha` is "" where nothing has been built.

    `standards` are by method; a method that is not among them is not asked by what it was judged.
    """

    source_sha: str
    arch: str
    toolchain: Mapping[str, str]
    cubin_sha: str = ""
    standards: Mapping[str, Standard] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """One method's result. `origin` is `here` (the variant's folder) or `ledger`.

    `diagnosis` says in words what went wrong; `protocol` is the version of the method, where it has one, and
    `judged_by` the digest of the code that judged.
    """

    method: str
    status: str
    subject: Subject
    figures: Mapping[str, Any] = field(default_factory=dict)
    gpu: Mapping[str, Any] = field(default_factory=dict)
    origin: str = "here"
    diagnosis: str = ""
    protocol: int | None = None
    judged_by: str = ""
    imported: bool = False  # some of its runs were brought here by `warpwright import`

    def reasons(self) -> list[str]:
        """Say why the result is not `correct`: the diagnosis, the failure, or every finding."""
        if self.diagnosis:
            return [self.diagnosis]
        failure = self.figures.get("failure")
        if failure:
            return [f"{failure['reason']}: {failure['detail']}"]
        findings = self.figures.get("findings") or ()
        return [f"{each['rule']}: expected {each['expected']}, found {each['found']}" for each in findings]


@dataclass(frozen=True)
class Judgement:
    """A variant's evidence level and status, with the stale results and why each is stale."""

    evidence: str
    status: str
    stale: tuple[tuple[Evidence, str], ...] = ()
    valid: tuple[Evidence, ...] = ()


def stale_because(evidence: Evidence, subject: Subject) -> str:
    """Return why `evidence` does not count for `subject`, or "" when it does."""
    had = evidence.subject
    if had.source_sha != subject.source_sha:
        return f"it is for source {had.source_sha[:12]}, the source is now {subject.source_sha[:12]}"
    if had.arch != subject.arch:
        return f"it is for {had.arch}, the variant is now for {subject.arch}"
    changed = [
        f"{name} {had.toolchain.get(name, 'unknown')}, now {subject.toolchain[name]}"
        for name in DECISIVE
        if name in subject.toolchain and had.toolchain.get(name) != subject.toolchain[name]
    ]
    if changed:
        return f"it was obtained with {'; '.join(changed)}"
    # ptxas may choose registers otherwise each time. What a build and an emulation say does not rest on that, and both
    # are obtained anew wherever they are compared.
    rests_on_cubin = evidence.method not in ("built", "emulated")
    if rests_on_cubin and had.cubin_sha and subject.cubin_sha and had.cubin_sha != subject.cubin_sha:
        return f"it is for cubin {had.cubin_sha[:12]}, the same source now gives {subject.cubin_sha[:12]}"
    standard = subject.standards.get(evidence.method)
    if standard and evidence.protocol != standard.protocol:
        return f"it was obtained with version {evidence.protocol or 0} of the method, which is now {standard.protocol}"
    if standard and evidence.judged_by != standard.code:
        return (
            f"it was judged by code {evidence.judged_by or 'that it does not name'}, which is now {standard.code}: "
            "the emulator, the bounds, the reference, the workload or an operation has changed"
        )
    return ""


def judge(subject: Subject, found: Iterable[Evidence]) -> Judgement:
    """Weigh the results found for a legal, rendered variant.

    A folder's own result replaces the ledger's of the same method while it is valid: it is the newer one. Of several in
    ledgers (a variant may be part of several configurations) the worst counts.
    """
    valid: dict[str, Evidence] = {}
    stale = []
    for evidence in found:
        reason = stale_because(evidence, subject)
        if not reason and evidence.status not in STATUSES:  # partial: no verdict
            reason = evidence.diagnosis or evidence.status
        if reason:
            stale.append((evidence, reason))
        elif _counts_before(evidence, valid.get(evidence.method)):
            valid[evidence.method] = evidence
    verdicts = [evidence.status for evidence in valid.values()]
    passed = [name for name in LEVELS if name in valid and valid[name].status in ("correct", "degraded")]
    if "gpu-validated" not in passed:  # a time alone does not say that what was timed is right
        passed = [name for name in passed if name != "benchmarked"]
    return Judgement(
        evidence=passed[-1] if passed else PLANNED,
        status=min(verdicts, key=STATUSES.index, default=""),
        stale=tuple(stale),
        valid=tuple(valid[name] for name in METHODS if name in valid),
    )


def _counts_before(one: Evidence, other: Evidence | None) -> bool:
    if other is None or one.origin != other.origin:
        return other is None or one.origin == "here"
    return STATUSES.index(one.status) < STATUSES.index(other.status)
