"""One variant's line: the same facts for the table, for `--json` and for the closing summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import typer

from warpwright.canonical import plain
from warpwright.cli.origin import explain_origins, level, mark, origin
from warpwright.cli.terminal import count, print_json, print_table, say, status_style
from warpwright.pipeline import Exploration, Variant, exit_code
from warpwright.record import METHODS, Judgement

__all__ = [
    "format_bytes",
    "format_seconds",
    "measured_cells",
    "measured_columns",
    "names",
    "prediction",
    "print_results",
    "report",
    "result",
    "timings",
]


def format_seconds(seconds: float) -> str:
    """Return a duration with four digits in the unit that suits it."""
    from warpwright.plan.prediction import time_text

    return time_text(seconds)


def format_bytes(count: int | None) -> str:
    """Return a number of bytes to the byte, since a single one too many makes a plan illegal."""
    return "" if count is None else f"{count:,} B"


def names(variants: Sequence[Variant]) -> dict[str, Variant]:
    """Return the shortest name of each variant by which `show` finds it: its label, where that is unique."""
    labels = Counter(variant.plan.label for variant in variants)
    return {variant.plan.label if labels[variant.plan.label] == 1 else variant.name: variant for variant in variants}


def prediction(variant: Variant, spec: Any) -> dict[str, Any] | None:
    """Return the predicted time of a legal variant for the first benchmark problem that it takes; None for none."""
    from warpwright.cli.untried import predicted_for
    from warpwright.device.coverage import within
    from warpwright.families import target
    from warpwright.plan.prediction import extents_of

    plan = variant.plan
    problem = next(iter(within(plan, spec.bench["problems"])), None)
    if not plan.legal or problem is None:
        return None
    predicted: dict[str, Any] = plain(target(plan.family, plan.arch).predict(plan, extents_of(problem)))
    return {**predicted, "problem": problem, "for": predicted_for([plan.arch])}


def timings(judgement: Judgement) -> list[dict[str, Any]]:
    """Return the measured times of a variant that is correct: per problem, seconds (median, and percentiles), speed,
    vendor ratio, all that it was timed beside, where and on which GPU they were measured, and, of those that compare
    with nothing, why: others may have been there."""
    from warpwright.device.peers import peers_in

    if judgement.status != "correct":
        return []
    return [
        {
            "problem": figures["problem"],
            "seconds": figures["cold_us"]["median"] * 1e-6,
            "p95": figures["cold_us"]["p95"] * 1e-6,
            "p99": figures["cold_us"]["p99"] * 1e-6,
            "speed": figures["speed"],
            "rate": figures["rate"],
            "vendor_ratio": (figures.get("peer") or {}).get("ratio"),
            "peers": [_peer(peer) for peer in peers_in(figures) if peer],
            "origin": origin(evidence),
            "gpu": evidence.gpu.get("gpu"),
            "mark": mark(evidence),
            "shared": figures.get("shared"),
        }
        for evidence in judgement.valid
        if evidence.method == "benchmarked"
        for figures in evidence.figures.get("problems", ())
    ]


def _peer(peer: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: peer["cold_us"][key] * 1e-6 for name, key in (("seconds", "median"), ("p95", "p95"), ("p99", "p99"))}
    return {"name": peer["name"], **times, "speed": peer["speed"], "ratio": peer["ratio"], "tie": peer["tie"]}


def result(variant: Variant, spec: Any) -> dict[str, Any]:
    """Return everything that `run` says about one variant, as plain data."""
    built = variant.build
    return {
        "variant": variant.name,
        "label": variant.plan.label,
        "identity": variant.identity,
        "folder": str(variant.folder.path) if variant.plan.legal else None,
        "legal": variant.plan.legal,
        "violations": plain(variant.plan.violations),
        "shared_bytes": variant.plan.shared_bytes if variant.plan.legal else None,
        "registers": built.get("registers"),
        "spill_bytes": built.get("spill_bytes"),
        "predicted": prediction(variant, spec),
        "measured": timings(variant.judgement) if variant.status == "correct" else [],
        "evidence": variant.judgement.evidence,
        "status": variant.status,
        "reasons": variant.reasons(),
        "undone": variant.undone,
        "stale": [{"method": evidence.method, "because": why} for evidence, why in variant.judgement.stale],
        "methods": {
            evidence.method: {"status": evidence.status, "origin": origin(evidence), "gpu": plain(evidence.gpu)}
            for evidence in variant.judgement.valid
        },
    }


def report(exploration: Exploration, as_json: bool, times: bool = False) -> NoReturn:
    """Print what is known about every variant, as a table or as data, and end with the exit code that it means.

    times: a table of times as well, with what they were measured beside.
    """
    from warpwright.cli.times import add_unspecialised, print_times

    if as_json:
        variants = [result(variant, exploration.spec) for variant in exploration.variants]
        add_unspecialised(exploration, variants)
        print_json({"config": exploration.label, "name": exploration.spec.name, "variants": variants})
    else:
        print_results(exploration)
        if times:
            print_times(exploration)
    raise typer.Exit(exit_code(exploration.variants))


def print_results(exploration: Exploration) -> None:
    """Print the table of a run on stdout, and on stderr what it adds up to and what needs attention."""
    spec = exploration.spec
    rows = []
    found = {name: (variant, result(variant, spec)) for name, variant in names(exploration.variants).items()}
    times = {name: _measured(facts) for name, (_, facts) in found.items()}
    timed = any(time for time in times.values())
    head = measured_columns(time["mark"] for time in times.values() if time) if timed else []
    for name, (variant, facts) in found.items():
        rows.append(
            [
                name,
                "yes" if facts["legal"] else "no: " + ", ".join(v["rule"] for v in facts["violations"]),
                format_bytes(facts["shared_bytes"]),
                "" if facts["registers"] is None else str(facts["registers"]),
                "" if facts["spill_bytes"] is None else str(facts["spill_bytes"]),
                format_seconds(facts["predicted"]["seconds"]) if facts["predicted"] else "",
                *(measured_cells(times[name], head) if timed else ()),
                level(variant.judgement),
                facts["status"],
            ]
        )
    numbers = ["shared memory", "registers", "spills", "predicted", *head]
    print_table(["variant", "legal", *numbers, "evidence", "status"], rows, right=numbers, styles="status")
    _say_attention(exploration)
    _say_shared(exploration)
    _say_sum(exploration)


def _measured(facts: dict[str, Any]) -> dict[str, Any] | None:
    """Return the timing for the problem that is predicted, where there is one."""
    problem = (facts["predicted"] or {}).get("problem")
    return next((timing for timing in facts["measured"] if timing["problem"] == problem), None)


def measured_columns(marks: Iterable[str]) -> list[str]:
    """Return the heads of the two columns of times, with the mark of their origin where it is one for all."""
    (shared, *others) = dict.fromkeys(marks)
    if not shared or others:
        return ["measured", "vs vendor"]
    return [f"measured ({shared})", f"vs vendor ({shared.partition(':')[0]})"]


def measured_cells(timing: dict[str, Any] | None, head: Sequence[str]) -> tuple[str, str]:
    """Return a time, and the vendor library's time over it (above 1 is faster than it), each with the mark of its
    origin where the column's head does not say it."""
    if timing is None:
        return "", ""
    mark = f" ({timing['mark']})" if timing["mark"] and head[0] == "measured" else ""
    ratio = timing["vendor_ratio"]
    if timing["shared"]:  # not set against anything
        return f"{format_seconds(timing['seconds'])}{mark}", f"shared{mark}"
    return f"{format_seconds(timing['seconds'])}{mark}", "" if ratio is None else f"{ratio:.3f}{mark}"


def _say_attention(exploration: Exploration) -> None:
    """Name what is wrong, each cause once: what it is, how many variants it concerns, and one of them in full."""
    causes: dict[tuple[str, str], list[tuple[Variant, str]]] = {}
    for variant in exploration.legal:
        for reason in variant.reasons():
            causes.setdefault((variant.status, reason.partition(":")[0]), []).append((variant, reason))
    for (status, _), cases in causes.items():
        variant, reason = cases[0]
        others = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
        say(f"{status}: {variant.name}{others}: {reason}", style=status_style(status))
    stale = Counter(evidence.method for variant in exploration.legal for evidence, _ in variant.judgement.stale)
    for method in METHODS:
        if stale[method]:
            left_out = count(stale[method], f"stale {method} result")
            say(f"left out of account: {left_out} (`warpwright show VARIANT` says why)")


def _say_shared(exploration: Exploration) -> None:
    for variant in exploration.legal:
        for timing in timings(variant.judgement):
            if timing["shared"]:
                say(
                    f"shared: {variant.name} was not alone on the GPU while it was timed ({timing['shared']}): such a "
                    f"time compares with nothing; `warpwright bench {exploration.typed} --again` measures anew",
                    style="yellow",
                )
                return


def _say_sum(exploration: Exploration) -> None:
    from warpwright.cli.untried import predicted_for, run_by_none
    from warpwright.device.coverage import beyond

    statuses = Counter(variant.status for variant in exploration.variants)
    levels = Counter(level(variant.judgement) for variant in exploration.legal)
    problem = exploration.spec.bench["problems"][0]
    parts = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    proved = ", ".join(f"{number} {evidence}" for evidence, number in levels.items())
    say(f"{count(len(exploration.variants), 'variant')}: {parts}" + (f"; evidence: {proved}" if proved else ""))
    undone = Counter(step for variant in exploration.legal for step in variant.undone)
    for step, number in undone.items():
        say(f"{step}: could not be done for {count(number, 'variant')}, so nothing is known of it", style="red")
    extents = " ".join(f"{mode.upper()}={extent}" for mode, extent in problem.items())
    if any(beyond(variant.plan, problem) for variant in exploration.legal):
        extents += ", or for the first problem within a variant's limits"
    targets = [variant.plan.arch for variant in exploration.legal]
    made_of = "`warpwright explain` says what they are made of"
    told = f"; predicted ones are for {predicted_for(targets)} ({made_of})" if targets else ""
    say(f"times are for {extents}{told}")
    for line in explain_origins(evidence for variant in exploration.legal for evidence in variant.judgement.valid):
        say(line)
    for line in run_by_none((variant.plan.arch, variant.judgement) for variant in exploration.legal):
        say(f"{line}: `warpwright bundle {exploration.typed} --to DIR` packs them for it")
    say(f"variants are in {exploration.folder}")
    if statuses["illegal"]:
        say(f"why points are illegal: warpwright plan {exploration.typed}")
