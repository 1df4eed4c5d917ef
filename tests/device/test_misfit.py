"""Which GPU runs what was built for which target: `a` on its own compute capability alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.device.plans import make_folder
from warpwright.device.backend import CudaBackend
from warpwright.device.gpu import misfit
from warpwright.device.launch import HostError
from warpwright.device.variant import load_variant


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [
        ("sm_90a", "9.0", True),
        ("sm_90a", "10.0", False),
        ("sm_100a", "10.0", True),
        ("sm_100a", "10.3", False),
        ("sm_100a", "9.0", False),
        ("sm_103a", "10.3", True),
        ("sm_103a", "10.0", False),
        ("sm_120a", "12.0", True),
        ("sm_120a", "12.1", False),
        ("sm_100f", "10.3", True),
        ("sm_103f", "10.0", False),
        ("sm_100f", "12.0", False),
        ("sm_90", "9.0", True),
        ("sm_80", "8.6", True),
        ("sm_86", "8.0", False),
        ("sm_80", "9.0", False),
        ("sm_100a", "", True),  # not known: nothing is refused for that
        ("of somebody's", "9.0", True),
    ],
)
def test_a_target_and_a_gpu(target: str, capability: str, runs: bool) -> None:
    assert (misfit(target, {"gpu": "G", "compute_capability": capability}) == "") == runs


def test_what_is_told() -> None:
    assert misfit("sm_100a", {"gpu": "NVIDIA H200", "compute_capability": "9.0"}) == (
        "built for sm_100a, which runs on compute capability 10.0 alone, and the GPU here, NVIDIA H200, is sm_90"
    )
    assert misfit("sm_100f", {"gpu": "NVIDIA H200", "compute_capability": "9.0"}) == (
        "built for sm_100f, which runs on compute capability 10.0 and later of 10.x, and the GPU here, NVIDIA H200, is"
        " sm_90"
    )


def test_a_kernel_for_another_gpu_is_not_loaded(tmp_path: Path) -> None:
    """Whoever asks for it: the driver would call it a kernel that cannot be launched."""
    backend = object.__new__(CudaBackend)
    backend.described = {"gpu": "NVIDIA B300", "compute_capability": "10.3"}
    with pytest.raises(HostError, match=r"double-0123456789ab: built for sm_90a, .* is sm_103"):
        backend.load(load_variant(make_folder(tmp_path)))
