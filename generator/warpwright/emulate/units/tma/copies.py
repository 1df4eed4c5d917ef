"""What all asynchronous copies have in common: where they land, what they complete on, the bulk groups of stores."""

from __future__ import annotations

from collections.abc import Callable

from warpwright.emulate.machine.addresses import reach
from warpwright.emulate.machine.order import Cells, Source
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.units.barriers.mbarriers import MBarrier, lookup

_LATENCY, _BYTES_PER_CLOCK = 700, 46.6  # modelled clocks, for the timeline alone
LOAD = Source(
    "the TMA load of ",
    lambda _began, after: f"a wait by {after} on the mbarrier that the load completes on, before its access",
)
STORE = Source.completed_by("the TMA store of ", "cp.async.bulk.wait_group (.read where only the source is used again)")


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
    """A store on its way, of a bulk group: it lands once; `read_waited` once a wait_group has seen it read.

    `written`: the events of what it writes in global memory, which a wait that is not .read makes known.
    """

    __slots__ = ("event", "landed", "move", "number", "read_waited", "written")

    def __init__(self, event: int, number: int, move: Callable[[], None], written: int = 0) -> None:
        self.event, self.number, self.move, self.written = event, number, move, written
        self.landed = self.read_waited = False

    def land(self) -> None:
        if not self.landed:
            self.landed = True
            self.move()


class Groups:
    """The bulk groups of a warp's stores, the last one still open."""

    def __init__(self, _warp: Warp) -> None:
        self.groups: list[list[GroupedCopy]] = [[]]

    def add(self, copy: GroupedCopy, warp: Warp) -> None:
        self.groups[-1].append(copy)
        warp.machine.pending.append(copy.land)


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
    barriers = []
    for each, owner, offset in places:
        if owner is not own and owner is not each:
            reach(warp, number, owner, event)
        barriers.append(lookup(warp, number, owner, offset, warp.known_async))
        if each is not own:
            reach(warp, number, each, event)
        bad = each.shadow.write(cells, event, warp.known_async, number)
        if bad:
            machine.check_order(bad, each, event, warp, number, True, True)
    return barriers


def bulk_commit(f: Fiber) -> None:
    """cp.async.bulk.commit_group: the open group is closed (it may be empty)."""
    f.warp.own(Groups).groups.append([])


def bulk_wait(f: Fiber, pending: int, read: bool = False) -> None:
    """cp.async.bulk.wait_group: all but the last `pending` closed groups are done (`read`: have been read).

    The warp need not be suspended: what it would wait for is made to land.
    """
    warp = f.warp
    groups = warp.own(Groups).groups
    closed = groups[:-1]
    done = closed[: max(len(closed) - pending, 0)]
    for group in done:
        for copy in group:
            copy.land()
            copy.read_waited = True
            mask = 1 << copy.event | (0 if read else copy.written)
            warp.known |= mask
            warp.known_async |= mask
    while read and done and any(copy.written for copy in done[-1]):
        done.pop()  # it is still to be waited for what they write
    del groups[: len(done)]


def check_read(warp: Warp) -> None:
    """A warp ends: a store that it has not waited for may read shared memory that is gone."""
    mine = warp.owned(Groups)
    unread = [copy for group in mine.groups for copy in group if not copy.read_waited] if mine else []
    if unread:
        text = (
            "the warp ends without cp.async.bulk.wait_group for this copy: its shared memory may be gone before it is"
            " read"
        )
        warp.machine.fault("exit", warp, unread[0].number, text)
