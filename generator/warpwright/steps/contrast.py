"""What two kernels on two streams come to, beside the same two on one and beside the one that needs no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from warpwright.device.two_streams import MAKER, NARROW, ONE, READER, TWO

__all__ = ["Contrast", "Cut", "contrast"]


@dataclass(frozen=True)
class Cut:
    """Medians in seconds for one number of chunks: the reader alone, what both take on one stream, on two, and on two
    with a maker of few CTAs, which fit beside the reader's; what the host needs to enqueue the last."""

    chunks: int
    reader: float
    one_stream: float
    two_streams: float
    narrow: float
    host: float

    @property
    def best(self) -> float:
        """On two streams, the better of both."""
        return min(self.two_streams, self.narrow)

    @property
    def gain(self) -> float:
        """How many times as fast as on one stream."""
        return self.one_stream / self.best


@dataclass(frozen=True)
class Contrast:
    """All of it, for a problem: the maker alone, and each number of chunks; `whole` is the reader alone, in one launch,
    which needs no maker."""

    problem: Mapping[str, int]
    gpu: str
    reader: str
    maker: str
    maker_seconds: float
    whole: float
    cuts: tuple[Cut, ...]
    shared: str = ""

    @property
    def best(self) -> Cut:
        """The number of chunks, of more than one where there is one, that is fastest on two streams."""
        return min(self.cuts[1:] or self.cuts, key=lambda cut: cut.best)

    @property
    def serial(self) -> float:
        """Seconds of both whole kernels, one after the other."""
        return self.cuts[0].one_stream

    @property
    def words(self) -> str:
        """What the best pipeline takes beside both whole kernels, one after the other."""
        change = self.best.best / self.serial - 1
        return f"{abs(change):.1%} {'less' if change < 0 else 'more'} than both whole, one after the other"


def contrast(result: Mapping[str, Any]) -> Contrast:
    """Return the medians of a measurement that is correct (`device.contrast.contrast`)."""
    us = {(way["way"], way["chunks"]): median(way["us"]) * 1e-6 for way in result["ways"]}
    host = {(way["way"], way["chunks"]): median(way["host_us"]) * 1e-6 for way in result["ways"]}
    numbers = sorted(chunks for way, chunks in us if way == ONE)
    return Contrast(
        problem=result["asked"]["problem"],
        gpu=result["gpu"]["gpu"],
        reader=result["reader"]["variant"],
        maker=result["maker"]["variant"],
        maker_seconds=us[MAKER, 1],
        whole=us[READER, 1],
        cuts=tuple(
            Cut(n, us[READER, n], us[ONE, n], us[TWO, n], us[NARROW, n], max(host[TWO, n], host[NARROW, n]))
            for n in numbers
        ),
        shared=result["shared"],
    )
