"""Writes the rules page of the documentation from the predicates themselves."""

from __future__ import annotations

from warpwright.plan import rules

__all__ = ["rules_page"]

_HEAD = """\
# Rules

What makes a point legal. Each rule is one predicate; a point that breaks it is reported with the value, the limit and
the nearest legal value. `warpwright rules` prints this list; `warpwright plan FILE` says how many points each removed.
"""


def rules_page() -> str:
    """Return the page as Markdown, in the order in which rules are evaluated."""
    sections = [_HEAD]
    for (family, arch), found in rules().items():
        rows = [f"| `{rule.id}` | `{rule.field}` | {rule.statement} |" for rule in found]
        sections.append(
            "\n".join([f"## {family}, {arch}\n", "| rule | field | statement |", "|---|---|---|", *rows, ""])
        )
    return "\n".join(sections)
