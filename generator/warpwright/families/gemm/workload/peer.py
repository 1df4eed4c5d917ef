"""The vendor's GEMM: cuBLAS's product of the same operands, as torch calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpwright.families.running import Peer
from warpwright.plan.types import Plan

__all__ = ["signature", "vendor_product"]


def signature(plan: Plan) -> str:
    """What the vendor library is asked for: dtypes and majors of A, B and D, as text."""
    named = {argument.name: argument for argument in plan.arguments}
    return " ".join(f"{n}:{named[n].dtype}/{named[n].contiguous.lower()}" for n in "abd")


def vendor_product(torch: Any, a: Any, b: Any, d: Any) -> Peer | None:
    """Return the product alone, without an epilogue; None where torch has none.

    a (L, M, K), b (L, K, N), d (L, M, N), of any strides.
    """
    batched = a.shape[0] != 1
    x, y, out = (a, b, d) if batched else (a[0], b[0], d[0])
    name = "bmm" if batched else "mm"
    product = getattr(torch, name)
    launch: Callable[[], object]
    if d.dtype == a.dtype:
        launch = lambda: product(x, y, out=out)  # noqa: E731
        text = f"torch.{name}(out=)"
    else:
        launch = lambda: product(x, y, out_dtype=d.dtype)  # noqa: E731
        text = f"torch.{name}(out_dtype=)"
    try:
        launch()
        torch.cuda.synchronize()
    except (RuntimeError, TypeError):
        return None
    return Peer(text, launch)
