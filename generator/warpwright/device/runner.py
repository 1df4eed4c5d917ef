"""What a bundle's run.py does: unpack, validate every variant, compare it with the emulator where the bundle has its
cases, time what is correct, and write each result as it comes."""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from warpwright import scratch
from warpwright.device import bench, compare, validate
from warpwright.device.cases import cases_of
from warpwright.device.launch import RUNTIME, RUNTIME_VARIABLE
from warpwright.device.lock import WAIT_SECONDS
from warpwright.device.problem import size_text
from warpwright.device.supervise import DeviceUnavailableError, Supervisor
from warpwright.device.variant import Variant, VariantError, load_variant
from warpwright.epilogue.registry import OPS_VARIABLE
from warpwright.families import workload

__all__ = ["DESCRIPTION", "LIBRARIES", "OPERATIONS", "RESULTS", "RUNTIME_FILE", "VARIANTS", "VERSION", "main"]

#: The bundle's layout; raised when a runner could not read an older one.
VERSION = 1
DESCRIPTION, LIBRARIES, VARIANTS, OPERATIONS = "bundle.json", "lib", "variants", "ops"
RUNTIME_FILE = f"{RUNTIME}.xz"
RESULTS = "results.jsonl"


class _UnusableError(Exception):
    """The bundle cannot be run here; the message says why."""


class _Results:
    """A JSON-lines file to which each result is appended and flushed to disk as soon as it is there."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        cut_off = path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
        self._file = path.open("a", encoding="utf-8")
        if cut_off:
            self._file.write("\n")  # a killed run's last line

    def add(self, result: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(result, sort_keys=True, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def validated(self) -> set[tuple[str, str]]:
        """(variant, library) of every variant whose every verdict in the file is `correct`."""
        verdicts: dict[tuple[str, str], set[str]] = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                result = json.loads(line)
            except ValueError:
                continue
            if not isinstance(result, dict):
                continue
            if result.get("method") == validate.METHOD and result.get("protocol") == validate.PROTOCOL:
                verdicts.setdefault((result["variant"], result["library_sha"]), set()).add(result["status"])
        return {key for key, found in verdicts.items() if found - {"not_run"} == {"correct"}}


def main(root: Path, arguments: Sequence[str]) -> int:
    """Run a bundle; returns 0 when every variant is correct, 1 when one is not, 2 when it cannot be run."""
    options = _parser(root).parse_args(arguments)
    try:
        description = _describe(root)
        variants = _variants(root, options.variants)
        _prepare(root)
        results = _Results(options.out)
        with Supervisor(options.backend, silence=options.silence, wait=options.wait) as supervisor:
            device = supervisor.start()
            print(f"{device.get('gpu')}, driver {device.get('driver')}: {len(variants)} variants", flush=True)
            for variant in variants:
                if variant.origin.edited:
                    print(f"edited by hand: {variant.name}", flush=True)
            results.add({"kind": "header", "config": description["config"], "gpu": device})
            verdicts: list[dict[str, Any]] = []
            comparisons: list[dict[str, Any]] = []
            timings: list[dict[str, Any]] = []
            if options.only in (None, "validate"):
                verdicts = _validate(variants, supervisor, description, options, results)
            if options.only in (None, "compare"):
                comparisons = _compare(variants, supervisor, options, results)
            if options.only in (None, "bench"):
                timings = _bench(variants, supervisor, description, options, results)
    except (_UnusableError, VariantError, DeviceUnavailableError, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    if options.only != "compare":
        _table(variants, verdicts, timings)
    print(f"results: {options.out}")
    bad = [result for result in (*verdicts, *comparisons, *timings) if result["status"] != "correct"]
    return 1 if bad else 0


def _parser(root: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.add_argument("--only", choices=("validate", "compare", "bench"), help="one of these (default: all)")
    parser.add_argument("--variants", default="*", metavar="GLOB", help="variants by name (default: all)")
    out = root / RESULTS
    parser.add_argument("--out", type=Path, default=out, help="results, appended (default: %(default)s)")
    parser.add_argument(
        "--problems", default="*", metavar="GLOB", help="validation problems and cases by name (default: all)"
    )
    parser.add_argument("--repeats", type=int, help="launches per validation problem")
    parser.add_argument("--rounds", type=int, default=50, help="timed launches per variant (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the operands (default: a fresh one)")
    parser.add_argument("--silence", type=float, default=30.0, help="seconds without progress that are a hang")
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT_SECONDS,
        help="seconds to wait for other runs on the GPU (default: %(default)g)",
    )
    parser.add_argument("--max-elements", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="warpwright.device.backend:CudaBackend", help=argparse.SUPPRESS)
    return parser


def _describe(root: Path) -> dict[str, Any]:
    try:
        description: dict[str, Any] = json.loads((root / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _UnusableError(f"{root / DESCRIPTION}: {error}; make the bundle again") from error
    if description["version"] != VERSION:
        raise _UnusableError(f"the bundle has layout {description['version']}, this runner reads {VERSION}")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if description["python"] != here:
        made = description["python"]
        raise _UnusableError(
            f"the bundle is for Python {made}, this is {here}: `warpwright bundle ... --python {here}`"
        )
    return description


def _variants(root: Path, glob: str) -> list[Variant]:
    folders = sorted(p for p in (root / VARIANTS).iterdir() if p.is_dir() and fnmatchcase(p.name, glob))
    if not folders:
        raise _UnusableError(f"no variant of the bundle matches {glob!r}")
    return [load_variant(folder) for folder in folders]


#: Folders that go when this process ends.
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _prepare(root: Path) -> None:
    """Unpack the DSL's runtime once, and tell the child process where it and the user's operations are."""
    runtime = root / RUNTIME
    if not runtime.is_file():
        data = lzma.decompress((root / RUNTIME_FILE).read_bytes())
        if not os.access(root, os.W_OK):
            _KEPT.append(scratch.folder("runtime"))
            runtime = Path(_KEPT[-1].name) / RUNTIME
        temporary = scratch.beside(runtime)
        temporary.write_bytes(data)
        temporary.replace(runtime)
    os.environ[RUNTIME_VARIABLE] = str(runtime)
    if (root / OPERATIONS).is_dir():
        os.environ[OPS_VARIABLE] = str(root / OPERATIONS)
    else:
        os.environ.pop(OPS_VARIABLE, None)


def _validate(
    variants: Sequence[Variant],
    supervisor: Supervisor,
    description: Mapping[str, Any],
    options: argparse.Namespace,
    results: _Results,
) -> list[dict[str, Any]]:
    asked = description["validate"]
    how = validate.Validation(
        problems=asked.get("problems", "standard"),
        repeats=options.repeats or asked.get("repeats", 3),
        seed=options.seed,
        names=(options.problems,),
        max_elements=options.max_elements,
    )
    verdicts = []
    for number, result in enumerate(validate.validate(variants, supervisor, how), 1):
        results.add(result)
        verdicts.append(result)
        figures = result["figures"]
        print(
            f"[{number}/{len(variants)}] {result['variant']}: {result['status']} on {figures['correct']} problems, "
            f"{figures['seconds']} s {result['diagnosis'][:300]}".rstrip(),
            flush=True,
        )
    return verdicts


def _compare(
    variants: Sequence[Variant], supervisor: Supervisor, options: argparse.Namespace, results: _Results
) -> list[dict[str, Any]]:
    ready = [variant for variant in variants if cases_of(variant.folder, options.problems)]
    if options.only and not ready:
        raise _UnusableError("the bundle has no such cases: `warpwright bundle ... --cases` packs them")
    comparisons = []
    for number, result in enumerate(compare.compare(ready, supervisor, options.problems), 1):
        results.add(result)
        comparisons.append(result)
        told = ", ".join(
            f"{name} {case['equal']:.2%} equal" + (f" ({case['ulps']} ulp)" if case["equal"] < 1 else "")
            for name, case in result["figures"]["cases"].items()
        )
        print(
            f"[{number}/{len(ready)}] {result['variant']}: {result['status']} beside the emulator: {told} "
            f"{result['diagnosis'][:300]}".rstrip(),
            flush=True,
        )
    return comparisons


def _bench(
    variants: Sequence[Variant],
    supervisor: Supervisor,
    description: Mapping[str, Any],
    options: argparse.Namespace,
    results: _Results,
) -> list[dict[str, Any]]:
    right = results.validated()
    ready = [v for v in variants if (v.name, v.origin.library_sha) in right]
    if len(ready) < len(variants):
        left_out = len(variants) - len(ready)
        print(f"not timed, because {options.out.name} has no `correct` verdict for them: {left_out} variants")
    problems = description["bench"].get("problems", ())
    how = bench.Timing(problems=problems, rounds=options.rounds, seed=options.seed)
    timings = []
    for result in bench.bench(ready, supervisor, how):
        results.add(result)
        timings.append(result)
    return timings


def _table(
    variants: Sequence[Variant], verdicts: Sequence[Mapping[str, Any]], timings: Sequence[Mapping[str, Any]]
) -> None:
    """One line per variant: verdict, largest error as a part of its bound, and per problem speed and ratio."""
    by_name = {result["variant"]: result for result in verdicts}
    width = max(len(v.name) for v in variants)
    print(f"\n{'variant':{width}}  status         error/bound  relative  " + "speed (x vendor)")
    for variant in variants:
        verdict = by_name.get(variant.name, {"status": "", "figures": {"ratio": "", "relative": ""}})
        error, relative = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in _pair(verdict["figures"]))
        own = [result for result in timings if result["variant"] == variant.name]
        print(
            f"{variant.name:{width}}  {verdict['status']:13}  {error:>11}  {relative:>8}  "
            + "  ".join(_timing(result, workload(variant.plan.family).modes) for result in own)
        )


def _pair(figures: Mapping[str, Any]) -> tuple[Any, Any]:
    return figures["ratio"], figures["relative"]


def _timing(result: Mapping[str, Any], modes: Sequence[str]) -> str:
    extents = size_text(result["problem"], modes)
    figures = result["figures"]
    if not figures:
        return f"{extents}: {result['status']}"
    peer = f" ({figures['peer']['ratio']:.3f})" if "peer" in figures else ""
    return f"{extents}: {figures['speed']} {figures['rate']}{peer}{' shared' if figures.get('shared') else ''}"
