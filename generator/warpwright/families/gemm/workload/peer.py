"""The vendor's GEMM: cuBLAS's product of the same operands, as torch calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpwright.families.running import Peer
from warpwright.plan.types import Plan

__all__ = ["signature", "vendor_product"]


def signature(plan: Plan) -> str:
    """What the vendor library is asked for: dtypes and majors of A, B and D, as text; block-scaled formats by name."""
    named = {argument.name: argument for argument in plan.arguments}
    words = {name: (plan.kernel.get(name) or {}).get("dtype", named[name].dtype) for name in "abd"}
    return " ".join(f"{n}:{words[n]}/{named[n].contiguous.lower()}" for n in "abd")


def vendor_product(torch: Any, plan: Plan, tensors: Mapping[str, Any]) -> Peer | None:
    """Return the product alone, without an epilogue; None where torch has none.

    a (L, M, K), b (L, K, N), d (L, M, N), of any strides; two numbers in a byte as torch has them.
    """
    a, b, d = (tensors[name] for name in "abd")
    word = next((argument.dtype for argument in plan.arguments if argument.name == "a"), "")
    batched = a.shape[0] != 1
    if word in ("e4m3", "e5m2", "e2m1", "i8"):
        if batched:
            return None
        return _launched(torch, *_narrow(torch, word, tensors))
    if word == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True  # else torch sums products of f32 itself
    x, y, out = (a, b, d) if batched else (a[0], b[0], d[0])
    name = "bmm" if batched else "mm"
    product, suffix = getattr(torch, name), " in tf32" if word == "tf32" else ""
    if d.dtype == a.dtype:
        return _launched(torch, f"torch.{name}(out=){suffix}", lambda: product(x, y, out=out))
    return _launched(torch, f"torch.{name}(out_dtype=){suffix}", lambda: product(x, y, out_dtype=d.dtype))


def _narrow(torch: Any, word: str, tensors: Mapping[str, Any]) -> tuple[str, Callable[[], object]]:
    """Of 8 bits and fewer: integers, or floats with a scale for all or, lying as our own arguments do, per block."""
    x, y, d = (tensors[name][0] for name in "abd")
    if word == "i8":
        return "torch._int_mm", lambda: torch._int_mm(x, y)
    if "sfa" in tensors:
        of_x, of_y = (tensors[name].reshape(-1) for name in ("sfa", "sfb"))
        text = "torch._scaled_mm, scales of blocks"
    else:
        of_x = of_y = torch.ones((), dtype=torch.float32, device=x.device)
        text = "torch._scaled_mm"
    return text, lambda: torch._scaled_mm(x, y, scale_a=of_x, scale_b=of_y, out_dtype=d.dtype)


def _launched(torch: Any, text: str, launch: Callable[[], object]) -> Peer | None:
    """The peer, where it runs: of what the library has not, it says so in some error."""
    try:
        launch()
        torch.cuda.synchronize()
    except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError):
        return None
    return Peer(text, launch)
