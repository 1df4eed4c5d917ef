"""A few complete kernels, as they are rendered: what a change of plan, template or operation does to them shows here.

To renew the files after a change that is meant: WARPWRIGHT_GOLDEN=update pytest tests/render
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest

from tests.render.conftest import CASES, CONFIG
from warpwright.plan import identity
from warpwright.render import render

GOLDEN = Path(__file__).with_name("golden")
UPDATE = os.environ.get("WARPWRIGHT_GOLDEN") == "update"


def test_kernels_are_as_they_were(name, planned):
    text, file = render(planned, CONFIG), GOLDEN / f"{name}.py"
    if UPDATE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    before = file.read_text() if file.exists() else ""
    if text != before:
        changes = difflib.unified_diff(
            before.splitlines(), text.splitlines(), f"golden/{name}.py", "rendered", "", "", 2
        )
        pytest.fail("\n".join(changes) + "\n\nIf this is meant: WARPWRIGHT_GOLDEN=update pytest tests/render", False)


def test_there_is_no_other_golden_file():
    assert {file.stem for file in GOLDEN.glob("*")} == set(CASES)


def test_the_header_says_what_it_is_and_how_to_renew_it(name, planned):
    text = render(planned, CONFIG)
    header = text.split('"""')[1]
    assert f"regenerate     warpwright generate {CONFIG} --only {identity(planned)[:8]}\n" in header
    for part in (planned.label, f"Shared memory: {planned.shared_bytes} of 232448 B", "nvidia-cutlass-dsl 4."):
        assert part in header
    for thing in (*planned.buffers, *planned.barriers, *planned.roles):
        assert f"    {thing.name} " in header
    for constant in planned.constants:
        assert f"\n{constant.name} = {constant.value} " in text
        assert f"# {constant.formula}\n" in text
