"""What results of each method are judged by now: what a recorded one must name in order to count."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from warpwright import families
from warpwright.device.judged_by import code_digest, digests_of, operations_of
from warpwright.errors import VocabularyError
from warpwright.pipeline import rests_on
from warpwright.pipeline.emulating import emulator_digest
from warpwright.protocols import PROTOCOLS, current
from warpwright.record import Standard

__all__ = ["standards_of"]


def standards_of(plan: Mapping[str, Any]) -> Mapping[str, Standard]:
    """Return the standards for a plan, by method; no code satisfies those of a plan that names what is not there.

    `plan` is in its stored form; of it, `family` and `kernel` are read.
    """
    try:
        family, operations = plan["family"], operations_of(plan["kernel"])
        if family not in families.NAMES:
            raise KeyError(family)
        emulator, checks = emulator_digest(family, operations), _checks(family, operations)
    except (AttributeError, KeyError, TypeError, ValueError, OSError, VocabularyError):
        emulator = checks = "nothing that is there"
    codes = {"emulated": emulator, "compared": emulator, "gpu-validated": checks}
    return {method: Standard(current(method), codes.get(method, "")) for method in PROTOCOLS}


@functools.cache
def _checks(family: str, operations: tuple[str, ...]) -> str:
    """`checking_digest`, with the files that judge looked up in the cache."""
    return code_digest(_digests_on_device(family), operations)


@functools.cache
def _digests_on_device(family: str) -> Mapping[str, str]:
    return digests_of(rests_on.files_on_device(family))
