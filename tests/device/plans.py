"""Small plans, written by hand, and variant folders for the CPU double."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from warpwright.canonical import digest, plain
from warpwright.device.problem import Problem
from warpwright.epilogue.registry import get
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.families.products.problems import multiplication
from warpwright.plan.types import Argument, KernelPlan, Plan
from warpwright.record import write_json

VECTOR_MODE = {"vector_m": "M", "vector_n": "N"}


def problem(name: str, m: int, n: int, k: int, l: int = 1, **how: Any) -> Problem:  # noqa: E741
    """A multiplication."""
    return multiplication(name, m, n, k, l, **how)


def make_plan(
    a: tuple[str, str] = ("f16", "k"),
    b: tuple[str, str] = ("f16", "k"),
    d: tuple[str, str] = ("f16", "n"),
    epilogue: tuple[Any, ...] = (),
    tile: tuple[int, int, int] = (16, 8, 8),
    cluster: tuple[int, int] = (1, 1),
    stages: int = 3,
    in_place: str = "",
) -> Plan:
    """A plan with just what the device package reads; operands as (dtype, major), epilogue as in YAML.

    in_place: the input that D may be.
    """
    steps = [{"op": s, "dtype": "f32"} if isinstance(s, str) else s for s in epilogue]
    operands = [(o, s["dtype"]) for s in steps for o in get(s["op"]).operands]
    tensor = lambda name, shape, dtype, major, role="input": Argument(  # noqa: E731
        name, "tensor", dtype, shape, major.upper(), role
    )
    arguments = (
        tensor("a", ("L", "M", "K"), *a),
        tensor("b", ("L", "K", "N"), *b),
        *(tensor(o.name, ("L", "M", "N"), *d) for o, _ in operands if o.kind == "tile"),
        replace(tensor("d", ("L", "M", "N"), *d, "output"), in_place=in_place),
        *(
            Argument(o.name, "vector", dtype, (VECTOR_MODE[o.kind],), VECTOR_MODE[o.kind], alignment=4)
            for o, dtype in operands
            if o.kind in VECTOR_MODE
        ),
        *(Argument(o.name, "scalar", "f32") for o, _ in operands if o.kind == "scalar"),
        Argument("max_clusters", "scalar", "i32", role="grid_limit"),
    )
    design = GemmDesign(
        tile_m=tile[0],
        tile_n=tile[1],
        tile_k=tile[2],
        cluster_m=cluster[0],
        cluster_n=cluster[1],
        stages=stages,
        producer_warps=1,
        consumers=2,
        schedule="cooperative",
        producer_registers=None,
        consumer_registers=None,
        persistent=True,
        raster="m",
        group=8,
        store="tma",
        subtile_n=8,
        subtile_stages=2,
        c_stages=0,
    )
    main = KernelPlan("kernel", threads=384, cluster=(*cluster, 1), shared_bytes=100_000, entry_registers=168)
    return Plan(
        family="gemm",
        arch="sm_90a",
        label="double",
        kernel={"epilogue": steps},
        design=design,
        symbol="double",
        kernels=(main,),
        arguments=arguments,
    )


def make_folder(root: Path, plan: Plan | None = None, name: str = "double-0123456789ab", **double: Any) -> Path:
    """Write a variant's folder as the build leaves it; `double` tells the CPU double how to misbehave."""
    folder = root / name
    folder.mkdir(parents=True)
    stored = plain(plan or make_plan())
    write_json(folder / "plan.json", stored)
    library = json.dumps(double).encode()
    (folder / "kernel.so").write_bytes(library)
    build = {
        "status": None,
        "arch": "sm_90a",
        "source_sha": hashlib.sha256(name.encode()).hexdigest(),
        "cubin_sha": hashlib.sha256(library).hexdigest(),
        "toolchain": {"nvidia-cutlass-dsl": "4.8.1"},
        "plan_sha": digest(stored),
        "files": {"kernel.so": hashlib.sha256(library).hexdigest()},
        **dict.fromkeys(("spill_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes"), 0),
        "registers": 168,
    }
    write_json(folder / "build.json", build)
    return folder
