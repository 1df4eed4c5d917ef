"""What only a GPU shows: the watchdog against a kernel that spins, a lost context, real memory sizes, real variants."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder, make_plan
from warpwright.device.backend import open_kernel
from warpwright.device.bench import Timing, bench
from warpwright.device.call import CallError
from warpwright.device.launch import LaunchError, find_runtime, max_active_clusters
from warpwright.device.supervise import Supervisor
from warpwright.device.validate import Validation, validate
from warpwright.device.variant import load_variant
from warpwright.dtypes import dtype

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]

DOUBLE = "tests.device.doubles:CudaDoubleBackend"
OUT = Path(__file__).resolve().parents[2] / "out"


def verdicts(folders: list[Path], options: Validation, silence: float = 60.0) -> list[dict]:
    with Supervisor(DOUBLE, silence=silence, paths=[ROOT]) as supervisor:
        return list(validate([load_variant(f) for f in folders], supervisor, options))


def test_a_right_kernel_is_correct_on_problems_of_real_size(tmp_path: Path) -> None:
    plan = make_plan(tile=(128, 128, 64), epilogue=("alpha",))
    names = ("aligned", "large", "waves", "nonfinite")
    (result,) = verdicts([make_folder(tmp_path, plan)], Validation(names=names, seed=3))
    assert (result["status"], result["figures"]["correct"]) == ("correct", 4), result["diagnosis"]


@pytest.mark.parametrize(("fault", "status"), [("spin", "hang"), ("device_assert", "crash"), ("drop", "incorrect")])
def test_a_failure_does_not_touch_the_next_variant(tmp_path: Path, fault: str, status: str) -> None:
    bad = make_folder(tmp_path, name="bad-000000000000", fault=fault)
    good = make_folder(tmp_path, name="good-111111111111")
    results = verdicts([bad, good], Validation(names=("aligned_integer", "tiny"), seed=3), silence=15.0)
    assert [result["status"] for result in results] == [status, "correct"]


@pytest.mark.parametrize("cluster", [(1, 1), (2, 1), (1, 4)])
def test_the_driver_says_how_many_clusters_fit(cluster: tuple[int, int]) -> None:
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    torch.zeros(1, device="cuda")
    clusters = max_active_clusters(make_plan(cluster=cluster), sms)
    size = cluster[0] * cluster[1]
    assert sms // size // 2 <= clusters <= sms // size  # one CTA per SM by its registers


def test_times_are_plausible(tmp_path: Path) -> None:
    timing = Timing(problems=[{"m": 1024, "n": 1024, "k": 1024, "l": 1}], rounds=10, sustained_rounds=1)
    with Supervisor(DOUBLE, paths=[ROOT]) as supervisor:
        (result,) = bench([load_variant(make_folder(tmp_path, make_plan()))], supervisor, timing)
    assert result["figures"]["peer"]["name"] == "torch.mm(out=)"
    assert 1.0 < result["figures"]["peer"]["cold_us"]["median"] < result["figures"]["cold_us"]["median"]


@pytest.fixture
def built() -> list[Path]:
    """Folders of built variants that can be loaded here."""
    folders = [path.parent for path in sorted(OUT.glob("*/*/kernel.so"))][:3]
    if not folders:
        pytest.skip("nothing is built below out/: warpwright run configs/quickstart.yaml")
    try:
        find_runtime()
    except LaunchError as error:
        pytest.skip(str(error))
    if importlib.util.find_spec("tvm_ffi") is None:
        pytest.skip("apache-tvm-ffi is not installed")
    return folders


def test_a_checked_call_refuses_and_then_computes(built: list[Path]) -> None:
    kernel = open_kernel(built[0])
    extents = {"L": 1, "M": 256, "N": 264, "K": 136}
    given = {}
    for argument in kernel.plan.arguments:
        if argument.role == "grid_limit":
            continue
        if argument.kind == "scalar":
            given[argument.name] = 1.0
            continue
        shape = [extents[mode] for mode in argument.shape]
        inner = argument.shape.index(argument.contiguous) if argument.contiguous else len(shape) - 1
        dense = (
            torch.randn(shape, device="cuda")
            .to(getattr(torch, dtype(argument.dtype).torch))
            .movedim(inner, -1)
            .contiguous()
        )
        given[argument.name] = dense.movedim(-1, inner)
    with pytest.raises(CallError, match="a: dtype float64"):
        kernel(**{**given, "a": given["a"].double()})
    kernel(**given)
    torch.cuda.synchronize()
    if not any(a.kind != "tensor" for a in kernel.plan.arguments[:-1]):
        expected = given["a"].double() @ given["b"].double()
        assert torch.linalg.norm(given["d"].double() - expected) < 0.01 * torch.linalg.norm(expected)


def test_built_variants_are_correct(built: list[Path]) -> None:
    with Supervisor() as supervisor:
        results = list(validate([load_variant(folder) for folder in built], supervisor))
    assert len(results) == len(built) > 0
    for result in results:
        assert result["status"] == "correct", (result["variant"], result["diagnosis"])
