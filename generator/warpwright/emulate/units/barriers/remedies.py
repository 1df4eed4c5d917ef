"""What would order the ordinary accesses of a warp before another access: the first thing that a kernel lacks."""

from __future__ import annotations

from warpwright.emulate.machine.order import Event
from warpwright.emulate.machine.state import Warp


def remedy(earlier: Event, number: int, access: str, warp: Warp, asynchronous: bool) -> str:
    """What would order `access`, of event `number`, before one by `warp`: the first thing that the kernel lacks."""
    who, bit = earlier.warp, 1 << number
    waited = next((lanes for lanes, events in warp.apart if events & bit), 0)
    if waited:
        return (
            f"bar.warp.sync of {warp} ahead of this access: only its lanes {waited:#010x} have waited for that {access}"
        )
    if who is warp and asynchronous and who.unsynced & bit:
        fence = "" if who.known_async & bit else f"fence.proxy.async by all lanes of {who} after the {access}, then "
        return f"{fence}bar.warp.sync of {who}: other lanes than the one that goes on made the {access}"
    if who is not warp and who.withheld & bit and not warp.known & bit:
        fence = ""
        if asynchronous and not who.known_async & bit:
            fence = f"fence.proxy.async by all lanes of {who} after the {access}, then "
        return (
            f"{fence}bar.warp.sync of {who} between the {access} and the arrival of one of its lanes: an arrival hands"
            " on what its own lane did, not what other lanes did"
        )
    actor = f"the {'writer' if access == 'write' else 'reader'}, {who},"
    if not asynchronous:
        return f"a barrier at which {who} arrives after the {access}, and on which {warp} waits"
    if warp.known & bit:
        return f"fence.proxy.async by {actor} after the {access} and before the barrier ahead of the later access"
    if who.known_async & bit:  # it has fenced: what lacks is the barrier
        return f"a barrier at which {who} arrives after the {access} and its fence, and on which {warp} waits"
    return f"fence.proxy.async by {actor} after the {access}, then a barrier at which it arrives and {warp} waits"
