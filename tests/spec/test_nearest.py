"""What a message offers, put in the place in the file that it speaks of, is not wrong there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.conftest import edited
from tests.spec.replacing import offers
from tests.spec.test_elsewhere import WORDS
from tests.spec.test_mistakes import CASES
from warpwright.spec import SpecError, SpecErrors, load

OFFERED = [
    {2: "name: 1e3"}, {2: "name: 1_0"}, {2: "name: Ledger"}, {2: "name: ledger"}, {2: "name: no"}, {2: "name: [a]"},
    {2: "name: 2026-11-30"}, {2: 'name: "a b c"'}, {2: "name: ''"}, {2: f"name: {'a' * 65}"},
    {3: "purpose: 010"}, {3: "purpose: 1e3"}, {3: "purpose: 12"}, {3: "purpose: true"}, {3: "purpose: 1:20"},
    {3: "purpose: .5"}, {3: "purpose: [a]"}, {3: "purpose: ' x'"}, {3: 'purpose: "a: b\\n# c"'}, {3: "purpose: null"},
    {18: "where: [no]", 19: ""}, {18: "where: [010]", 19: ""}, {18: "where: [1e3]", 19: ""}, {18: "where: 1e3", 19: ""},
    {18: "where: no", 19: ""}, {18: "where: tile.m < 3, 4", 19: ""}, {18: "where: yes", 19: ""},
    {18: "where: {a: 3}", 19: ""}, {18: 'where: "a.dtype == \'fp16\'"', 19: ""},
    {10: "  epilogue: [no]"}, {10: "  epilogue: gelu"}, {10: "  epilogue: {op: relu}"}, {10: "  epilogue: 1e3"},
    {10: "  epilogue: [[relu]]"}, {10: "  epilogue: [{op: gelu_tan}]"}, {10: "  epilogue: alpha, relu"},
    {12: "  tile: {m: 010, n: 1_00, k: +64.0}"}, {12: "  tile: {m: -1, n: 0x40, k: 64.5}"}, {12: "  tile: 128"},
    {12: "  tile: [128, 128, 64]"}, {13: "  cluster: 2:1"}, {14: "  stages: [auto]"}, {14: "  stages: 1e30"},
    {14: "  stages: Auto"}, {14: "  registers: No"}, {14: "  registers: {producer: '24', consumer: 24e1}"},
    {16: "  design.tile.n: 010"}, {16: "  design.tile.n: no"}, {16: "  design.tile.n: 64-256"},
    {16: "  design.tile.n: {from: 64, to: 250, step: 64}"}, {16: "  design.tile: {m: 64, n: 64, k: 64}"},
    {17: "  design.schedule: pingpong"}, {17: "  design.schedule: ping"}, {17: "  kernel.epilogue: relu"},
    {17: "  kernel.epilogue: [relu]"}, {17: "  kernel.c: null"}, {17: "  kernel.epilogue: [[gelu_ref]]"},
    {20: "validate: {problems: standard, repeats: 03}"}, {20: "validate: {problems: Standard}"},
    {20: "validate: {problems: {m: 1, n: 1, k: 1}}"}, {21: "bench: {problems: [{m: 1e12, n: -1, k: 040}]}"},
    {21: "bench: {problems: {m: no, n: 1, k: 1}}"}, {1: "version: 01"}, {1: "version: [1]"}, {5: "  family: GEMM"},
    {6: "  arch: [sm_90a]"}, {6: "  arch: 90"}, {7: "  a: {dtype: 16, major: k}"}, {7: "  a: {dtype: FP16, major: K}"},
]  # fmt: skip


def mistakes_of(path: Path, text: str) -> tuple[SpecError, ...]:
    path.write_text(text)
    try:
        load(path)
    except SpecErrors as errors:
        return errors.errors
    return ()


@pytest.mark.parametrize("changes", [*(case[1] for case in CASES), *(word[0] for word in WORDS), *OFFERED])
def test_what_is_offered_is_legal_there(tmp_path, changes):
    text = edited(changes)
    for error in mistakes_of(tmp_path / "x.yaml", text):
        if error.nearest:
            tried = [mistakes_of(tmp_path / "x.yaml", changed) for changed in offers(text, error)]
            place = (error.line, error.key, error.rule)
            assert any(place not in [(e.line, e.key, e.rule) for e in after] for after in tried), (error, tried)
            if error.nearest_is == "legal value":
                here = (error.line, error.column)
                assert all(here != (e.line, e.column) for after in tried for e in after), (error, tried)


def test_enough_is_offered(tmp_path):
    """The property holds where nothing is offered, too: of these mistakes, most have a way out."""
    found = [error for changes in OFFERED for error in mistakes_of(tmp_path / "x.yaml", edited(changes))]
    assert len(found) > 60
    assert sum(bool(error.nearest) for error in found) > 35
