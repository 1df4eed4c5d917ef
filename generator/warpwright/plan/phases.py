"""What loading and computing one stage of a ring takes: all that `advise` must know of a kind of kernel.

A family gives it beside its prediction (`Target.phases`), as rates and not as a time. So the same numbers tell what
other depths, more CTAs per SM, or no specialised warps at all would take; for the plan as it is they come to what
`predict` says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.archs import Device

__all__ = ["Phases", "Way"]

#: Clocks in which all warps of a CTA meet at a barrier and issue the next load, where no producer does it meanwhile:
#: what a copy's warps were found to take for the like. Of two GEMMs that differ in this alone (128 x 128 x 64, six
#: stages, 4096^3, H200) that without a producer took 79 clocks a stage longer.
_STOP = 80


@dataclass(frozen=True)
class Way:
    """A kernel of the same family whose warps all load and compute: rows or stages that it loads into, its predicted
    seconds, CTAs per SM, and bytes of shared memory of each."""

    buffers: int
    seconds: float
    resident: int
    shared_bytes: int


@dataclass(frozen=True)
class Phases:
    """A kernel on one problem, stage by stage. Clocks are those of one SM for one stage unless it says otherwise.

    stage: what one stage holds, in words; `stage_bytes` is what it takes of shared memory.
    stages: of a CTA's ring, of which `held` are read while the others are on their way.
    load, compute: by what takes them; the parts of one go on at once, so the largest counts. `both` are parts that the
    two have in common, with what each takes of them added up.
    latency: from asking for a stage until it is there, while no other is on its way to the SM; each that is adds
    `queued`. steps: stages that an SM goes through; `most` of one CTA, where there may be fewer than its ring has
    (None: there are enough). exposed: clocks of an SM, in all, that nothing hides.
    resident: CTAs that share an SM, the way the plan is.
    producer_work, consumer_work: clocks in which one warp is busy with one stage by itself; 0 where none is, since the
    hardware does it (TMA, tensor cores), so that more warps would not be quicker. pace: of these, what hardware alone
    would take for a stage, however many warps there are; None where no term depends on how many there are.
    registers: of a thread that computes, before any reallocation.
    asked_bytes: that all SMs ask of L2, read and written; DRAM moves `read_bytes` and `written_bytes` at least.
    pieces: that the problem is cut into (tiles, chunks), `slots` of which are worked on at once.
    hertz: of an SM that runs this, where that is not the device's under its power limit.
    without: what the family itself has of kernels without specialised warps; where it has none, `in_turn` tells.
    """

    stage: str
    stage_bytes: int
    stages: int
    held: int
    load: Mapping[str, float]
    compute: Mapping[str, float]
    both: Mapping[str, float]
    latency: float
    steps: int
    resident: int
    producer_warps: int
    consumer_warps: int
    registers: int
    asked_bytes: float
    read_bytes: float
    written_bytes: float
    dram_bytes_per_second: float
    pieces: int
    slots: int
    queued: float = 0.0
    most: int | None = None
    exposed: float = 0.0
    producer_work: float = 0.0
    consumer_work: float = 0.0
    pace: float | None = None
    hertz: float | None = None
    without: tuple[Way, ...] = ()

    def clock(self, device: Device) -> float:
        """Clocks per second in which all of these are told."""
        return self.hertz or device.hertz

    @property
    def dram_seconds(self) -> float:
        return (self.read_bytes + self.written_bytes) / self.dram_bytes_per_second

    @property
    def rounds(self) -> int:
        """How often all slots are filled (waves)."""
        return -(-self.pieces // self.slots) if self.slots else 0

    @property
    def idle(self) -> float:
        """The part of all slots that the last round leaves empty."""
        return 1 - self.pieces / (self.rounds * self.slots) if self.pieces else 0.0

    @property
    def from_l2(self) -> float:
        """The part of the traffic that L2 serves: what it is asked for, and DRAM is not."""
        return max(0.0, 1 - (self.read_bytes + self.written_bytes) / self.asked_bytes) if self.asked_bytes else 0.0

    def load_terms(self, device: Device) -> dict[str, float]:
        """What loading a stage takes, with what is read of DRAM."""
        return {**self.load, "DRAM": self._of_dram(self.read_bytes, device)}

    def compute_terms(self, device: Device) -> dict[str, float]:
        """What computing a stage and writing its share of the result take."""
        written = {"DRAM": self._of_dram(self.written_bytes, device)} if self.written_bytes else {}
        return {**self.compute, **written}

    def both_terms(self, device: Device) -> dict[str, float]:
        """What the two have in common, with all that DRAM moves."""
        return {**self.both, "DRAM": self._of_dram(self.read_bytes + self.written_bytes, device)}

    def _of_dram(self, moved: float, device: Device) -> float:
        return moved / self.dram_bytes_per_second * self.clock(device) / self.steps if self.steps else 0.0

    def throughput(self) -> float:
        """Clocks of a stage, were every load there when it is asked for; DRAM is not counted."""
        return max((*self.load.values(), *self.compute.values(), *self.both.values()), default=0.0)

    def bound(self, device: Device) -> float:
        """The same, with DRAM, which goes on while nothing else does: a ring that is faster gains nothing."""
        return max(self.throughput(), self._dram(device))

    def _dram(self, device: Device) -> float:
        return (self.dram_seconds * self.clock(device) - self.exposed) / self.steps if self.steps else 0.0

    def hardware(self, device: Device) -> float:
        """The same, were there as many warps as one likes."""
        return max(self.throughput() if self.pace is None else self.pace, self._dram(device))

    def waiting(self, stages: int, resident: int) -> float:
        """Clocks between two stages that come, where their latency sets the pace."""
        ring = stages - self.held if self.most is None else min(stages - self.held, self.most)
        return self.latency / (max(1, ring) * max(1, resident)) + self.queued

    def overlapped(self, device: Device, stages: int, resident: int) -> float:
        """Seconds of a launch with producers and consumers, a ring of `stages` and `resident` CTAs per SM."""
        return self._seconds(max(self.throughput(), self.waiting(stages, resident)), device)

    def in_turn(self, device: Device, buffers: int, resident: int) -> float:
        """Seconds of a launch where all warps load and compute, with so many buffers and `resident` CTAs per SM.

        With one buffer a CTA waits for its stage and then computes it; with more, the others are on their way
        meanwhile. A buffer is filled again as soon as it has been computed: each is loaded and computed once while all
        come by. At each stage all warps meet. What one CTA waits, others may use.
        """
        computing = max(self.compute.values(), default=0.0) + _STOP
        alone = max((self.latency + computing) / buffers, computing)
        return self._seconds(max(self.throughput(), alone / max(1, resident) + self.queued), device)

    def _seconds(self, pace: float, device: Device) -> float:
        return max((self.steps * pace + self.exposed) / self.clock(device), self.dram_seconds) + device.launch_seconds

    def needed(self, device: Device, resident: int) -> int | None:
        """The fewest stages whose latency is hidden, 2 at least; None where no number of them is enough."""
        left = self.bound(device) - self.queued
        if left <= 0:
            return None
        ring = math.ceil(self.latency / (left * max(1, resident)) - 1e-9)
        return max(2, self.held + (ring if self.most is None else min(ring, self.most)))

    def sides(self) -> tuple[float, float]:
        """Clocks of a stage that the producer and the consumer warps take by their own work."""
        producers, consumers = (warps * max(1, self.resident) for warps in (self.producer_warps, self.consumer_warps))
        return self.producer_work / max(1, producers), self.consumer_work / max(1, consumers)

    def split(self, device: Device) -> tuple[int, int]:
        """Producer and consumer warps that the work asks for; as many as planned where no warp does the computing.

        Each side gets what keeps the pace that hardware and DRAM set. Where the warps of the plan are too few for both,
        they are dealt out in proportion to the work.
        """
        pace = self.hardware(device) * max(1, self.resident)
        warps = self.producer_warps + self.consumer_warps
        work = self.producer_work + self.consumer_work
        if self.producer_work and self.consumer_work and (not pace or work / pace > warps):
            producers = min(warps - 1, max(1, round(warps * self.producer_work / work)))
            return producers, warps - producers
        producers = math.ceil(self.producer_work / pace) if pace else 1
        consumers = math.ceil(self.consumer_work / pace) if pace and self.consumer_work else self.consumer_warps
        return max(1, producers), max(1, consumers)
