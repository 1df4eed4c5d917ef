"""What `warpwright check` exits with, by what the program and its launches came to."""

from __future__ import annotations

from typing import Any

import pytest

from warpwright.cli.check import _code

RIGHT: dict[str, Any] = {"status": "correct", "ended": "returned", "code": 0, "launches": [{}]}


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({}, 0),
        ({"ended": "exited"}, 0),
        ({"ended": "exited", "code": 3}, 1),
        ({"ended": "raised"}, 1),
        ({"ended": "raised", "launches": []}, 1),
        ({"status": "race", "ended": "stopped"}, 1),
        ({"status": "incorrect"}, 1),
        ({"ended": "unsupported"}, 2),
        ({"ended": "unsupported", "launches": []}, 2),
        ({"status": "race", "ended": "unsupported"}, 1),
        ({"launches": []}, 2),
    ],
)
def test_nothing_that_is_wrong_or_was_not_checked_exits_with_zero(other: dict[str, Any], code: int) -> None:
    assert _code({**RIGHT, **other}) == code
