"""What each method's figures must be, in a variant's folder and in the ledger alike, and a GPU's description.

First the form (`forms.py`), then rules between the keys: counts that add up, errors within their bounds where the
status says so. What a status needs is part of it: a hang lacks figures that a pass must have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from warpwright.frozen import Frozen
from warpwright.protocols import LARGEST_RATIO, PROTOCOLS
from warpwright.record.forms import (
    DYNAMIC,
    SIZES,
    Benchmarked,
    Built,
    Compared,
    Emulated,
    Gpu,
    Summary,
    Timing,
    Validated,
)
from warpwright.record.gpus import impossible
from warpwright.record.wrong import ABSENT, SchemaError

__all__ = ["check_figures", "check_form", "check_gpu", "check_protocol", "check_timing"]


def check_form(model: type[Frozen], value: Any, path: str) -> Any:
    """Return `value` as a `model`. Raises SchemaError for the first key that is not as it must be."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(filter(None, [path, *map(str, first["loc"])])) or "the result"
        if first["type"] == "missing":
            raise SchemaError(where, ABSENT, "every result of its kind has it") from None
        if first["type"] == "extra_forbidden":
            raise SchemaError(where, first["input"], "no result of its kind has such a key") from None
        rule = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        raise SchemaError(where, first["input"], f"it must be {rule}") from None
    except RecursionError:
        raise SchemaError(path, value, "it must not be nested so deeply") from None


def check_gpu(gpu: Any, arch: str = "") -> None:
    """Raise SchemaError unless `gpu` describes a GPU as device/telemetry does, one that runs `arch` where it is given.

    Kernels for sm_90a and the like run on exactly that compute capability; of models that are known, each has its own.
    """
    found = check_form(Gpu, gpu, "gpu")
    for name in ("gpu", "driver", "torch", "cuda"):
        if not getattr(found, name).strip():
            raise SchemaError(f"gpu.{name}", getattr(found, name), "it must say something")
    exact = re.fullmatch(r"sm_([0-9]+)([0-9])a", arch)
    if exact and found.compute_capability != f"{exact[1]}.{exact[2]}":
        rule = f"a kernel for {arch} runs on {exact[1]}.{exact[2]} alone"
        raise SchemaError("gpu.compute_capability", found.compute_capability, rule)
    odd = impossible(gpu)
    if odd:
        name, rule = odd
        raise SchemaError(f"gpu.{name}", gpu[name], rule)


def check_protocol(method: str, protocol: Any) -> None:
    """Raise SchemaError unless `protocol` is a version of the method that is known here; builds have none."""
    known = PROTOCOLS.get(method, (None,))
    if protocol not in known or isinstance(protocol, (bool, float)):
        versions = " or ".join(str(version) for version in known)
        raise SchemaError("protocol", protocol, f"of {method} results, {versions} can be read here")


def check_figures(method: str, status: Any, figures: Any) -> None:
    """Raise SchemaError unless `figures` are what `method` records beside `status`.

    Of a build these are what the ledger repeats of it (`Built`). A status that the method never gives is none.
    """
    model, statuses, rules = _METHODS[method]
    if status not in statuses:
        raise SchemaError("status", status, f"of {method} results it is one of {', '.join(statuses)}")
    rules(status, check_form(model, figures, "figures"))


def _built(status: str, found: Built) -> None:
    fails, failure = status == "compile_failed", plainly(found.failure)
    _want("figures.failure", failure, (failure is not None) == fails, f"a build without a kernel has one: {status}")
    if fails:
        return
    # Without a launch, which is a finding and makes it incorrect, nobody has asked for dynamic memory.
    for name in (*SIZES, *(() if status == "incorrect" else (DYNAMIC,))):
        if getattr(found, name) is None:
            raise SchemaError(f"figures.{name}", ABSENT, f"a build that is {status} has it")
    wrong = any(finding.wrong for finding in found.findings)
    due = "incorrect" if wrong else "degraded" if found.findings else "correct"
    _want("figures.findings", plainly(found.findings), due == status, f"they make a build {due}, not {status}")


def _emulated(status: str, found: Emulated) -> None:
    _distinct("figures.problems", found.problems)
    _want("figures.problems", found.problems, len(found.problems) >= 1, "at least one is run")
    _want("figures.runs", found.runs, found.runs >= len(found.problems), "every problem is run at least once")
    taken = found.coverage.taken
    _want("figures.coverage.taken", taken, taken <= found.coverage.total, f"at most {found.coverage.total}, the total")
    if status in ("correct", "degraded"):
        _right(found.ratio, found.elements)
        differs = bool(found.findings) == (status == "degraded")
        _want("figures.findings", found.findings, differs, f"{status}: differences from the plan are what degrades")
    _want("figures.defects", found.defects, bool(found.defects) == (status in _RUN[1:]), f"not with status {status}")


def _compared(status: str, found: Compared) -> None:
    for name in ("difference", "relative", "ulps", "ratio", "device", "emulator"):
        told, cases = getattr(found, name), [getattr(case, name) for case in found.cases.values()]
        largest = max(cases, key=float, default=0.0)
        _want(f"figures.{name}", told, told == largest or "nan" in cases, f"the largest of the cases' is {largest}")
    if status == "correct":
        _want("figures.cases", {}, bool(found.cases), "at least one is run")
        _right(found.ratio, found.elements)


def _validated(status: str, found: Validated) -> None:
    _distinct("figures.incorrect", found.incorrect)
    _distinct("figures.skipped", found.skipped)
    total, wrong = found.correct + len(found.incorrect) + len(found.skipped), bool(found.incorrect)
    _want("figures.problems", found.problems, found.problems == total, f"correct, incorrect and skipped are {total}")
    names = found.names if found.names is not None else []
    _distinct("figures.names", [*names, *found.incorrect, *found.skipped])
    named = len(names) == found.correct or found.names is None
    _want("figures.names", names, named, f"the problems that were right are {found.correct}")
    both = (found.names is None) == (found.asked is None)
    _distinct("figures.asked", found.asked if isinstance(found.asked, list) else [])
    _want("figures.asked", found.asked, both and found.asked != [], "it is there, and not empty, where names are")
    _want("figures.launches", found.launches, found.launches >= found.correct, "each problem is launched at least once")
    if status == "correct":
        _want("figures.correct", found.correct, found.correct >= 1, "at least one problem is run")
        _right(found.ratio, found.elements)
    if status in ("correct", "incorrect"):
        _want("figures.incorrect", found.incorrect, wrong == (status == "incorrect"), f"not with status {status}")


def _benchmarked(status: str, found: Benchmarked) -> None:
    _distinct("figures.problems", [sorted(timing.problem.items()) for timing in found.problems])
    if status == "correct":
        _want("figures.problems", [], bool(found.problems), "at least one is timed")
    for number, timing in enumerate(found.problems):
        check_timing(timing, f"figures.problems.{number}")


def check_timing(timing: Timing, path: str) -> None:
    """Raise SchemaError unless the figures of one problem agree with each other."""
    _want(f"{path}.problem", {}, bool(timing.problem), "it has extents")
    both = (timing.sustained_us is None) == (timing.sustained_speed is None)
    _want(f"{path}.sustained_speed", timing.sustained_speed, both, "it is there if, and only if, sustained_us is")
    told = {"cold_us": timing.cold_us, "sustained_us": timing.sustained_us}
    peers = {f"further_peers.{number}": peer for number, peer in enumerate(timing.further_peers or ())}
    for name, peer in {**({"peer": timing.peer} if timing.peer else {}), **peers}.items():
        told |= {f"{name}.cold_us": peer.cold_us, f"{name}.sustained_us": peer.sustained_us}
        _ratio(f"{path}.{name}.ratio", peer.ratio, peer.cold_us, timing.cold_us)
        _ratio(f"{path}.{name}.sustained_ratio", peer.sustained_ratio, peer.sustained_us, timing.sustained_us)
    _distinct(f"{path}.further_peers", [peer.name for peer in (timing.peer, *peers.values()) if peer])
    for name, summary in told.items():
        if summary:
            rising = summary.p5 <= summary.median <= summary.p95 <= summary.p99
            _want(f"{path}.{name}", summary, rising, "p5, median, p95 and p99 rise")


def _ratio(where: str, ratio: float | None, peer: Summary | None, own: Summary | None) -> None:
    """What the ratio of two medians must be; none where there are not two."""
    if peer is None or own is None:
        _want(where, ratio, ratio is None, "there are not two medians to compare")
        return
    theirs, mine = peer.median, own.median
    rounding = 1e-4 + theirs / mine * 1e-3 * (1 / theirs + 1 / mine)  # medians to three digits, the ratio to four
    near = ratio is not None and abs(theirs / mine - ratio) <= rounding
    _want(where, ratio, near, f"that of the medians is {theirs / mine:.4f}")


def _right(ratio: float | str, elements: int) -> None:
    within = not isinstance(ratio, str) and ratio <= LARGEST_RATIO
    _want("figures.ratio", ratio, within, "of what is correct no error exceeds its bound, 1")
    _want("figures.elements", elements, elements >= 1, "something is compared")


def _distinct(path: str, values: Sequence[Any]) -> None:
    twice = [value for number, value in enumerate(values) if value in values[:number]]
    _want(path, twice[:1], not twice, "each is told once")


def _want(path: str, value: Any, holds: bool, rule: str) -> None:
    if not holds:
        raise SchemaError(path, plainly(value), rule)


def plainly(value: Any) -> Any:
    """Models as a reader knows them: JSON."""
    if isinstance(value, (list, tuple)):
        return [plainly(each) for each in value]
    return value.model_dump() if isinstance(value, Frozen) else value


_RUN = ("correct", "incorrect", "launch_failed", "crash", "hang")
#: By method: the form of its figures, the statuses that it gives, and the rules between them.
_METHODS: Mapping[str, tuple[type[Frozen], tuple[str, ...], Callable[[str, Any], None]]] = {
    "built": (Built, ("correct", "degraded", "incorrect", "compile_failed"), _built),
    "emulated": (Emulated, ("correct", "degraded", *_RUN[1:]), _emulated),
    "compared": (Compared, _RUN, _compared),
    "gpu-validated": (Validated, _RUN, _validated),
    "benchmarked": (Benchmarked, ("correct", *_RUN[2:]), _benchmarked),
}
