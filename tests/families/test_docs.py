"""Pages of docs have the ledger's times; to renew: WARPWRIGHT_GOLDEN=update pytest tests/families/test_docs.py"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
UPDATE = os.environ.get("WARPWRIGHT_GOLDEN") == "update"  # read before any test changes the environment

NORM = "layer.wb.gelu_tanh-bf16-"
#: Per configuration what its table tells: the rest of a variant's label, and what that means.
NORM_ACT = {
    "norm_act_1024_sm90": (
        ("1024-none-1x1-x20-once2", "20 CTAs of a warp, two rows at once"),
        ("1024-none-1x2-x16-once3", "16 CTAs of two warps, three rows at once"),
        ("1024-none-4x1-x5-ws", "persistent, 5 CTAs of four rows, scales in shared memory"),
        ("1024-none-4x1-x5-once", "5 CTAs of four rows for each SM, one after another"),
        ("1024-tma-20x1-q4-s40-ws-r", "four threads load, registers reallocated, scales in shared memory"),
        ("1024-tma-12x1-s36", "one thread loads"),
        ("1024-preprocess-8x1.8-q8-s16", "8 producer warps to 8"),
        ("1024-preprocess-12x1.4-q4-s12", "4 to 12"),
        ("1024-preprocess-14x1.2-q2-s28", "2 to 14"),
    ),
    "norm_act_sm90": (
        ("4096-none-1x4-x5-once2", "5 CTAs of four warps, two rows at once"),
        ("4096-none-1x4-x5-once3", "three rows at once"),
        ("4096-none-1x4-x4", "persistent"),
        ("4096-none-1x4-x5-once", "a CTA for each row"),
        ("4096-tma-6x4-s12-ws-r", "registers reallocated, scales in shared memory"),
        ("4096-tma-4x4-s8-ws-r", "the same, fewer warps"),
        ("4096-tma-1x4-s4-x3", "three CTAs share an SM"),
        ("4096-tma-3x4-s6", "one CTA"),
        ("4096-preprocess-2x4.8-q2-s4", "8 producer warps to 8"),
        ("4096-preprocess-2x4.8-q2-s4-bar", "the same, a ring of named barriers"),
        ("4096-preprocess-3x4.4-s3", "4 to 12"),
    ),
    "norm_act_8192_sm90": (
        ("8192-none-1x4-c2-x5-once3", "two CTAs share a row, 5 on an SM, three rows at once"),
        ("8192-none-1x4-x3-once3", "3 CTAs of four warps, three rows at once"),
        ("8192-none-1x8-x2", "persistent"),
        ("8192-none-1x8-x2-once", "a CTA for each row"),
        ("8192-tma-4x4-s8-ws-r", "registers reallocated, scales in shared memory"),
        ("8192-preprocess-1x8.8-s2", "8 producer warps to 8"),
    ),
    "norm_act_16384_sm90": (
        ("16384-none-1x4-c4-x5-once5", "four CTAs share a row, 5 on an SM, five rows at once"),
        ("16384-none-1x4-c4-x5-once4", "four rows at once"),
        ("16384-none-1x16-ws", "persistent, scales in shared memory"),
        ("16384-none-1x16-once", "a CTA for each row"),
        ("16384-tma-1x16-s2-r", "registers reallocated"),
        ("16384-tma-2x8-s2-ws-r", "two groups, scales in shared memory"),
    ),
    "norm_act_65536_sm90": (
        ("65536-none-1x4-c8-x3-once3", "eight CTAs share a row, 3 on an SM, three rows at once"),
        ("65536.shared-none-1x32", "the row in shared memory"),
        ("65536.streamed-none-1x32", "the row loaded three times"),
        ("65536.shared-tma-1x16-s12-r", "the row in shared memory, registers reallocated"),
        ("65536.streamed-tma-1x16-s12", "the row loaded three times"),
    ),
}
SGEMM = (
    ("mn-256x128x64-s2-w4x2-t16x8-m4", ""),
    ("mn-256x128x32-s4-w4x2-t16x8-m4", ""),
    ("mn-256x128x32-s4-w4x2-t16x8-plain-m4", "`lane_order: plain`"),
    ("mn-256x128x32-s4-w4x2-t16x8-interleaved-m4", "`lane_order: interleaved`"),
    ("mn-128x256x32-s4-w2x4-t8x16-n8", "8x16 of D for each thread"),
    ("mn-256x128x16-s6-w4x2-t16x8-m4", ""),
    ("mn-256x128x16-s3-w4x2-t16x8-all-m4", "`specialise: none`"),
    ("mn-256x128x16-s4-w4x4-t8x8-m4", "16 warps"),
    ("mn-128x128x16-s4-w2x2-t16x8-x2-m4", "two CTAs share an SM"),
    ("mn-128x64x32-s4-w2x2-t8x8-m4", "4 warps"),
    ("kn-128x256x32-s4-w2x4-t8x16-m4", "A K-major"),
    ("kn-256x128x32-s4-w4x2-t16x8-m4", "A K-major"),
    ("mk-256x128x32-s4-w4x2-t16x8-p2-m4", "B K-major, 2 producer warps"),
    ("kk-256x128x32-s4-w4x2-t16x8-m4", "both K-major"),
    ("mn-256x128x32-s4-w4x2-t16x8-m4-nobias-identity", "no bias, identity"),
)
CUBES = ((4096, 4096, 4096), (2048, 2048, 2048), (4000, 5000, 3000), (1024, 1024, 1024))


def times(config: str) -> dict[str, list[dict[str, Any]]]:
    """What the ledger has of a configuration's variants, by label: a value for each problem."""
    lines = map(json.loads, (ROOT / "out" / "ledger" / f"{config}.jsonl").read_text().splitlines())
    return {line["label"]: line["figures"]["problems"] for line in lines if line.get("method") == "benchmarked"}


def _cells(found: Mapping[str, Any], ratios: Iterator[str]) -> str:
    cold = found["cold_us"]
    return " | ".join([*(f"{cold[q]:.1f}" for q in ("median", "p95", "p99")), f"{found['speed']:.2f}", *ratios])


def norm_act() -> list[str]:
    rows = []
    for config, told in NORM_ACT.items():
        measured = {label: problems for label, (*problems,) in times(config).items()}
        for number, (rest, meaning) in enumerate(told):
            (found,) = measured[NORM + rest]
            peers = {peer["name"]: peer for peer in (found["peer"], *found["further_peers"])}
            shape = f"{found['problem']['m']} x {found['problem']['n']}" if number == 0 else ""
            ratios = (f"{peers[name]['ratio']:.2f}" for name in ("plain copy", "torch.compile max-autotune"))
            rows.append(f"| {shape} | `{rest}` | {meaning} | {_cells(found, ratios)} |")
        rows += [f"| | | {name} | {_cells(peer, iter(('', '')))} |" for name, peer in sorted(peers.items())]
    return rows


def sgemm() -> list[str]:
    rows, measured = [], times("sgemm_sm90")
    for label, meaning in SGEMM:
        of = {tuple(each["problem"][axis] for axis in "mnk"): each for each in measured[label]}
        cells = [f"{of[cube]['speed']:.1f} ({of[cube]['peer']['ratio']:.2f})" for cube in CUBES]
        rows.append(f"| `{label}` | {meaning} | " + " | ".join(cells) + " |")
    return rows


@pytest.mark.parametrize(("page", "first", "due"), [("norm_act.md", "rows", norm_act), ("sgemm.md", "variant", sgemm)])
def test_the_table_is_what_the_ledger_says(page: str, first: str, due: Callable[[], list[str]]) -> None:
    path = ROOT / "docs" / page
    text = path.read_text()
    table = re.search(rf"(\| {first} \| .*\n\|(?:---\|)+\n)((?:\| .*\n)*)", text)
    assert table
    if UPDATE:
        path.write_text(text[: table.end(1)] + "\n".join(due()) + "\n" + text[table.end() :])
    else:
        assert table[2].splitlines() == due()
