#!/usr/bin/env python3
"""Runs the mutants of this folder on the GPU of this machine and holds what they do against the emulator's verdicts.

Each runs in a watched child process, on several problems, with repeats, against the float64 reference. A mutant that
the emulator calls harmless must be correct here: anything else contradicts it. One that it calls a race, or leaves to
chance in another way, may well be correct here: races need not show. The kernels themselves come first and must be
correct, or nothing that follows says anything.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "lib"))

from warpwright.device.supervise import DeviceUnavailableError, Supervisor  # noqa: E402
from warpwright.device.validate import Validation, validate  # noqa: E402
from warpwright.device.variant import load_variant  # noqa: E402

PROBLEMS = ("aligned_integer", "ragged", "ragged_integer_padded", "k_beyond_ring", "odd_tiles", "batch", "beta_zero")
#: More tiles than SMs, and seconds on the CPU: for what must be correct.
LARGE = ("waves",)
CONTROL, HARMLESS = "unaltered", "harmless"


def main(arguments: Sequence[str]) -> int:
    """Return 0 where nothing contradicts the emulator, 1 where something does, 2 where it cannot be told."""
    options = _parser().parse_args(arguments)
    if options.table:
        return report([json.loads(line) for line in options.table.read_text(encoding="utf-8").splitlines()])
    listed = json.loads((ROOT / "mutants.json").read_text(encoding="utf-8"))
    started, done = time.monotonic(), []
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with (
        Supervisor(options.backend, silence=options.silence, paths=[ROOT]) as supervisor,
        options.out.open("w", encoding="utf-8") as out,
    ):
        for number, mutant in enumerate(listed, 1):
            if time.monotonic() - started > options.limit:
                print(f"{options.limit:g} s are over: {len(listed) - number + 1} mutants are left out")
                break
            names = (*PROBLEMS, *LARGE) if mutant["verdict"] in (CONTROL, HARMLESS) else PROBLEMS
            how = Validation(repeats=options.repeats, names=names, seed=options.seed)
            try:
                (verdict,) = validate([load_variant(ROOT / "variants" / mutant["folder"])], supervisor, how)
            except DeviceUnavailableError as error:
                print(f"mutants.py: {error}", file=sys.stderr)
                return 2
            result = {**mutant, **{key: verdict[key] for key in ("status", "diagnosis", "figures", "gpu", "time")}}
            done.append(result)
            out.write(json.dumps(result, sort_keys=True) + "\n")
            out.flush()
            print(
                f"[{number}/{len(listed)}] {mutant['kernel']}: {mutant['mutant']}: {mutant['verdict']} / "
                f"{result['status']}, {result['figures']['seconds']} s {result['diagnosis'][:160]}",
                flush=True,
            )
    print(f"{time.monotonic() - started:.0f} s")
    return report(done)


def report(results: Sequence[Mapping[str, Any]]) -> int:
    """Print what became of each kind of verdict on the device, and every contradiction."""
    kinds: dict[str, Counter[str]] = {}
    for result in results:
        kinds.setdefault(result["verdict"], Counter())[result["status"]] += 1
    columns = sorted({result["status"] for result in results}, key=lambda s: (s != "correct", s))
    width = max((len(kind) for kind in kinds), default=0)
    print(f"\n{'emulator':{width}}  " + "  ".join(f"{column:>13}" for column in columns))
    for kind in sorted(kinds, key=lambda k: (k not in (CONTROL, HARMLESS), k)):
        print(f"{kind:{width}}  " + "  ".join(f"{kinds[kind][column] or '':>13}" for column in columns))
    controls = _wrong(results, CONTROL)
    for result in controls:
        print(f"the kernel itself is {result['status']} here: {result['kernel']}: {result['diagnosis']}")
    contradictions = _wrong(results, HARMLESS)
    for result in contradictions:
        print(f"CONTRADICTION: {result['kernel']}: {result['mutant']} is {result['status']}: {result['diagnosis']}")
    shown = sum(result["status"] != "correct" for result in results if result["verdict"] not in (CONTROL, HARMLESS))
    caught = sum(result["verdict"] not in (CONTROL, HARMLESS) for result in results)
    print(f"{len(contradictions)} contradictions; of {caught} mutants that the emulator catches, {shown} fail here")
    return 2 if controls or not results else 1 if contradictions else 0


def _wrong(results: Iterable[Mapping[str, Any]], verdict: str) -> list[Mapping[str, Any]]:
    return [result for result in results if result["verdict"] == verdict and result["status"] != "correct"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mutants.py", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "results.jsonl", help="results (default: %(default)s)")
    parser.add_argument("--table", type=Path, metavar="RESULTS", help="only print the table of these results")
    parser.add_argument("--repeats", type=int, default=6, help="launches per problem (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the operands (default: %(default)s)")
    parser.add_argument("--silence", type=float, default=8.0, help="seconds that are a hang (default: %(default)s)")
    parser.add_argument(
        "--limit", type=float, default=165.0, help="seconds after which none is begun (default: %(default)s)"
    )
    parser.add_argument("--backend", default="cubin_backend:CubinBackend", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
