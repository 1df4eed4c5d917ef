"""Which function of torch each format is timed beside, and that a library that has none is no mistake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.families.gemm.formats import format_plan
from warpwright.families import workload

GEMM = workload("gemm")


class Tensor:
    """Shape, dtype and nothing else."""

    device = "cuda:0"

    def __init__(self, dtype: str, *shape: int) -> None:
        self.dtype, self.shape = dtype, shape

    def __getitem__(self, at: int) -> Tensor:
        return Tensor(self.dtype, *self.shape[1:])

    def reshape(self, extent: int) -> Tensor:
        return Tensor(self.dtype, int(np.prod(self.shape)))


def torch(*has: str) -> tuple[Any, list[Any]]:
    """A torch of a few functions, and what they were called with."""
    called: list[Any] = []

    def function(name: str) -> Any:
        return lambda *given, **named: called.append((name, given, named))

    matmul = SimpleNamespace(allow_tf32=False)
    found = SimpleNamespace(
        **{name: function(name) for name in has},
        cuda=SimpleNamespace(synchronize=lambda: None),
        backends=SimpleNamespace(cuda=SimpleNamespace(matmul=matmul)),
        ones=lambda shape, **how: ("ones", shape, how),
        float32="float32",
    )
    return found, called


def given(a: str, d: str, batches: int = 1) -> dict[str, Tensor]:
    named = {x.name: x for x in format_plan(a, d=d).arguments if x.kind == "tensor"}
    shapes = {"a": (256, 64), "b": (64, 128), "d": (256, 128), "sfa": (2, 1, 512), "sfb": (1, 1, 512)}
    return {name: Tensor(named[name].dtype, batches, *shapes[name]) for name in named}


@pytest.mark.parametrize(
    ("a", "d", "name", "function"),
    [
        ("f16", "f16", "torch.mm(out=)", "mm"),
        ("bf16", "f32", "torch.mm(out_dtype=)", "mm"),
        ("tf32", "tf32", "torch.mm(out=) in tf32", "mm"),
        ("e4m3", "bf16", "torch._scaled_mm", "_scaled_mm"),
        ("i8", "i32", "torch._int_mm", "_int_mm"),
        ("mxf8_e4m3", "bf16", "torch._scaled_mm, scales of blocks", "_scaled_mm"),
        ("nvf4", "bf16", "torch._scaled_mm, scales of blocks", "_scaled_mm"),
    ],
)
def test_each_format_is_timed_beside_the_vendors_own(a: str, d: str, name: str, function: str) -> None:
    library, called = torch("mm", "bmm", "_scaled_mm", "_int_mm")
    plan = format_plan(a, d="f32" if d == "tf32" else d)
    tensors = given(a, "f32" if d == "tf32" else d)
    if d == "tf32":
        tensors["d"].dtype = "tf32"
    (peer,) = GEMM.peers(library, plan, tensors)
    assert (peer.name, called[0][0]) == (name, function)
    assert library.backends.cuda.matmul.allow_tf32 == (a == "tf32")
    if "blocks" in name:
        assert called[0][2]["scale_a"].shape == (1024,)
        assert called[0][2]["scale_b"].shape == (512,)
    elif function == "_scaled_mm":
        assert called[0][2]["scale_a"][:2] == ("ones", ())


@pytest.mark.parametrize("a", ["e4m3", "i8", "nvf4"])
def test_where_the_library_has_none_there_is_no_peer(a: str) -> None:
    library, called = torch("mm", "bmm")
    assert list(GEMM.peers(library, format_plan(a), given(a, "f32"))) == []
    library, called = torch("_scaled_mm", "_int_mm")
    assert list(GEMM.peers(library, format_plan(a), given(a, "f32", 3))) == [], "no batches"
    assert called == []


def test_plans_of_different_formats_have_different_peers() -> None:
    words = ("f16", "tf32", "e4m3", "e5m2", "i8", "mxf8_e4m3", "mxf8_e5m2", "mxf4", "nvf4")
    keys = [GEMM.peer_key(format_plan(word)) for word in words]
    assert len(set(keys)) == len(keys)
    assert GEMM.peer_key(format_plan("nvf4")) == "a:nvf4/k b:nvf4/k d:f32/n"
