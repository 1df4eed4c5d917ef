"""The vendor's SGEMM: cuBLAS in true fp32, as torch calls it, with the same epilogue in the fastest way that torch has.

torch adds the bias within one call of cuBLAS (addmm), and applies relu by a kernel of its own, in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpwright.families.running import Peer

__all__ = ["vendor_product"]


def vendor_product(torch: Any, a: Any, b: Any, d: Any, bias: Any | None, relu: bool) -> Peer | None:
    """Return activation(A B + bias) by torch, None where torch has none. a (L, M, K), b (L, K, N), d (L, M, N).

    TF32 is off for each call, and as it was afterwards.
    """
    batched = a.shape[0] != 1
    x, y, out = (a, b, d) if batched else (a[0], b[0], d[0])
    launch: Callable[[], object]
    if bias is None:
        name = "bmm" if batched else "mm"
        product = getattr(torch, name)
        launch = lambda: product(x, y, out=out)  # noqa: E731
    else:
        name = "baddbmm" if batched else "addmm"
        product = getattr(torch, name)
        launch = lambda: product(bias, x, y, out=out)  # noqa: E731
    text = f"torch.{name}(out=) in fp32"
    finished = (lambda: (launch(), out.relu_())) if relu else launch
    if relu:
        text += ", relu_()"

    def in_fp32() -> None:
        allowed = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = False
        try:
            finished()
        finally:
            torch.backends.cuda.matmul.allow_tf32 = allowed

    try:
        in_fp32()
        torch.cuda.synchronize()
    except (RuntimeError, TypeError):
        return None
    return Peer(text, in_fp32)
