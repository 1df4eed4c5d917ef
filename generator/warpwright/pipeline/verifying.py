"""Are these files what a ledger speaks of? Asked of folders and bundles from elsewhere, and no code of them is run.

A ledger has the digests of a variant's source and of its cubin, the code that the GPU runs. A library holds its cubin
as it is, so it can be seen whether that is the ledger's. The code around it, which runs on the CPU, depends on the
machine that built it: no ledger can vouch for that, and only a build on one's own machine makes it one's own.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from warpwright.plan import folder_name
from warpwright.plan.stored import PlanError, plan_from_json
from warpwright.record import Folder, LedgerLine, damage
from warpwright.sealed import DamagedError, load_record, read_regular, sha256

__all__ = ["Verified", "cubins_in", "verify"]

_MAGIC, _CUDA = b"\x7fELF\x02\x01", 190  # 64 bit, little-endian; e_machine of NVIDIA's code
_LIBRARIES = ("kernel.so", "kernel.o")


@dataclass(frozen=True)
class Verified:
    """One variant's answer: files that are the ledger's, and what is not, in words."""

    name: str
    files: tuple[str, ...]
    wrong: tuple[str, ...]


def verify(path: Path, lines: Sequence[LedgerLine]) -> Verified:
    """Hold a variant's folder, of a record or of a bundle, against the ledger's lines on its build."""
    folder = Folder(path)
    built = [
        line for line in lines if folder.identity and line.identity.startswith(folder.identity[:8])
        if line.evidence.method == "built"
    ]  # fmt: skip
    wrong = [str(each) for each in damage(folder)]
    if not built:
        return Verified(path.name, (), (*wrong, "the ledger has no line on its build"))
    subjects = {(line.evidence.subject.source_sha, line.evidence.subject.cubin_sha) for line in built}
    best = min((_compare(path, *subject) for subject in subjects), key=lambda found: len(found[1]))
    wrong += _planned(path, {(line.label, line.identity) for line in built})
    wrong += [
        f"the ledger calls it {line.evidence.status}, {line.evidence.method} ({line.place})"
        for line in lines
        if line.identity in {each.identity for each in built} and line.evidence.status not in ("correct", "degraded")
    ]
    return Verified(path.name, tuple(best[0]), (*wrong, *best[1]))


def _planned(path: Path, known: Collection[tuple[str, str]]) -> list[str]:
    """What is wrong with the plan, by which a kernel is called and checked, and with the name that the folder bears."""
    try:
        plan = plan_from_json(load_record(path / "plan.json").value)
    except FileNotFoundError:
        return ["plan.json: missing"]
    except (DamagedError, PlanError) as error:
        return [f"plan.json: {getattr(error, 'what', error)}"]
    if (plan.label, plan.identity) not in known:
        told = " or ".join(f"{label} ({identity})" for label, identity in sorted(known))
        return [f"plan.json: it is of {plan.label} ({plan.identity}), and the ledger speaks of {told}"]
    return [] if path.name == folder_name(plan) else [f"its name: this variant's folder is {folder_name(plan)}"]


def _compare(path: Path, source_sha: str, cubin_sha: str) -> tuple[list[str], list[str]]:
    right: list[str] = []
    wrong: list[str] = []
    for name, expected in (("kernel.py", source_sha), ("kernel.cubin", cubin_sha), *((n, "") for n in _LIBRARIES)):
        try:
            data = read_regular(path / name)
        except FileNotFoundError:
            continue  # a bundle has the library alone
        except DamagedError as error:
            wrong.append(f"{name}: {error.what}")
            continue
        if expected:
            fits = sha256(data) == expected
            what = f"its SHA-256 is {sha256(data)[:12]}, the ledger has {expected[:12]}"
        else:
            held = [sha256(cubin) for cubin in islice(cubins_in(data), 9)]
            fits = held == [cubin_sha]
            what = (
                f"it holds {', '.join(f'cubin {each[:12]}' for each in held) or 'no cubin'}, not just {cubin_sha[:12]}"
            )
        (right if fits else wrong).append(name if fits else f"{name}: {what}")
    if not {"kernel.cubin", *_LIBRARIES} & {*right, *(each.partition(":")[0] for each in wrong)}:
        wrong.append("there is neither a cubin nor a library")
    return right, wrong + _named(path, source_sha, cubin_sha)


def _named(path: Path, source_sha: str, cubin_sha: str) -> list[str]:
    """What the records beside the files say of source and cubin, where that is something else."""
    wrong = []
    for name in ("build.json", "variant.json"):
        try:
            stored = load_record(path / name).value
        except FileNotFoundError:
            continue
        except DamagedError as error:
            wrong.append(f"{name}: {error.what}")
            continue
        for key, expected in (("source_sha", source_sha), ("cubin_sha", cubin_sha)):
            if stored.get(key) != expected:
                wrong.append(f"{name}: its {key} is {str(stored.get(key))[:12]}, the ledger has {expected[:12]}")
    return wrong


def cubins_in(data: bytes) -> Iterator[bytes]:
    """Yield the cubins (ELF files of NVIDIA's machine) that a library or an object file holds."""
    start = data.find(_MAGIC)
    while start >= 0:
        head = data[start : start + 64]
        if len(head) == 64 and struct.unpack_from("<H", head, 18)[0] == _CUDA:
            programs, sections = struct.unpack_from("<QQ", head, 32)
            program_size, programs_count, section_size, sections_count = struct.unpack_from("<HHHH", head, 54)
            size = max(programs + program_size * programs_count, sections + section_size * sections_count)
            yield data[start : start + size]
        start = data.find(_MAGIC, start + 1)
