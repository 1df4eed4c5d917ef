"""The two arrows that need a GPU here and now: validate and bench, in a watched child process.

What has a valid result in its folder is left alone. Nothing here touches the device itself: the child does, and
only it imports torch, so that a kernel that hangs or crashes costs its own verdict and nothing else.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpwright.pipeline.exploration import Exploration, Variant

if TYPE_CHECKING:
    from warpwright.device.supervise import Supervisor

__all__ = ["at_hand", "bench", "supervisor", "to_bench", "to_validate", "validate"]

_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))


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
    right = [v for v in exploration.legal if v.status == "correct" and v.passed("gpu-validated")]
    return [variant for variant in right if again or not variant.has_own("benchmarked")]


def validate(exploration: Exploration, variants: Sequence[Variant], on_step: Callable[[], None]) -> list[str]:
    """Validate variants on the configuration's problems and record each verdict as it comes.

    Returns what could not be recorded, in words. Raises DeviceUnavailableError.
    """
    from warpwright.device import validate as device_validate
    from warpwright.device.variant import load_variant

    options = device_validate.Validation(**exploration.spec.validate)
    with supervisor() as watched:
        loaded = [load_variant(variant.folder.path) for variant in variants]
        return _record(device_validate.validate(loaded, watched, options), exploration, on_step)


def bench(exploration: Exploration, variants: Sequence[Variant], on_step: Callable[[], None]) -> list[str]:
    """Time variants beside the vendor library on the configuration's problems; like `validate`.

    `on_step` is called per variant and problem.
    """
    from warpwright.device import bench as device_bench
    from warpwright.device.variant import load_variant

    options = device_bench.Timing(problems=exploration.spec.bench["problems"])
    with supervisor() as watched:
        loaded = [load_variant(variant.folder.path) for variant in variants]
        return _record(device_bench.bench(loaded, watched, options), exploration, on_step)


def _record(results: Iterator[Mapping[str, Any]], exploration: Exploration, on_step: Callable[[], None]) -> list[str]:
    from warpwright.bundle import record_result

    refused = []
    for result in results:
        why = record_result(result, exploration.out)
        if why:
            refused.append(f"{result['variant']}: {result['method']}: {why}")
        on_step()
    return refused
