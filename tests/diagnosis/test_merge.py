"""Marks in a kernel that a person has edited: both changes are there, and what is both's is told."""

from __future__ import annotations

import pytest

from warpwright.diagnosis.merge import merged
from warpwright.errors import UserError

COMMON = "a = 1\nwait(x)\nuse(x)\nrelease(x)\nend\n"
TWIN = "a = 1\nmark(X_WAIT, 1)\nwait(x)\nmark(X_GOT, 1)\nuse(x)\nrelease(x)\nmark(X_RELEASED, 1)\nend\n"


def test_nothing_edited_is_the_twin() -> None:
    assert merged(COMMON, COMMON, TWIN) == TWIN


def test_an_edit_beside_marks() -> None:
    edited = COMMON.replace("use(x)", "use(y)").replace("a = 1", "a = 2")
    assert merged(COMMON, edited, TWIN) == TWIN.replace("use(x)", "use(y)").replace("a = 1", "a = 2")


def test_what_is_put_beside_a_wait_is_not_a_part_of_it() -> None:
    before = merged(COMMON, COMMON.replace("wait(x)", "sync()\nwait(x)"), TWIN)
    assert "a = 1\nsync()\nmark(X_WAIT, 1)\nwait(x)\n" in before
    after = merged(COMMON, COMMON.replace("wait(x)\n", "wait(x)\nsync()\n"), TWIN)
    assert "wait(x)\nmark(X_GOT, 1)\nsync()\nuse(x)\n" in after


def test_lines_that_both_change() -> None:
    twin = TWIN.replace("a = 1", "a = 1, notes")
    with pytest.raises(UserError, match="line 1 of the kernel as rendered, 'a = 1', is edited"):
        merged(COMMON, COMMON.replace("a = 1", "a = 3"), twin)
