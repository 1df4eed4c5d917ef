"""torch.compile's fused kernel of the same function, as its autotuner makes it, and a plain copy of as many bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from warpwright.families.running import Peer

__all__ = ["compiled", "copy", "function"]

_NUMBERS = itertools.count()


def function(torch: Any, kernel: Mapping[str, Any], columns: int) -> Callable[[Mapping[str, Any]], Any]:
    """Return what a person would write with torch.nn.functional, of the tensors by name; it gives y."""
    f = torch.nn.functional
    activations = {
        "identity": lambda v: v,
        "relu": f.relu,
        "silu": f.silu,
        "gelu_tanh": lambda v: f.gelu(v, approximate="tanh"),
        "gelu_erf": f.gelu,
    }
    activation, eps = activations[kernel["activation"]], kernel["eps"]

    def norm_act(x: Any, residual: Any, weight: Any, bias: Any) -> Any:
        v = x.float()
        if residual is not None:
            v = v + residual.float()
        weight, bias = (w if w is None else w.float() for w in (weight, bias))
        if kernel["norm"] == "layer":
            v = f.layer_norm(v, (columns,), weight, bias, eps)
        else:
            v = f.rms_norm(v, (columns,), weight, eps)
            v = v if bias is None else v + bias
        return activation(v)

    return lambda t: norm_act(t["x"], t.get("residual"), t.get("weight"), t.get("bias"))


def compiled(torch: Any, kernel: Mapping[str, Any], tensors: Mapping[str, Any]) -> Peer | None:
    """Return torch.compile(mode max-autotune) of the function for these shapes; None where torch cannot compile it."""
    y = tensors["y"]
    plain = function(torch, kernel, y.shape[1])

    def once(given: Mapping[str, Any]) -> None:
        y.copy_(plain(given))

    # torch counts what it compiles by a function's code: of the second shape on it would make a kernel of any shape,
    # half as fast at 32768 x 4096, and of the ninth on none at all.
    once.__code__ = once.__code__.replace(co_name=f"once_{next(_NUMBERS)}")
    given = {name: tensors[name] for name in ("x", "residual", "weight", "bias") if name in tensors}
    try:
        launch = torch.compile(once, mode="max-autotune-no-cudagraphs", dynamic=False)
        launch(given)
        torch.cuda.synchronize()
    except Exception:  # of whatever kind: no compiler, no Triton, a version without the function
        return None
    return Peer("torch.compile max-autotune", lambda: launch(given))


def copy(torch: Any, moved: int) -> Peer:
    """Return torch's copy that reads and writes `moved` bytes in all, of memory of its own: what DRAM allows."""
    source, target = (torch.zeros(moved // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
    return Peer("plain copy", lambda: target.copy_(source), same=False)
