"""Numbers out of every range come back as messages: from YAML where a field has a bound, else from a rule."""

from __future__ import annotations

import pytest
import yaml

from tests.plan.space import DEFAULT
from warpwright.plan import plan
from warpwright.spec import SpecErrors, load

HEAD = {"version": 1, "name": "numbers", "purpose": "numbers out of range"}
BELOW = (-1, 0, -(10**9))
HUGE = (10**9, 2**63 - 1)
BOUNDED = (
    "design.tile.m",
    "design.tile.n",
    "design.tile.k",
    "design.cluster.m",
    "design.cluster.n",
    "design.stages",
    "design.producer_warps",
    "design.consumer_warps",
    "design.scheduler.group",
    "design.epilogue_n",
    "design.epilogue_stages",
)


def load_with(tmp_path, path, value):
    file = tmp_path / "numbers.yaml"
    file.write_text(yaml.safe_dump(HEAD | DEFAULT | {"sweep": {path: [value]}}))
    return load(file)


@pytest.mark.parametrize("value", [*BELOW, 10**30])
@pytest.mark.parametrize("path", BOUNDED)
def test_numbers_out_of_a_field_s_bounds_are_refused_where_they_stand(tmp_path, path, value):
    with pytest.raises(SpecErrors) as caught:
        load_with(tmp_path, path, value)
    assert path in str(caught.value)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("path", BOUNDED)
def test_huge_numbers_are_illegal_and_named(tmp_path, path, value):
    (point,) = load_with(tmp_path, path, value).points()
    found = plan(point).violations
    assert any(path.startswith(violation.field) and str(value) in violation.value for violation in found), found


@pytest.mark.parametrize("value", [*BELOW, *HUGE])
@pytest.mark.parametrize("side", ["producer", "consumer"])
def test_registers_out_of_range_are_illegal_and_named(tmp_path, side, value):
    registers = {"producer": 40, "consumer": 232} | {side: value}
    (point,) = load_with(tmp_path, "design.registers", registers).points()
    (violation,) = [v for v in plan(point).violations if v.rule == "registers.split"]
    assert str(value) in violation.value
    assert violation.nearest == "auto"
