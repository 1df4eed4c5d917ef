"""What a bundle's run.py does: unpack, validate every variant, compare it with the emulator where the bundle has its
cases, time what is correct, and write each result as it comes."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpwright.device import bench, compare, coverage, validate
from warpwright.device.contrast import KIND, contrast_of, lines
from warpwright.device.lock import WAIT_SECONDS
from warpwright.device.opening import RESULTS, Bundle, UnusableError, for_gpu, open_bundle, those
from warpwright.device.results_file import ResultsFile
from warpwright.device.summary import summary, timed
from warpwright.device.supervise import DeviceUnavailableError, Supervisor
from warpwright.device.variant import Variant
from warpwright.diagnosis import taken
from warpwright.diagnosis.hung import with_twin
from warpwright.errors import UserError, VocabularyError

__all__ = ["main"]


@dataclass
class _Found:
    """Results of a run as they come; `complete`: no variant was left out; `lost`: why the GPU is gone, "" while it is
    there."""

    verdicts: list[dict[str, Any]] = field(default_factory=list)
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    beside: list[dict[str, Any]] = field(default_factory=list)
    complete: bool = True
    lost: str = ""

    def right(self) -> bool:
        """Whether everything that was asked for was done and is correct."""
        results = [*self.verdicts, *self.comparisons, *self.timings, *self.beside]
        return bool(results) and self.complete and not self.lost and all(r["status"] == "correct" for r in results)


def main(root: Path, arguments: Sequence[str]) -> int:
    """Run a bundle; whatever ends it, what was found out until then is in the results file.

    Returns 0 when every variant is correct, 1 when one is not, or could not be run, timed or compared as was asked for,
    2 when nothing could be done or the results file cannot be written, 130 when interrupted.
    """
    options = _parser(root).parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    results: ResultsFile | None = None
    try:
        bundle = open_bundle(root, options.variants)
        for name, why in bundle.unusable.items():
            _say(f"{name}: cannot be run: {why}", sys.stderr)
        with ResultsFile(options.out) as results:
            found = _run(bundle, options, results)
    except KeyboardInterrupt:
        _say(f"run.py: interrupted{_kept(results)}", sys.stderr)
        return 128 + signal.SIGINT
    except (UnusableError, UserError, VocabularyError, DeviceUnavailableError, OSError) as error:
        _say(f"run.py: {error}{_kept(results)}", sys.stderr)
        return 2
    if found.lost:
        _say(f"run.py: {found.lost}{_kept(results)}", sys.stderr)
        return 1 if results.added else 2
    _say(f"results: {options.out}")
    return 0 if found.right() and not bundle.unusable else 1


def _kept(results: ResultsFile | None) -> str:
    """Say where the results of this run are, once its file is open."""
    if results is None:
        return ""
    return f"; what is finished is in {results.path}" if results.added else "; nothing was finished"


def _run(bundle: Bundle, options: argparse.Namespace, results: ResultsFile) -> _Found:
    """Do what is asked for and tell it.

    Raises UnusableError where there is nothing to do, DeviceUnavailableError where there is no GPU to begin with.
    """
    found = _Found()
    with Supervisor(options.backend, silence=options.silence, wait=options.wait) as supervisor:
        device = supervisor.start()
        bundle, others = for_gpu(bundle, device)
        for why, left in others.items():
            _say(f"{those(left)}: cannot be run: {why}", sys.stderr)
        variants, found.complete = bundle.variants, not others
        _say(f"{device.get('gpu')}, driver {device.get('driver')}: {len(variants)} variant{'s' * (len(variants) != 1)}")
        for variant in variants:
            if variant.origin.edited:
                _say(f"edited by hand: {variant.name}")
        results.begin({"kind": "header", "config": bundle.config, "gpu": device})
        try:
            if options.only in (None, "validate"):
                _validate(variants, supervisor, bundle.validate, options, results, found)
            if options.only in (None, "compare"):
                _compare(variants, supervisor, options, results, found)
            if options.only in (None, "bench"):
                _bench(variants, supervisor, bundle.bench, options, results, found)
            if options.only in (None, KIND):
                _contrast(bundle, supervisor, options, results, found)
            if options.only in (None, taken.KIND):
                _timelines(bundle, supervisor, options, results, found)
        except DeviceUnavailableError as error:
            found.lost = str(error)
            _say_undone(bundle, options, found)
    if options.only not in ("compare", KIND, taken.KIND):
        for line in (*summary(variants, found.verdicts, found.timings), *timed(variants, found.timings)):
            _say(line)
    return found


def _say_left(what: str, variants: Sequence[Variant], why: str = "") -> None:
    """Name what was asked for and not done."""
    if variants:
        _say(f"not {what}{why}: {those(variants)}", sys.stderr)


def _say_undone(bundle: Bundle, options: argparse.Namespace, found: _Found) -> None:
    """Name what the loss of the GPU has left undone."""
    cases = [variant for variant in bundle.variants if compare.has_cases(variant, options.problems)]
    for step, what, results, due in (
        ("validate", "validated", found.verdicts, bundle.variants),
        ("compare", "compared", found.comparisons, cases),
        ("bench", "timed", found.timings, bundle.variants if bundle.bench.get("problems") else ()),
    ):
        done = {result["variant"] for result in results}
        if options.only in (None, step):
            _say_left(what, [variant for variant in due if variant.name not in done])


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _say(text: str, stream: Any = None) -> None:
    """Print a line. Nobody may be listening any more: the results are what counts."""
    try:
        print(text, file=stream or sys.stdout, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _at_least(kind: Callable[[str], Any], least: float) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        value = kind(text)
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"{text}: must be {least:g} or more")
        return value

    parse.__name__ = kind.__name__  # what a message calls it
    return parse


def _parser(root: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.add_argument(
        "--only", choices=("validate", "compare", "bench", KIND, taken.KIND), help="one of these (default: all)"
    )
    parser.add_argument("--variants", default="*", metavar="GLOB", help="variants by name (default: all)")
    out = root / RESULTS
    parser.add_argument("--out", type=Path, default=out, help="results, appended (default: %(default)s)")
    parser.add_argument(
        "--problems", default="*", metavar="GLOB", help="validation problems and cases by name (default: all)"
    )
    parser.add_argument("--repeats", type=_at_least(int, 1), help="launches per validation problem")
    rounds = "timed launches per variant (default: %(default)s)"
    parser.add_argument("--rounds", type=_at_least(int, 1), default=50, help=rounds)
    parser.add_argument("--seed", type=_at_least(int, 0), help="of the operands (default: a fresh one)")
    silence = "seconds without progress that are a hang (default: %(default)g)"
    parser.add_argument("--silence", type=_at_least(float, 0.1), default=30.0, help=silence)
    parser.add_argument(
        "--wait",
        type=_at_least(float, 0),
        default=WAIT_SECONDS,
        help="seconds to wait for other runs on the GPU (default: %(default)g)",
    )
    parser.add_argument("--max-elements", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="warpwright.device.backend:CudaBackend", help=argparse.SUPPRESS)
    return parser


def _validate(
    variants: Sequence[Variant],
    supervisor: Supervisor,
    asked: Mapping[str, Any],
    options: argparse.Namespace,
    results: ResultsFile,
    found: _Found,
) -> None:
    how = validate.Validation(
        problems=asked.get("problems", "standard"),
        repeats=options.repeats or asked.get("repeats", 3),
        seed=options.seed,
        names=(options.problems,),
        max_elements=options.max_elements,
    )
    for number, verdict in enumerate(validate.validate(variants, supervisor, how), 1):
        of = next(variant for variant in variants if variant.name == verdict["variant"])
        result = with_twin(verdict, of.folder, of.plan, how.problems, supervisor)
        results.add(result)
        found.verdicts.append(result)
        figures = result["figures"]
        _say(
            f"[{number}/{len(variants)}] {result['variant']}: {result['status']} on {figures['correct']} problems, "
            f"{figures['seconds']} s {result['diagnosis'][:900]}".rstrip()
        )


def _compare(
    variants: Sequence[Variant],
    supervisor: Supervisor,
    options: argparse.Namespace,
    results: ResultsFile,
    found: _Found,
) -> None:
    ready = [variant for variant in variants if compare.has_cases(variant, options.problems)]
    if options.only and not ready:
        raise UnusableError("the bundle has no such cases: `warpwright bundle ... --cases` packs them")
    if ready and len(ready) < len(variants):
        _say_left("compared", [v for v in variants if v not in ready], ", since the bundle has no such cases")
        found.complete = False
    for number, result in enumerate(compare.compare(ready, supervisor, options.problems), 1):
        results.add(result)
        found.comparisons.append(result)
        told = ", ".join(
            f"{name} {case['equal']:.2%} equal" + (f" ({case['ulps']} ulp)" if case["equal"] < 1 else "")
            for name, case in result["figures"]["cases"].items()
        )
        _say(
            f"[{number}/{len(ready)}] {result['variant']}: {result['status']} beside the emulator: {told} "
            f"{result['diagnosis'][:300]}".rstrip()
        )


def _bench(
    variants: Sequence[Variant],
    supervisor: Supervisor,
    asked: Mapping[str, Any],
    options: argparse.Namespace,
    results: ResultsFile,
    found: _Found,
) -> None:
    right = results.validated()
    ready = [v for v in variants if (v.name, v.origin.library_sha) in right]
    problems = asked.get("problems", ())
    if options.only and not problems:
        raise UnusableError("the bundle names no problems to time: `bench:` of the configuration does")
    if options.only and not ready:
        raise UnusableError(f"nothing to time: {options.out.name} calls no variant correct; run without --only first")
    for told in coverage.left_out([(v.name, v.plan) for v in ready], problems):
        _say(told)
    without = [v for v in ready if problems and not coverage.within(v.plan, problems)]
    _say_left("timed", without, ", since every problem is beyond its limits")
    if len(ready) < len(variants):
        _say_left(
            "timed", [v for v in variants if v not in ready], f", since {options.out.name} does not call it correct"
        )
    found.complete = found.complete and len(ready) == len(variants) and not without
    how = bench.Timing(problems=problems, rounds=options.rounds, seed=options.seed)
    for result in bench.bench(ready, supervisor, how):
        results.add(result)
        found.timings.append(result)


def _contrast(bundle: Bundle, supervisor: Supervisor, options: Any, results: ResultsFile, found: _Found) -> None:
    told = bundle.contrast
    result = contrast_of(told, bundle.variants, supervisor, options.rounds, options.seed) if told else None
    if result is None:
        if options.only:
            packs = "`warpwright ladder --contrast --to DIR` packs both"
            why = "one of the two kernels was not asked for: leave out --variants" if told else packs
            raise UnusableError(f"there is no contrast to measure: {why}")
        return
    results.add(result)
    found.beside.append(result)
    _say("\n".join(lines(result)))


def _timelines(bundle: Bundle, supervisor: Supervisor, options: Any, results: ResultsFile, found: _Found) -> None:
    problems = bundle.bench.get("problems", ())
    ready = taken.ready(bundle.variants, problems)
    if options.only and not ready:
        raise UnusableError("no twins for timelines are in it: `warpwright bundle ... --twins` packs them for steps")
    for number, result in enumerate(taken.timelines(ready, problems, supervisor), 1):
        results.add(result)
        found.beside.append(result)
        cost = f", the twin takes {result['cost']:.2f} x as long" if result["cost"] else ""
        told = f"{result['status']}{cost} {result['diagnosis'][:300]}".rstrip()
        _say(f"[{number}/{len(ready)}] {result['variant']}: timeline {told}")
