"""CUDA events around launches, with a cold L2 and a GPU that is busy while they are enqueued."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CudaTimer"]

#: More than any L2 (H200: 60 MB, B200: 126 MB).
_FLUSH_BYTES = 256 << 20
#: Clock cycles of spinning ahead of each timed launch: about 60 us, several times what enqueuing it takes.
_SPIN_CYCLES = 100_000


class CudaTimer:
    """Times launches on the current stream of torch."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.flush = torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self._pending: list[tuple[Any, Any, int]] = []

    def cold(self, launch: Callable[[], object]) -> None:
        """Enqueue one launch after a write of 256 MB."""
        self.flush.fill_(len(self._pending))
        self._enqueue(launch, 1)

    def sustained(self, launch: Callable[[], object], count: int) -> None:
        """Enqueue `count` launches back to back; `collect` gives their mean."""
        self._enqueue(launch, count)

    def collect(self) -> list[float]:
        self.torch.cuda.synchronize()
        pending, self._pending = self._pending, []
        return [start.elapsed_time(stop) * 1000.0 / count for start, stop, count in pending]

    def _enqueue(self, launch: Callable[[], object], count: int) -> None:
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda._sleep(_SPIN_CYCLES)
        start.record()
        for _ in range(count):
            launch()
        stop.record()
        self._pending.append((start, stop, count))
