"""Forged, merged and broken evidence: whatever is done to a ledger, `ci` passes on what it said before, or not."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.records import rewrite
from warpwright import pipeline
from warpwright.device.supervise import Supervisor
from warpwright.pipeline import evidence_check, on_gpu, raw_runs
from warpwright.pipeline.committed import line_of
from warpwright.record import LedgerError, LedgerLine, read_ledger, write_ledger

ROOT = Path(__file__).resolve().parents[2]
CASES = 4000
CONFIG = """\
version: 1
name: attacked
purpose: Two small variants with all evidence that a double in the place of the GPU can give.
evidence: [gpu-validated, benchmarked]
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design: {tile: {m: 64, n: 32, k: 64}, consumer_warps: 4}
sweep: {design.stages: [2, 3]}
validate: {problems: [{m: 130, n: 70, k: 40}], repeats: 2}
bench: {problems: [{m: 16, n: 24, k: 8}]}
"""


@dataclass(frozen=True)
class Evidence:
    """An exploration that has passed, its ledger, and the runs behind it."""

    exploration: pipeline.Exploration
    ledger: Path

    @property
    def raw(self) -> Path:
        return raw_runs.raw_path(self.ledger)

    def passes(self) -> bool:
        """Whether the two files bear the exploration out; LedgerError where they cannot be read."""
        ledgers, runs = {"attacked": read_ledger(self.ledger)}, {"attacked": raw_runs.read_runs(self.raw)}
        return evidence_check.check(self.exploration, ledgers, (), runs).passed


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    top = tmp_path_factory.mktemp("attacked")
    (top / "attacked.yaml").write_text(CONFIG)
    exploration = pipeline.plan(str(top / "attacked.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build", "emulate"))
    for variant in exploration.legal:
        rewrite(variant.folder.path, "kernel.so", "{}")  # the double's library
    with pytest.MonkeyPatch.context() as patch:
        double = Supervisor("tests.device.doubles:HostBackend", paths=[ROOT])
        patch.setattr(on_gpu, "supervisor", lambda: double)
        pipeline.advance(exploration, ("reread", "validate", "bench"))
    for variant in exploration.legal:
        variant.build = variant.folder.result("built") or {}
    lines = [line_of(variant, each) for variant in exploration.legal for each in variant.judgement.valid]
    found = Evidence(exploration, top / "out" / "ledger" / "attacked.jsonl")
    write_ledger(found.ledger, lines)
    runs = {key: run for variant in exploration.legal for key, run in raw_runs.own_runs(variant).items()}
    raw_runs.write_runs(found.raw, runs)
    assert len(lines) == 8
    assert found.passes()
    return found


HOSTILE: list[Any] = [
    *(None, "", False, True, 0, -1, 1, 1.5, 1e308, 2**63, 10**30, "correct", "incorrect", "0" * 64, "0" * 16, "x", "é"),
    *([], {}, [None], {"a": 1}, float("nan"), float("inf"), [[[[[]]]]], "toolchain", "gpu-validated", 99, 10**9),
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything inside a JSON value."""
    keys: Any = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from paths(value[key], (*path, key))


def alter(rng: random.Random, value: Any, donors: list[Any]) -> None:
    """Change, take away or add one thing somewhere in a value."""
    *way, last = rng.choice(list(paths(value)))
    inner = value
    for key in way:
        inner = inner[key]
    what = rng.choice(("hostile", "hostile", "near", "delete", "add", "donor"))
    old = inner[last]
    if what == "delete":
        del inner[last]
    elif what == "add" and isinstance(inner, dict):
        inner[rng.choice(("note", "status", "figures", "runs", ""))] = rng.choice(HOSTILE)
    elif what == "donor":
        other = rng.choice(donors)
        try:
            for key in way:
                other = other[key]
            inner[last] = other[last]
        except (KeyError, IndexError, TypeError):
            inner[last] = rng.choice(HOSTILE)
    elif what == "near" and isinstance(old, (int, float)) and not isinstance(old, bool):
        inner[last] = rng.choice((old + 1, old - 1, old * 2, old / 2, old * 10, -old))
    elif what == "near" and isinstance(old, str) and old:
        at = rng.randrange(len(old))
        inner[last] = old[:at] + rng.choice("0af9 x") + old[at + 1 :]
    else:
        inner[last] = rng.choice(HOSTILE)


def forge_values(rng: random.Random, text: str) -> str:
    values = [json.loads(line) for line in text.splitlines()]
    donors = copy.deepcopy(values)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        alter(rng, rng.choice(values), donors)
    return "".join(json.dumps(value) + "\n" for value in values)


def forge_lines(rng: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.choice(("drop", "twice", "twice altered", "blank", "conflict", "several"))
    if what == "drop":
        del lines[at]
    elif what == "twice":
        lines.insert(other, lines[at])
    elif what == "twice altered":
        value = json.loads(lines[at])
        alter(rng, value, [json.loads(line) for line in lines])
        lines.insert(other, json.dumps(value) + "\n")
    elif what == "conflict":
        lines.insert(at, rng.choice(("<<<<<<< HEAD\n", "=======\n", ">>>>>>> theirs\n")))
    elif what == "several":
        lines = rng.sample(lines, rng.randrange(len(lines)))
    return "".join(lines)


def forge_bytes(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    what = rng.choice(("cut", "flip", "insert", "delete"))
    if what == "cut":
        return text[:at]
    if what == "delete":
        return text[:at] + text[at + rng.randrange(1, 40) :]
    put = rng.choice('0123456789abcdef"{}[],:- \u2028\x00')
    return text[:at] + put + text[at + (what == "flip") :]


FORGERIES: tuple[Callable[[random.Random, str], str], ...] = (forge_values, forge_values, forge_lines, forge_bytes)


def meaning(lines: list[LedgerLine]) -> list[Any]:
    """What a ledger claims, but for what may differ between machines: sums of float32, registers that ptxas chose, and
    what decides nothing."""
    claims = []
    for line in sorted(lines, key=lambda each: each.key):
        value = line.value()
        value["toolchain"] = {name: value["toolchain"][name] for name in ("cutlass_dsl", "dsl_libs")}
        if line.evidence.method in ("built", "emulated"):
            del value["cubin_sha"]
        if line.evidence.method == "emulated":
            value["figures"] = {key: each for key, each in value["figures"].items() if key not in ("ratio", "relative")}
        claims.append(value)
    return claims


def test_no_forged_ledger_passes(evidence: Evidence, seed: int) -> None:
    genuine = evidence.ledger.read_text()
    told, passed, counted = meaning(read_ledger(evidence.ledger)), [], Counter[str]()
    for number in range(CASES):
        rng = random.Random(f"{seed} ledger {number}")
        forged = rng.choice(FORGERIES)(rng, genuine)
        evidence.ledger.write_text(forged)
        try:
            if not evidence.passes():
                counted["red"] += 1
            elif meaning(read_ledger(evidence.ledger)) == told:
                counted["the same"] += 1
            else:
                passed.append(number)
        except LedgerError as error:
            counted["refused" if str(evidence.ledger) in str(error) and len(str(error)) < 1000 else str(error)] += 1
        finally:
            evidence.ledger.write_text(genuine)
    assert passed == [], f"ATTACK_SEED={seed}: {passed}"
    assert set(counted) == {"red", "refused", "the same"}
    assert counted["red"] > CASES / 20
    assert counted["refused"] > CASES / 2


def test_no_forged_run_bears_out_another_line(evidence: Evidence, seed: int) -> None:
    """The ledger is as it was: runs that are altered come to it all the same, or it falls with them."""
    genuine = evidence.raw.read_text()
    counted = Counter[str]()
    for number in range(CASES // 2):
        rng = random.Random(f"{seed} runs {number}")
        evidence.raw.write_text(rng.choice(FORGERIES)(rng, genuine))
        try:
            counted["green" if evidence.passes() else "red"] += 1
        except LedgerError as error:
            counted["refused" if str(evidence.raw) in str(error) else str(error)] += 1
        finally:
            evidence.raw.write_text(genuine)
    assert set(counted) == {"green", "red", "refused"}, f"ATTACK_SEED={seed}: {counted}"
    assert counted["red"] + counted["refused"] > CASES / 4


def test_a_run_counts_once(evidence: Evidence) -> None:
    """Told twice in one file it is refused; the files of two configurations that share a variant may both have it, or
    one of them fewer."""
    genuine = evidence.raw.read_text()
    other = evidence.ledger.with_name("other.jsonl")
    write_ledger(other, read_ledger(evidence.ledger))
    raw_runs.write_runs(raw_runs.raw_path(other), raw_runs.read_runs(evidence.raw))
    paths = {"attacked": evidence.ledger, "other": other}
    ledgers, runs = {name: read_ledger(path) for name, path in paths.items()}, raw_runs.runs_behind(paths)
    assert runs["other"] == runs["attacked"] == raw_runs.read_runs(evidence.raw)
    assert evidence_check.check(evidence.exploration, ledgers, (), runs).passed
    assert not evidence_check.check(evidence.exploration, ledgers, (), {**runs, "other": {}}).passed
    evidence.raw.write_text(genuine * 2)
    with pytest.raises(LedgerError, match="told once"):
        evidence.passes()
    evidence.raw.write_text(genuine)


@pytest.mark.parametrize("method", ["gpu-validated", "benchmarked"])
def test_a_faster_or_righter_line_wants_runs_that_say_so(evidence: Evidence, seed: int, method: str) -> None:
    """Single figures of a GPU's lines, made better one by one, with the runs as they are."""
    genuine = evidence.ledger.read_text()
    lines = read_ledger(evidence.ledger)
    at = next(number for number, line in enumerate(lines) if line.evidence.method == method)
    figures: Any = lines[at].evidence.figures
    tried, passed = 0, []
    for way in list(paths(figures)):
        changed = copy.deepcopy(figures)
        inner = changed
        for key in way[:-1]:
            inner = inner[key]
        if not isinstance(inner[way[-1]], (int, float)) or isinstance(inner[way[-1]], bool):
            continue
        inner[way[-1]] = inner[way[-1]] * 2 + 1
        altered = replace(lines[at], evidence=replace(lines[at].evidence, figures=changed))
        write_ledger(evidence.ledger, [*lines[:at], altered, *lines[at + 1 :]])
        tried += 1
        try:
            if evidence.passes():
                passed.append(way)
        except LedgerError:
            continue
        finally:
            evidence.ledger.write_text(genuine)
    assert tried > 5
    assert passed == []
