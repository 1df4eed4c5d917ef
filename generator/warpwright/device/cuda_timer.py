"""CUDA events around launches, with a cold L2 and a GPU that is busy while they are enqueued."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CudaTimer"]

#: More than any L2 (H200: 60 MB, B200: 126 MB).
_FLUSH_BYTES = 256 << 20
#: Clock cycles of spinning ahead of each timed launch: about 60 us, several times what enqueuing it takes.
_SPIN_CYCLES = 100_000
#: Parts of a stretch of launches that are waited for one by one: so many events more cost nothing in 0.1 s.
_PARTS = 16


class CudaTimer:
    """Times launches on the current stream of torch."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.flush = torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        #: Of each timed stretch the event ahead of it, those at the ends of its parts, and its launches.
        self._pending: list[tuple[Any, list[Any], int]] = []

    def cold(self, launch: Callable[[], object], launches: int = 1) -> None:
        """Enqueue what `launch` does once, after a write of 256 MB; `launches`: of how many kernels."""
        self.flush.fill_(len(self._pending))
        self._enqueue(launch, 1, launches)

    def sustained(self, launch: Callable[[], object], count: int) -> None:
        """Enqueue `count` launches back to back; `collect` gives their mean."""
        self._enqueue(launch, count)

    def collect(self, waiting: Callable[[int], None]) -> list[float]:
        """Wait for all of them; `waiting(i)` is called ahead of every wait for a part of the i-th."""
        pending, self._pending = self._pending, []
        times = []
        for index, (start, ends, count) in enumerate(pending):
            for end in ends:
                waiting(index)
                end.synchronize()
            times.append(start.elapsed_time(ends[-1]) * 1000.0 / count)
        return times

    def _enqueue(self, launch: Callable[[], object], count: int, launches: int = 1) -> None:
        start, ends = self._event(), []
        self.torch.cuda._sleep(_SPIN_CYCLES * launches)
        start.record()
        for number in range(1, count + 1):
            launch()
            if number == count or number % -(-count // _PARTS) == 0:
                ends.append(self._event())
                ends[-1].record()
        self._pending.append((start, ends, count))

    def _event(self) -> Any:
        return self.torch.cuda.Event(enable_timing=True)
