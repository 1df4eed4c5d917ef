"""Figures of each method and status as the writers give them, for tests that change one thing of them."""

from __future__ import annotations

from typing import Any

from warpwright.protocols import PROTOCOLS
from warpwright.record.reading import ON_DEVICE

__all__ = ["FIGURES", "GPU", "stored", "timing"]

GPU: dict[str, Any] = {
    "gpu": "NVIDIA H200",
    "compute_capability": "9.0",
    "sms": 132,
    "memory_bytes": 150109880320,
    "driver": "580.159.04",
    "torch": "2.11.0+cu130",
    "cuda": "13.0",
    "tvm_ffi": "0.1.15",
    "python": "3.12.3",
}

_BUILT = {
    "registers": 168,
    "spill_bytes": 0,
    "stack_bytes": 0,
    "static_shared_bytes": 0,
    "dynamic_shared_bytes": 214016,
}
_SPILLS = {"rule": "spills", "expected": "0 B", "found": "8 B", "wrong": False}
_UNCAPTURED = {"rule": "launch.captured", "expected": "the host code launches", "found": "error", "wrong": True}

_EMULATED: dict[str, Any] = {
    "problems": ["batch", "ragged"],
    "runs": 9,
    "seeds": 3,
    "warp_instructions": 130371,
    "coverage": {
        "taken": 88,
        "total": 90,
        "missed": [{"line": 94, "instruction": "@%p72 bra $L", "what": "this branch is never taken", "behind": 0}],
    },
    "elements": 267675,
    "ratio": 1.0,
    "relative": 0.0017,
    "defects": [],
    "findings": [],
}
_DEFECT = {
    "kind": "deadlock",
    "message": "every warp waits",
    "case": "batch",
    "seed": 0,
    "lines": [],
    "details": {"warps": [{"warp": 0, "waits": None}]},
    "source_lines": [],
}

_DISTANCES = {
    "equal": 0.9998,
    "difference": 0.25,
    "relative": 6.828e-05,
    "ulps": 29.5,
    "ratio": 0.09,
    "device": 0.9752,
    "emulator": 0.9752,
}
_NONE = dict.fromkeys(("equal", "difference", "relative", "ulps", "ratio", "device", "emulator"), 0.0)

_VALIDATED = {
    "problems": 27,
    "correct": 27,
    "incorrect": [],
    "skipped": [],
    "launches": 80,
    "elements": 58728510,
    "ratio": 1.0,
    "relative": 0.00194,
    "repeats": 3,
    "seed": 3772408819,
    "seconds": 4.84,
}


def timing(m: int = 4096) -> dict[str, Any]:
    """The figures of one timed problem."""
    return {
        "problem": {"m": m, "n": 4096, "k": 4096, "l": 1},
        "cold_us": {"median": 189.792, "p5": 188.256, "p95": 191.309, "p99": 192.034},
        "speed": 724.2,
        "rate": "TFLOP/s",
        "rounds": 50,
        "clocks": [{"clocks_sm": 1545.0, "power_draw": 466.43}, {}],
        "sustained_us": {"median": 230.297, "p5": 220.157, "p95": 242.123, "p99": 243.174},
        "sustained_speed": 596.8,
        "peer": {
            "name": "torch.mm(out=)",
            "cold_us": {"median": 180.448, "p5": 179.368, "p95": 181.805, "p99": 182.74},
            "speed": 761.7,
            "ratio": 0.9508,
            "noise": 0.0014,
            "tie": False,
            "sustained_us": {"median": 209.348, "p5": 189.774, "p95": 213.199, "p99": 213.541},
            "sustained_ratio": 0.909,
        },
    }


def stored(method: str, status: str = "correct", **changes: Any) -> dict[str, Any]:
    """A result as a variant's folder holds it, but for what of a build is no evidence; `changes` are of its keys."""
    figures = FIGURES.get((method, status), FIGURES[method, "correct"])
    result = {
        "status": status,
        "source_sha": "a" * 64,
        "cubin_sha": "c" * 64,
        "arch": "sm_90a",
        "toolchain": {"cutlass_dsl": "4.8.1", "dsl_libs": "cu12 4.8.1"},
        "diagnosis": "" if status == "correct" else "it was seen to fail",
    }
    if method == "built":
        return {**result, **figures, "status": None if status == "correct" else status, **changes}
    result |= {"figures": figures, "protocol": max(PROTOCOLS[method])}
    return {**result, **({"gpu": GPU} if method in ON_DEVICE else {}), **changes}


#: By method and status.
FIGURES: dict[tuple[str, str], dict[str, Any]] = {
    ("built", "correct"): _BUILT,
    ("built", "degraded"): {**_BUILT, "spill_bytes": 8, "findings": [_SPILLS]},
    ("built", "incorrect"): {**_BUILT, "dynamic_shared_bytes": None, "findings": [_SPILLS, _UNCAPTURED]},
    ("built", "compile_failed"): {"failure": {"reason": "error", "detail": "ptxas refused"}},
    ("emulated", "correct"): _EMULATED,
    ("emulated", "degraded"): {**_EMULATED, "findings": [{"rule": "boxes", "expected": "8", "found": "4"}]},
    ("emulated", "hang"): {**_EMULATED, "elements": 0, "ratio": 0.0, "relative": 0.0, "defects": [_DEFECT]},
    ("emulated", "incorrect"): {**_EMULATED, "ratio": "inf", "relative": 0.5, "defects": [_DEFECT]},
    ("compared", "correct"): {
        **_DISTANCES,
        "cases": {"ragged": _DISTANCES, "tiles": {**_NONE, "equal": 1.0}},
        "elements": 66438,
        "seconds": 0.46,
    },
    ("compared", "crash"): {**_NONE, "cases": {}, "elements": 0, "seconds": 0.1},
    ("gpu-validated", "correct"): {**_VALIDATED, "runs": 2},
    ("gpu-validated", "incorrect"): {**_VALIDATED, "correct": 26, "incorrect": ["ragged"], "ratio": "inf"},
    ("gpu-validated", "hang"): {
        **_VALIDATED, "problems": 0, "correct": 0, "launches": 0, "elements": 0, "ratio": 0.0, "relative": 0.0
    },
    ("benchmarked", "correct"): {"problems": [timing(4096), timing(8192)]},
    ("benchmarked", "hang"): {"problems": []},
}  # fmt: skip
