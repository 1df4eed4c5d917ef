"""A few complete kernels, as they are rendered: what a change of plan, template or operation does to them shows here.

To renew the files after a change that is meant: python -m tests.render.golden
"""

from __future__ import annotations

import pytest

from tests.render.golden import FOLDER, difference, golden
from warpwright.render import render


def test_kernels_are_as_they_were(name, planned):
    if changes := difference(FOLDER / f"{name}.py", render(planned)):
        pytest.fail(changes, False)


def test_there_is_no_other_golden_file():
    files = golden()
    assert {found for folder in {file.parent for file in files} for found in folder.glob("*")} == set(files)


def test_the_header_says_what_it_is_and_how_to_renew_it(name, planned):
    text = render(planned)
    header = text.split('"""')[1]
    assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    assert f"regenerate     warpwright generate CONFIG --only {planned.identity[:8]}\n" in header
    for part in (planned.label, f"Shared memory: {planned.shared_bytes} of 232448 B", "nvidia-cutlass-dsl 4."):
        assert part in header
    for thing in (*planned.main.buffers, *planned.main.barriers, *planned.main.roles):
        assert f"    {thing.name} " in header
    for constant in planned.constants:
        assert f"\n{constant.name} = {constant.expression or constant.value}  # {constant.note}\n" in text
