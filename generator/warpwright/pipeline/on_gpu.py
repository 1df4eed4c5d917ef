"""The two arrows that need a GPU here and now: validate and bench, in a watched child process.

What has a valid result in its folder is left alone. Nothing here touches the device itself: the child does, and
only it imports torch, so that a kernel that hangs or crashes costs its own verdict and nothing else.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright.errors import DeviceUnavailableError
from warpwright.pipeline.exploration import Exploration, Variant

if TYPE_CHECKING:
    from warpwright.device.supervise import Supervisor
    from warpwright.device.variant import Variant as Loaded

__all__ = ["Gpu", "at_hand", "bench", "note_missing", "supervisor", "to_bench", "to_validate", "validate"]

OnStep = Callable[[], None]
_METHODS = {"validate": "gpu-validated", "bench": "benchmarked"}
_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))


@dataclass
class Gpu:
    """What is known of the GPU after one step, for the next: whether one was `seen`, why it is `lost`, "" while it is
    not, and why it can run none of the variants, "" where it can."""

    seen: bool = False
    lost: str = ""
    misfit: str = ""


def at_hand() -> bool:
    """Say, without importing anything, whether this machine seems to have an NVIDIA GPU, and torch to use it."""
    return any(path.exists() for path in _DEVICE_FILES) and importlib.util.find_spec("torch") is not None


def supervisor() -> Supervisor:
    """Return the watch over a child process on the current CUDA device."""
    from warpwright.device.supervise import Supervisor

    return Supervisor()


def to_validate(exploration: Exploration, again: bool = False) -> list[Variant]:
    """Return the variants that are built and, unless `again`, have no valid result of their own yet."""
    return [v for v in exploration.legal if v.passed("built") and (again or not v.has_own("gpu-validated"))]


def to_bench(exploration: Exploration, again: bool = False) -> list[Variant]:
    """Return the variants that are proved right on a GPU and, unless `again`, have not been timed here.

    Only what is correct is timed: a time of a wrong kernel means nothing.
    """
    from warpwright.device.coverage import within

    asked = exploration.spec.bench["problems"]
    right = [v for v in exploration.legal if v.status == "correct" and v.passed("gpu-validated")]
    right = [variant for variant in right if within(variant.plan, asked)]
    return [variant for variant in right if again or not variant.has_own("benchmarked")]


def validate(exploration: Exploration, variants: Sequence[Variant], on_step: OnStep, gpu: Gpu) -> None:
    """Validate variants on the configuration's problems and record each verdict as it comes.

    Notes at each variant what could not be done or recorded: that is no verdict. Raises DeviceUnavailableError where
    there was no GPU to begin with.
    """
    from warpwright.device import validate as device_validate

    options = device_validate.Validation(**exploration.spec.validate)
    _each("validate", exploration, variants, on_step, gpu, lambda *on: device_validate.validate(on[0], on[1], options))


def bench(exploration: Exploration, variants: Sequence[Variant], on_step: OnStep, gpu: Gpu) -> None:
    """Time variants beside the vendor library on the configuration's problems; like `validate`.

    `on_step` is called per variant and problem.
    """
    from warpwright.device import bench as device_bench
    from warpwright.device.coverage import beyond

    options = device_bench.Timing(problems=exploration.spec.bench["problems"])
    for _ in (problem for v in variants for problem in options.problems if beyond(v.plan, problem)):
        on_step()
    _each("bench", exploration, variants, on_step, gpu, lambda *on: device_bench.bench(on[0], on[1], options))


def left_out(exploration: Exploration, step: str, variants: Sequence[Variant]) -> list[str]:
    """Say which of the problems that the configuration lists for a step are beyond the limits of which variants."""
    from warpwright.device import coverage

    asked = (exploration.spec.validate if step == "validate" else exploration.spec.bench)["problems"]
    plans = [(variant.name, variant.plan) for variant in variants]
    return [] if isinstance(asked, str) else coverage.left_out(plans, asked)


def note_missing(exploration: Exploration, step: str) -> None:
    """Note at each variant that nothing speaks against what it lacks of `step`, however that came about: it was asked
    for, and what nobody has run must not pass."""
    from warpwright.device.coverage import left_out

    method, asked = _METHODS[step], exploration.spec.bench["problems"]
    for variant in (v for v in exploration.legal if v.status == "correct" and step not in v.undone):
        partial = [why for evidence, why in variant.judgement.stale if evidence.method == method]
        left = left_out([(variant.plan.label, variant.plan)], asked) if step == "bench" else []
        if left and len(left) == len(asked):
            variant.undone[step] = f"there is no problem for it: {left[0]}; add one to `bench` of {exploration.typed}"
        elif step == "bench" and not variant.passed("gpu-validated"):
            variant.undone[step] = f"no GPU has found it correct; `warpwright validate {exploration.typed}` first"
        elif not variant.has_own(method):
            variant.undone[step] = (partial or [f"no result of it is recorded in {variant.folder.path}"])[0]


def _each(
    step: str,
    exploration: Exploration,
    variants: Sequence[Variant],
    on_step: OnStep,
    gpu: Gpu,
    work: Callable[[list[Loaded], Supervisor], Iterator[Mapping[str, Any]]],
) -> None:
    """Do the work for each variant that can be loaded and was built for this GPU, as long as it is there.

    Raises DeviceUnavailableError where the GPU runs none of the configuration's variants: they are as they were.
    """
    from warpwright.device.variant import VariantError, load_variant

    loaded: list[Loaded] = []
    heard: set[str] = set()
    for variant in variants:
        try:
            loaded.append(load_variant(variant.folder.path))
        except VariantError as error:
            variant.undone[step] = str(error)
    if not gpu.lost:
        with supervisor() as watched:
            try:
                loaded = _fitting(step, exploration, loaded, watched.start(), gpu) if loaded else []
                for result in work(loaded, watched):
                    heard.add(result["variant"])
                    if step == "validate" and result["status"] == "hang":
                        result = _explained(result, exploration, watched)
                    _record(step, result, exploration)
                    on_step()
            except (DeviceUnavailableError, OSError) as error:
                if isinstance(error, DeviceUnavailableError) and not (gpu.seen or watched.device):
                    raise
                gpu.lost = f"the GPU is lost: {error}; once it is back, the same command takes it up from there"
            gpu.seen = gpu.seen or bool(watched.device)
    if gpu.misfit:
        raise DeviceUnavailableError(gpu.misfit)
    for variant in variants:
        if variant.name not in heard and gpu.lost:
            variant.undone.setdefault(step, gpu.lost)


def _fitting(
    step: str, exploration: Exploration, loaded: Sequence[Loaded], device: Mapping[str, Any], gpu: Gpu
) -> list[Loaded]:
    """Those of the variants that the GPU can run. Of others it is noted why not, of all at once where it runs none."""
    from warpwright.device.gpu import misfit

    why = {variant.name: misfit(variant.plan.arch, device) for variant in exploration.legal}
    if all(why.values()):
        gpu.misfit = f"{exploration.typed} is {next(iter(why.values()))}"
        return []
    for variant in exploration.legal:
        if why[variant.name] and any(each.name == variant.name for each in loaded):
            variant.undone[step] = why[variant.name]
    return [variant for variant in loaded if not why[variant.name]]


def _explained(result: Mapping[str, Any], exploration: Exploration, watched: Supervisor) -> Mapping[str, Any]:
    """A hang, with where the warps of the kernel's twin stand."""
    from warpwright.device.validate import Validation
    from warpwright.diagnosis.explained import explained

    (variant,) = (variant for variant in exploration.legal if variant.name == result["variant"])
    edited = (variant.folder.source() or "") if variant.folder.edited() else ""
    asked = Validation(**exploration.spec.validate).problems
    return explained(result, variant.plan, edited, asked, watched)


def _record(step: str, result: Mapping[str, Any], exploration: Exploration) -> None:
    from warpwright.bundle import record_result

    try:
        why = record_result(result, exploration.out)
    except OSError as error:
        why = f"its result cannot be recorded: {error}"
    if why:
        (variant,) = (variant for variant in exploration.legal if variant.name == result["variant"])
        variant.undone[step] = f"{why}; the same command tries again" if result["status"] == "not_run" else why
