"""JSON that Python would read without a word, and that means nothing here."""

from __future__ import annotations

import json

import pytest

from warpwright.record.strict import DEEPEST, parse_json


def test_what_is_plain_is_read() -> None:
    value = {"a": [1, -2.5, True, None, "x"], "b": {"c": {}}, "d": 2**64 - 1, "e": -(2**63), "f": 1e-300}
    assert parse_json(json.dumps(value)) == value
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert parse_json(deep) == json.loads(deep)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' is there twice"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ('{"a": -Infinity}', "-Infinity is no number of JSON"),
        ('{"a": 1e400}', "1e400 is beyond every number"),
        ('{"a": -1e400}', "-1e400 is beyond every number"),
        ('{"a": 18446744073709551616}', "the integer 18446744073709551616 is beyond 64 bits"),
        (f'{{"a": {"9" * 10000}}}', f"the integer {'9' * 40} is beyond 64 bits"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), f"nested more than {DEEPEST} levels deep"),
        ("[" * 100_000 + "]" * 100_000, f"nested more than {DEEPEST} levels deep"),
        ('{"a":' * 100_000, f"nested more than {DEEPEST} levels deep"),
        ('{"a": tru', "not JSON: expecting value at character 7"),
        ("", "not JSON: expecting value at character 1"),
    ],
)
def test_what_means_nothing_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        parse_json(text)
    assert str(raised.value) == told
