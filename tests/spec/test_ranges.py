"""Ranges of a sweep: what they stand for, what is wrong with one, and that an editor knows them."""

from __future__ import annotations

import jsonschema
import pytest
import yaml

from tests.spec.conftest import edited
from warpwright.spec import json_schema


@pytest.mark.parametrize(("text", "values"), [
    ("{from: 2, to: 5}", [2, 3, 4, 5]), ("{from: 2, to: 2}", [2]), ("{from: 2, to: 8, step: 3}", [2, 5, 8]),
    ("{from: 2, to: 3, step: 1}", [2, 3]), ("[auto, {from: 2, to: 3}, 7]", ["auto", 2, 3, 7]),
    ("[{from: 2, to: 4, step: 2}, {from: 3, to: 4}]", [2, 4, 3]), ("[{to: 3, from: 2}]", [2, 3]),
])  # fmt: skip
def test_a_range_is_its_values(load_edited, text, values):
    spec = load_edited({16: f"  design.stages: {text}", 17: ""})
    assert [point.design.stages for point in spec.points()] == values


def test_a_range_of_a_nested_field(load_edited):
    points = load_edited({16: "  design.tile.n: {from: 64, to: 256, step: 64}", 17: ""}).points()
    assert [point.design.tile.n for point in points] == [64, 128, 192, 256]


@pytest.mark.parametrize(("text", "told"), [
    ("{from: 2}", [("design.stages.to", None, "missing: a range has a first value (from) and a last one (to)", "")]),
    ("{from: 2, to: 9, step: 2}", [("design.stages.to", "9", "not reached from 2 in steps of 2", "8")]),
    ("{from: 5, to: 2}", [("design.stages.to", "2", "a range goes up, and this one begins at 5", "5")]),
    ("{from: 2, to: 4, step: 0}", [("design.stages.step", "0", "a whole number of 1 or more", "1")]),
    ("{from: 2, to: 4, step: -1}", [("design.stages.step", "-1", "a whole number of 1 or more", "1")]),
    ("{from: 0, to: 4}", [("design.stages", "0", "auto, or a whole number of 1 or more", "")]),
    ("{from: two, to: 4}", [("design.stages.from", "two", "a whole number", "")]),
    ("{from: 2.0, to: 4}", [("design.stages.from", "2.0", "a whole number", "2")]),
    ("{from: 2, to: '4'}", [("design.stages.to", '"4"', "a whole number", "4")]),
    ("{from: 2, to: true}", [("design.stages.to", "true", "a whole number", "")]),
    ("{from: 2, to: 1e1}", [("design.stages", "1e1", "exponents", "10")]),
    ("{from: 2, til: 4}", [
        ("design.stages.to", None, "missing", ""),
        ("design.stages.til", None, "unknown key: a range has from, to", ""),
    ]),
    ("{from: 2, to: 4, steps: 2}", [("design.stages.steps", None, "unknown key", "step")]),
    ("{from: 1, to: 10001}", [("design.stages.to", "10001", "at most 10,000 values, and these are 10,001", "10000")]),
    ("{from: 1, to: 9223372036854775807}", [("design.stages.to", "9223372036854775807", "at most 10,000", "10000")]),
    ("[3, {from: 2, to: 1e1}]", [("design.stages", "1e1", "exponents", "10")]),
    ("[3, {from: 5, to: 2}]", [("design.stages.to", "2", "a range goes up", "5")]),
    ("{}", [("design.stages.from", None, "missing", ""), ("design.stages.to", None, "missing", "")]),
    ("2..8", [("design.stages", "2..8", "or a range {from: .., to: ..}", "{from: 2, to: 8}")]),
    ("range(2, 9)", [("design.stages", "range(2, 9)", "or a range", "{from: 2, to: 8}")]),
    ("range(2, 9, 3)", [("design.stages", "range(2, 9, 3)", "or a range", "{from: 2, to: 8, step: 3}")]),
    ("0..8", [("design.stages", "0..8", "or a range", "")]),
    ("8..2", [("design.stages", "8..2", "or a range", "")]),
])  # fmt: skip
def test_what_is_wrong_with_a_range(mistakes, text, told):
    errors = mistakes({16: f"  design.stages: {text}", 17: ""}).errors
    assert [(e.key, e.value, e.nearest) for e in errors] == [(key, value, near) for key, value, _, near in told]
    assert all(rule in error.rule for error, (_, _, rule, _) in zip(errors, told, strict=True))
    assert all(error.line == 16 for error in errors)


@pytest.mark.parametrize("line", ["  design.schedule: {from: 2, to: 3}", "  design.cluster: {from: 1, to: 2}"])
def test_only_numbers_have_ranges(mistakes, line):
    assert mistakes({16: line, 17: ""}).errors


def test_outside_the_sweep_the_way_is_told(mistakes):
    (error,) = mistakes({14: "  stages: {from: 2, to: 3}"}).errors
    assert error.rule.endswith(": several values stand in `sweep`")


@pytest.mark.parametrize(("text", "good"), [
    ("{from: 2, to: 5}", True), ("[auto, {from: 2, to: 5, step: 3}]", True), ("{from: 2}", False),
    ("{from: 2, to: x}", False), ("{from: 2, to: 4, by: 2}", False), ("{from: 2, to: 4, step: 0}", False),
])  # fmt: skip
def test_an_editor_knows_ranges(text, good):
    document = yaml.safe_load(edited({16: f"  design.stages: {text}", 17: ""}))
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(document) is good


def test_an_editor_knows_that_texts_have_none():
    document = yaml.safe_load(edited({16: "  design.schedule: {from: 2, to: 3}", 17: ""}))
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(document)
