"""docs/rules.md is what the predicates say. To renew it: WARPWRIGHT_GOLDEN=update pytest tests/plan"""

from __future__ import annotations

import os
from pathlib import Path

from warpwright.plan import rules
from warpwright.plan.rules_page import rules_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
UPDATE = os.environ.get("WARPWRIGHT_GOLDEN") == "update"  # read before any test changes the environment


def test_the_page_is_up_to_date():
    if UPDATE:
        PAGE.write_text(rules_page())
    assert PAGE.read_text() == rules_page(), (
        "if the rules were meant to change: WARPWRIGHT_GOLDEN=update pytest tests/plan"
    )


def test_it_has_every_rule():
    text = rules_page()
    for (family, arch), found in rules().items():
        assert f"## {family}, {arch}\n" in text
        for rule in found:
            assert f"| `{rule.id}` | `{rule.field}` | {rule.statement} |\n" in text
            assert "|" not in rule.statement
