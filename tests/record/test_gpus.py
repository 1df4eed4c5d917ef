"""Descriptions of GPUs that cannot be: of one alone, and of several that are said to be one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.record.figures import GPU
from warpwright.record.gpus import clashes
from warpwright.record.schema import check_gpu
from warpwright.record.wrong import SchemaError

B200: dict[str, Any] = {
    **GPU,
    "gpu": "NVIDIA B200",
    "compute_capability": "10.0",
    "sms": 148,
    "memory_bytes": 191514279936,
    "uuid": "GPU-1c0ffee1",
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpu": "NVIDIA H200"}, "gpu.gpu is 'NVIDIA H200': a H200 has compute capability 9.0, and this says 10.0"),
        ({"gpu": "NVIDIA GB300"}, "a GB300 has compute capability 10.3"),
        ({"driver": "535.183.01"}, "gpu.driver is '535.183.01': the first branch that knows compute capability 10.0"),
        ({"cuda": "12.1", "torch": "2.3.0+cu121"}, "gpu.cuda is '12.1': the first that knows compute capability 10.0"),
        ({"cuda": "12.8"}, "gpu.cuda is '12.8': torch 2.11.0+cu130 is built with 13.0"),
        ({"uuid": "yes"}, "gpu.uuid is 'yes'"),
        ({"uuid": "GPU-1C0FFEE1"}, "gpu.uuid"),
    ],
)
def test_no_gpu_of_that_capability_is_so(changes: dict[str, Any], said: str) -> None:
    check_gpu(B200, "sm_100a")
    with pytest.raises(SchemaError) as caught:
        check_gpu({**B200, **changes}, "sm_100a")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"gpu": "NVIDIA RTX 9999", "driver": "nightly"},
        {"gpu": "NVIDIA GB200 NVL", "torch": "2.9.0a0+nv25.10"},
        {"cuda": "14.1", "torch": "3.0.0+cu141", "driver": "700.1"},
        {"uuid": "MIG-1c0ffee1"},
        {"uuid": ""},
    ],
)
def test_what_is_not_known_is_not_judged(changes: dict[str, Any]) -> None:
    check_gpu({**B200, **changes}, "sm_100a")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"uuid": "GPU-1c0ffee1"}, "the GPU with the uuid GPU-1c0ffee1"),
        ({"sms": 148, "memory_bytes": 191514279936}, "the GPU with 148 SMs and 191514279936 B"),
    ],
)
def test_one_gpu_has_one_capability(changes: dict[str, Any], what: str) -> None:
    other = {**GPU, "uuid": "GPU-00000001"}
    assert clashes([("a:1", B200), ("a:2", B200), ("b:1", other)]) == []
    (clash,) = clashes([("a:1", B200), ("a:2", B200), ("b:1", {**other, **changes})])
    assert clash.what == what
    assert "of compute capability 9.0 here, and " in clash.of("b:1")
    assert clash.of("b:1").endswith("of compute capability 10.0 in a:1")
    assert clash.of("a:2").endswith("of compute capability 9.0 in b:1")
    assert clash.of("c:1") == ""
    assert "in a:1, and " in str(clash)


def test_one_gpu_has_one_name_and_a_mig_instance_may_have_another() -> None:
    assert len(clashes([("a:1", B200), ("a:2", {**B200, "gpu": "NVIDIA GB200"})])) == 1
    parts = [{**B200, "uuid": "MIG-1c0ffee1", "gpu": name} for name in ("NVIDIA B200 MIG 1g.23gb", "2g.45gb")]
    assert clashes([("a:1", parts[0]), ("a:2", parts[1])]) == []
    assert len(clashes([("a:1", parts[0]), ("a:2", {**GPU, "uuid": "MIG-1c0ffee1"})])) == 1


def test_what_is_no_description_is_passed_over() -> None:
    assert clashes([("a:1", None), ("a:2", "x"), ("a:3", {}), ("a:4", {"uuid": 5})]) == []
