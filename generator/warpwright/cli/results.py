"""One variant's line: the same facts for the table, for `--json` and for the closing summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from warpwright.canonical import plain
from warpwright.cli.terminal import count, print_json, print_table, say, status_style
from warpwright.pipeline import Exploration, Variant, exit_code
from warpwright.record import METHODS

__all__ = ["format_bytes", "format_seconds", "names", "prediction", "print_results", "report", "result", "timings"]


def format_seconds(seconds: float) -> str:
    """Return a duration with four digits in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def format_bytes(count: int | None) -> str:
    """Return a number of bytes to the byte, since a single one too many makes a plan illegal."""
    return "" if count is None else f"{count:,} B"


def names(variants: Sequence[Variant]) -> dict[str, Variant]:
    """Return the shortest name of each variant by which `show` finds it: its label, where that is unique."""
    labels = Counter(variant.plan.label for variant in variants)
    return {variant.plan.label if labels[variant.plan.label] == 1 else variant.name: variant for variant in variants}


def prediction(variant: Variant, spec: Any) -> dict[str, Any] | None:
    """Return the predicted time of a legal variant for the configuration's first benchmark problem."""
    from warpwright.families import target
    from warpwright.plan.prediction import extents_of

    plan = variant.plan
    if not plan.legal:
        return None
    problem = spec.bench["problems"][0]
    predicted: dict[str, Any] = plain(target(plan.family, plan.arch).predict(plan, extents_of(problem)))
    return {**predicted, "problem": problem}


def timings(variant: Variant) -> list[dict[str, Any]]:
    """Return the measured times of a variant that is correct: per problem, seconds (median), speed, vendor ratio."""
    if variant.status != "correct":
        return []
    return [
        {
            "problem": figures["problem"],
            "seconds": figures["cold_us"]["median"] * 1e-6,
            "speed": figures["speed"],
            "rate": figures["rate"],
            "vendor_ratio": figures.get("peer", {}).get("ratio"),
        }
        for evidence in variant.judgement.valid
        if evidence.method == "benchmarked"
        for figures in evidence.figures.get("problems", ())
    ]


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
        "measured": timings(variant),
        "evidence": variant.judgement.evidence,
        "status": variant.status,
        "reasons": variant.reasons(),
        "stale": [{"method": evidence.method, "because": why} for evidence, why in variant.judgement.stale],
        "methods": {
            evidence.method: {"status": evidence.status, "origin": evidence.origin, "gpu": plain(evidence.gpu)}
            for evidence in variant.judgement.valid
        },
    }


def report(exploration: Exploration, as_json: bool) -> NoReturn:
    """Print what is known about every variant, as a table or as data, and end with the exit code that it means."""
    if as_json:
        print_json(
            {
                "config": exploration.label,
                "name": exploration.spec.name,
                "variants": [result(variant, exploration.spec) for variant in exploration.variants],
            }
        )
    else:
        print_results(exploration)
    raise typer.Exit(exit_code(exploration.variants))


def print_results(exploration: Exploration) -> None:
    """Print the table of a run on stdout, and on stderr what it adds up to and what needs attention."""
    spec = exploration.spec
    timed = any(timings(variant) for variant in exploration.variants)
    rows = []
    for name, variant in names(exploration.variants).items():
        facts = result(variant, spec)
        rows.append(
            [
                name,
                "yes" if facts["legal"] else "no: " + ", ".join(v["rule"] for v in facts["violations"]),
                format_bytes(facts["shared_bytes"]),
                "" if facts["registers"] is None else str(facts["registers"]),
                "" if facts["spill_bytes"] is None else str(facts["spill_bytes"]),
                format_seconds(facts["predicted"]["seconds"]) if facts["predicted"] else "",
                *(_measured(facts, spec.bench["problems"][0]) if timed else ()),
                facts["evidence"],
                facts["status"],
            ]
        )
    numbers = ["shared memory", "registers", "spills", "predicted", *(["measured", "vs vendor"] if timed else [])]
    print_table(["variant", "legal", *numbers, "evidence", "status"], rows, right=numbers, styles="status")
    _say_attention(exploration)
    _say_sum(exploration)


def _measured(facts: dict[str, Any], problem: Any) -> tuple[str, str]:
    """Return the time measured for a problem, and the vendor library's time over it: above 1 is faster than it."""
    for timing in facts["measured"]:
        if timing["problem"] == problem:
            ratio = timing["vendor_ratio"]
            return format_seconds(timing["seconds"]), "" if ratio is None else f"{ratio:.3f}"
    return "", ""


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


def _say_sum(exploration: Exploration) -> None:
    statuses = Counter(variant.status for variant in exploration.variants)
    levels = Counter(variant.judgement.evidence for variant in exploration.legal)
    problem = exploration.spec.bench["problems"][0]
    parts = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    proved = ", ".join(f"{number} {level}" for level, number in levels.items())
    say(f"{count(len(exploration.variants), 'variant')}: {parts}" + (f"; evidence: {proved}" if proved else ""))
    extents = " ".join(f"{mode.upper()}={extent}" for mode, extent in problem.items())
    say(f"times are for {extents}; predicted ones are for an H200 (`warpwright explain` says what they are made of)")
    say(f"variants are in {exploration.folder}")
    if statuses["illegal"]:
        say(f"why points are illegal: warpwright plan {exploration.typed}")
