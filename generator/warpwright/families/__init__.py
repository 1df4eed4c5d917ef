"""The registry of kernel families, which finds one by its name; `names.py` is all that is edited when one is added.

What a family is stands in `planning.py` and `running.py`; docs/add_a_family.md walks through one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from warpwright.families.names import NAMES

if TYPE_CHECKING:  # a GPU host has the workloads and not what families need to plan
    from warpwright.families.planning import Family, Target
    from warpwright.families.running import Workload

__all__ = ["NAMES", "family", "target", "workload"]


def family(name: str) -> Family:
    """Return a family by name. Raises ValueError, naming the families, for an unknown one."""
    found: Family = importlib.import_module(f"{__name__}.{_known(name)}.family").FAMILY
    return found


def workload(name: str) -> Workload:
    """Return what running a family's kernels takes. Raises ValueError for an unknown one."""
    found: Workload = importlib.import_module(f"{__name__}.{_known(name)}.workload").WORKLOAD
    return found


def target(name: str, arch: str) -> Target:
    """Return a family's target. Raises ValueError, naming what there is, where there is none."""
    targets = family(name).targets
    if arch not in targets:
        raise ValueError(f"{name} is not planned for {arch}: there are {', '.join(targets)}")
    return targets[arch]


def _known(name: str) -> str:
    if name not in NAMES:
        raise ValueError(f"unknown kernel family {name}: there are {', '.join(NAMES)}")
    return name
