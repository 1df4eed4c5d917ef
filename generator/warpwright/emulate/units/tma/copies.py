"""What all asynchronous copies have in common: where they land, what they complete on, the bulk groups of stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpwright.emulate.machine.addresses import reach
from warpwright.emulate.machine.order import Cells, Source
from warpwright.emulate.machine.rows import FULL
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.units.barriers.mbarriers import MBarrier, lookup

#: A rule that can be left out: before a warp ends it waits for its stores. Production kernels leave the last one of a
#: CTA un-waited for, or uncommitted, and rely on the hardware to keep the shared memory until that has read it.
TAIL = "bulk-store-tail"
#: A rule that can be left out: what ordinary loads have read wants a proxy fence before a copy overwrites it. Pipelines
#: of production kernels release a stage that they have read by a barrier alone.
READS = "reads-before-copies"
_LATENCY, _BYTES_PER_CLOCK = 700, 46.6  # modelled clocks, for the timeline alone


def _arrival(_began: Warp, after: Warp) -> str:
    """What makes an access of `after` come behind a load. A kernel that waits may do so for the wrong phase."""
    text = f"a wait by {after} on the mbarrier that the load completes on, before its access"
    if any("mbarrier" in i.opcode and "wait" in i.opcode for i in after.machine.program.instructions):
        text += "; a wait for the parity of a phase that was over already does not wait"
    return text


LOAD = Source("the TMA load of ", _arrival)
STORE = Source("the TMA store of ")


class Engine:
    """Until which modelled clock the copies of a CTA keep the way into shared memory busy."""

    def __init__(self, _cta: Cta) -> None:
        self.clock = 0


def landing_clock(warp: Warp, size: int) -> int:
    """The modelled clock at which a load of `size` bytes that is issued now has landed."""
    engine = warp.cta.own(Engine)
    engine.clock = max(engine.clock, warp.clock) + int(size / _BYTES_PER_CLOCK)
    return engine.clock + _LATENCY


def stored_clock(warp: Warp, size: int) -> int:
    """The modelled clock at which a store of `size` bytes that is issued now is complete."""
    return warp.clock + _LATENCY + int(size / _BYTES_PER_CLOCK)


class GroupedCopy:
    """A store on its way, of a bulk group: it lands once; `waited` once a wait_group has seen it read.

    written: the events of what it writes in global memory, which a wait that is not .read makes known.
    lanes: who issued it; committed: whether a commit_group of theirs has followed.
    """

    __slots__ = ("committed", "event", "landed", "lanes", "move", "number", "waited", "written")

    def __init__(self, event: int, number: int, move: Callable[[], None], written: int = 0) -> None:
        self.event, self.number, self.move, self.written = event, number, move, written
        self.lanes = 0
        self.landed = self.waited = self.committed = False

    def land(self) -> None:
        if not self.landed:
            self.landed = True
            self.move()

    def due(self, who: Any) -> str:
        """What completes it, in words."""
        lane = self.lanes.bit_length() - 1
        by = f"lane {lane} of {who}, which issued it" if self.lanes == 1 << lane else str(who)
        wait = "cp.async.bulk.wait_group (.read where only the source is used again)"
        if not self.committed:
            return (
                f"cp.async.bulk.commit_group by {by}, since a wait_group waits for committed groups only; then {wait}"
            )
        return f"{wait} by {by}, with a count small enough for this group"

    def remedy(self, began: Any, after: Any) -> str:
        """What would order an access of `after` behind it."""
        if self.waited and began is not after:
            return f"a barrier at which {began} arrives after its cp.async.bulk.wait_group, and on which {after} waits"
        return self.due(began) + ("" if began is after else f", then a barrier at which it arrives and {after} waits")


class Groups:
    """The bulk groups of a warp's stores, the last of each list still open. They are those of a thread (PTX ISA,
    "cp.async.bulk.commit_group"): lanes that have done the same share a list, until they part."""

    def __init__(self, _warp: Warp) -> None:
        self.parts: list[tuple[int, list[list[GroupedCopy]]]] = [(FULL, [[]])]

    def of(self, mask: int) -> list[list[list[GroupedCopy]]]:
        """The lists of the lanes in `mask`, which are theirs alone from now on."""
        found = []
        for at, (lanes, groups) in enumerate([*self.parts]):
            if lanes & mask:
                found.append(groups)
            if lanes & mask and lanes & ~mask:
                self.parts[at] = lanes & mask, groups
                self.parts.append((lanes & ~mask, [[*group] for group in groups]))
        return found

    def add(self, copy: GroupedCopy, f: Fiber) -> None:
        copy.lanes = f.mask
        for groups in self.of(f.mask):
            groups[-1].append(copy)
        machine = f.warp.machine
        machine.order.events[copy.event].source = Source(STORE.words, copy.remedy)
        machine.pending.append(copy.land)


def targets_of(f: Fiber, number: int, cta: Cta, multicast: int | None) -> list[Cta]:
    """The CTAs that a load fills: `cta`, or those of the mask."""
    if multicast is None:
        return [cta]
    ctas = f.warp.cta.cluster.ctas
    if not multicast or multicast >> len(ctas):
        text = f"multicast mask {multicast:#x} in a cluster of {len(ctas)} CTAs"
        f.warp.machine.fault("tma", f.warp, number, text, fatal=True)
    return [c for c in ctas if multicast >> c.rank & 1]


def begin_fill(f: Fiber, number: int, event: int, cells: Cells, places: list[tuple[Cta, Cta, int]]) -> list[MBarrier]:
    """Note the writes of a load to `cells` and return the barriers it completes on; `places` holds, of each CTA
    that it fills, the CTA, the one of its barrier, and the barrier's offset."""
    warp, own, machine = f.warp, f.warp.cta, f.warp.machine
    known, visible = f.knows()
    barriers = []
    for each, owner, offset in places:
        if owner is not own and owner is not each:
            reach(warp, number, owner, event)
        barriers.append(lookup(warp, number, owner, offset, visible))
        reach(warp, number, each, event)
        bad = each.shadow.write(cells, event, visible, number)
        if bad and READS in machine.options.without:
            bad = [(earlier, at) for earlier, at in bad if not _read_before(each, earlier, at, known)]
        if bad:
            machine.check_order(bad, each, event, warp, number, True, True)
    return barriers


def _read_before(cta: Cta, event: int, at: int, known: int) -> bool:
    """Whether an event is of ordinary accesses that but read the byte at an offset, and known to have happened."""
    if event < 0 or not known >> event & 1:
        return False
    found = cta.shadow.order.events[event]
    return not found.asynchronous and found.access(at, True, cta.shadow.size) is None


def begin_read(f: Fiber, number: int, event: int, cells: Cells) -> None:
    """Note the reads of a store from `cells` of the warp's own CTA."""
    cta = f.warp.cta
    bad = cta.shadow.read(cells, event, f.knows()[1], number)
    if bad:
        f.warp.machine.check_order(bad, cta, event, f.warp, number, False, True)


def bulk_commit(f: Fiber) -> None:
    """cp.async.bulk.commit_group: the open group of each lane is closed (it may be empty)."""
    for groups in f.warp.own(Groups).of(f.mask):
        for copy in groups[-1]:
            copy.committed = True
        groups.append([])


def bulk_wait(f: Fiber, pending: int, read: bool = False) -> None:
    """cp.async.bulk.wait_group: all but the last `pending` closed groups of each lane are done (`read`: are read).

    The warp need not be suspended: what it would wait for is made to land.
    """
    known = 0
    for groups in f.warp.own(Groups).of(f.mask):
        done = groups[: max(len(groups) - 1 - pending, 0)]
        for group in done:
            for copy in group:
                copy.land()
                copy.waited = True
                known |= 1 << copy.event | (0 if read else copy.written)
        while read and done and any(copy.written for copy in done[-1]):
            done.pop()  # it is still to be waited for what they write
        del groups[: len(done)]
    if known:
        f.learn(known, known)


def check_read(warp: Warp) -> None:
    """A warp ends: a store that it has not waited for may read shared memory that is gone."""
    mine = warp.owned(Groups)
    flying = [copy for _, groups in mine.parts for group in groups for copy in group if not copy.waited] if mine else []
    if flying and TAIL not in warp.machine.options.without:
        copy = flying[0]
        text = (
            "the warp ends while this store may still read shared memory, which is gone once the CTA has ended\n"
            f"  what would keep it: {copy.due(warp)}"
        )
        warp.machine.fault("exit", warp, copy.number, text)
