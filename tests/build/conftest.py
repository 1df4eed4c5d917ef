"""One small Hopper kernel with its hand-written plan, compiled once for all tests of the build."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.build import Artifact, BuildJob, build
from warpwright.build.cache import Cache
from warpwright.plan.types import Argument, Barrier, Buffer, Constant, Copy, KernelPlan, Mma, Plan, Role

SOURCE = Path(__file__).with_name("small_gemm.py").read_text()


def make_plan(symbol: str = "small_gemm") -> Plan:
    """The plan of small_gemm.py, written down by hand from its source."""
    kernel = KernelPlan(
        name="kernel",
        threads=256,
        cluster=(2, 1, 1),
        shared_bytes=40_992,
        entry_registers=256,
        buffers=(
            Buffer("a", 0, 16_384, 1024, "f16", (64, 64, 2), "128B", ""),
            Buffer("b", 16_384, 16_384, 1024, "f16", (64, 64, 2), "128B", ""),
            Buffer("d", 32_768, 8_192, 1024, "f16", (64, 64), "128B", ""),
            Buffer("full", 40_960, 16, 8, "i64", (2,), "none", ""),
            Buffer("empty", 40_976, 16, 8, "i64", (2,), "none", ""),
        ),
        barriers=(
            Barrier("full", "mbarrier", 2, 1, 16_384, "consumer", "producer", buffer="full"),
            Barrier("empty", "mbarrier", 2, 2, 0, "producer", "consumers of both CTAs", buffer="empty"),
            Barrier("staged", "named", 1, 128, 0, "consumer", "consumer", ids=(1,)),
            Barrier("cluster", "cluster", 1, 512, 0, "all", "all"),
        ),
        roles=(Role("consumer", 0, 4, 232, "mma"), Role("producer", 4, 4, 40, "loads")),
        copies=(
            Copy("a", "load", "f16", (64, 64), "128B", 1, 1, "a"),
            Copy("b", "load", "f16", (64, 64), "128B", 2, 1, "b"),
            Copy("d", "store", "f16", (64, 64), "128B", 1, 1, "d"),
        ),
        mmas=(
            Mma(
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
                "HGMMA.64x64x16",
                64,
                64,
                16,
                per_stage=4,
                pairs=(("wgmma.fence", "WARPGROUP.ARRIVE"), ("wgmma.wait_group", "WARPGROUP.DEPBAR")),
            ),
        ),
    )
    return Plan(
        family="gemm",
        arch="sm_90a",
        label="small",
        kernel={},
        design={},
        entry="gemm",
        symbol=symbol,
        kernels=(kernel,),
        constants=(Constant("TILE_K", 64, "depth of one stage"), Constant("STAGE_BYTES", 16_384, "A and B")),
        arguments=(
            Argument("a", "tensor", "f16", ("M", "K"), "K"),
            Argument("b", "tensor", "f16", ("N", "K"), "K"),
            Argument("d", "tensor", "f16", ("M", "N"), "N", role="output"),
            Argument("max_clusters", "scalar", "i32", role="grid_limit"),
        ),
    )


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keeps tests away from the user's cache."""
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(tmp_path / "default-cache"))


@pytest.fixture(scope="session")
def source() -> str:
    return SOURCE


@pytest.fixture(scope="session")
def plan() -> Plan:
    return make_plan()


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def built(plan: Plan, shared_cache: Cache, tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, Path]:
    """The small kernel's artifact and folder; do not change the folder."""
    folder = tmp_path_factory.mktemp("built")
    (artifact,) = build([BuildJob(SOURCE, plan, folder)], workers=1, cache=shared_cache)
    return artifact, folder
