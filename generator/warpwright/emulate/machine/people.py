"""How reports speak of warps, CTAs and arrivals: many of them in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.emulate.machine.scheduler import Machine
    from warpwright.emulate.machine.state import Cta, Warp

_SHOWN = 4  # CTAs, and places of arrivals; a report is read by a person


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def ranges(numbers: Iterable[int]) -> str:
    """`0..3, 8` for 0, 1, 2, 3 and 8."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}..{b}" for a, b in spans)


def warps_of(warps: Sequence[Warp]) -> str:
    """`warps 0..7 (consumer 0, consumer 1)`; the warps of one CTA, or the same ones of several."""
    ordered = sorted(warps, key=lambda warp: warp.index)
    roles = dict.fromkeys(role for warp in ordered if (role := warp.machine.options.roles(warp.index)))
    numbers = {warp.index for warp in ordered}
    played = f" ({', '.join(roles)})" if roles else ""
    return f"warp{'s' * (len(numbers) > 1)} {ranges(numbers)}{played}"


def ctas_of(warps: Iterable[Warp]) -> str:
    """`CTA (0, 0, 0)`, `CTAs (0, 0, 0), (1, 0, 0)`."""
    names = list(dict.fromkeys(str(warp.cta) for warp in warps))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"CTA{'s' * (len(names) > 1)} {', '.join(names[:_SHOWN])}{more}"


def arrivals(machine: Machine, arrivers: Sequence[tuple[Warp, int, int]]) -> str:
    """Lines of a report: who has arrived in the phase in progress, where, and how often."""
    if not arrivers:
        return "\n    arrived in this phase: nobody"
    places: dict[int, dict[Cta, dict[Warp, int]]] = {}
    for warp, number, count in arrivers:
        counts = places.setdefault(number, {}).setdefault(warp.cta, {})
        counts[warp] = counts.get(warp, 0) + count
    lines = []
    for number, ctas in places.items():
        alike: dict[tuple[str, int], list[Warp]] = {}  # CTAs of which the same warps have arrived as often
        for cta in sorted(ctas, key=lambda cta: (cta.cluster.number, cta.rank)):
            key = warps_of(list(ctas[cta])), sum(ctas[cta].values())
            alike.setdefault(key, []).extend(ctas[cta])
        for (names, count), warps in alike.items():
            many = len({warp.cta for warp in warps}) > 1
            each = ", each" if many else ""
            lines.append(
                f"{counted(count, 'arrival')} by {names} of {ctas_of(warps)}{each}\n      {machine.line(number)}"
            )
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "".join(f"\n    arrived in this phase: {line}" for line in [*lines[:_SHOWN], *more])
