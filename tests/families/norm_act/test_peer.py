"""What torch.compile is given: each shape a function that nothing was compiled of yet, and for this shape alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from warpwright.families.norm_act.workload.peer import compiled

KERNEL = {"norm": "layer", "activation": "relu", "eps": 1e-5}


class Torch:
    """Records what is compiled, and calls none of it."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.asked: list[tuple[Callable[..., None], dict[str, Any]]] = []
        self.cuda = SimpleNamespace(synchronize=lambda: None)
        self.nn = SimpleNamespace(functional=SimpleNamespace(relu=None, silu=None, gelu=None))

    def compile(self, function: Callable[..., None], **options: Any) -> Callable[..., None]:
        self.asked.append((function, options))
        if self.fails:
            raise RuntimeError("no Triton")
        return lambda given: None


def tensors(rows: int, columns: int) -> dict[str, Any]:
    return {"x": np.zeros((rows, columns)), "y": np.zeros((rows, columns))}


def test_each_shape_is_compiled_for_itself() -> None:
    torch = Torch()
    for columns in (1024, 4096, 8192):
        assert compiled(torch, KERNEL, tensors(16, columns)) is not None
    # torch keeps what it compiled, how often, and which sizes changed, by the code.
    codes = [function.__code__ for function, _ in torch.asked]
    assert len({code.co_name for code in codes}) == len(set(codes)) == 3
    assert all(options["dynamic"] is False for _, options in torch.asked)


def test_without_a_compiler_there_is_no_peer() -> None:
    assert compiled(Torch(fails=True), KERNEL, tensors(16, 1024)) is None
