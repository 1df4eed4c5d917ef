"""What holds for every rendered kernel: clean Python, of a length to read, the same bytes wherever it is rendered."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plan.space import legal_plans, point
from tests.render.conftest import CASES, CONFIG
from warpwright.canonical import digest, plain
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point
from warpwright.render import render
from warpwright.resources import checkout

#: Lines without and with an epilogue chain: no more than these, and 400 is the aim.
PLAIN_LINES, CHAIN_LINES = 420, 530
ILLEGAL = {"design.tile.m": 65}


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    """The golden points and a hundred more."""
    return [*(plan(point(changes)) for changes in CASES.values()), *legal_plans(seed=21, count=100)]


def ruff(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "--isolated", "--line-length=120", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_kernels_are_clean_python(sample, tmp_path):
    for number, planned in enumerate(sample):
        text = render(planned, CONFIG)
        compile(text, planned.label, "exec", dont_inherit=True)
        (tmp_path / f"kernel_{number}.py").write_text(text)
    found = ruff(tmp_path, "check", "--select=E,F,W,B", "--output-format=concise")
    assert found.returncode == 0, found.stdout + found.stderr


def test_nothing_of_the_template_shows(sample):
    for planned in sample:
        text = render(planned, CONFIG)
        assert not re.search(r"\{\{|\}\}|\{%|%\}|\{#|#\}", text)
        assert not re.search(r"\n\n\n\n|[ \t]\n|\t", text)
        assert not re.search(r"^\s*if (True|False|const_expr)\b", text, re.MULTILINE)
        assert text.endswith(")\n")
        assert "/work" not in text
        assert str(checkout()) not in text


def test_only_what_is_used_is_rendered(sample):
    """A constant or a function that nothing else mentions is no part of a kernel written by hand."""
    for planned in sample:
        text = render(planned, CONFIG)
        body = re.sub(r"#.*", "", text.split("class SharedStorage")[1])
        assigned = {constant.name for constant in planned.constants}
        unused = {name for name in assigned if not re.search(rf"\b{name}\b", body)}
        assert not unused, (planned.label, unused)


def test_plain_kernels_are_short(sample):
    for planned in sample:
        lines = render(planned, CONFIG).count("\n")
        simple = not planned.point["kernel"]["epilogue"]
        assert lines <= (PLAIN_LINES if simple else CHAIN_LINES), planned.label


def test_an_illegal_plan_is_not_rendered():
    with pytest.raises(ValueError, match=r"is illegal: design.tile.m = 65: "):
        render(plan(point(ILLEGAL)), CONFIG)


def test_the_configuration_s_name_is_not_evaluated():
    text = render(plan(point()), "{{ 7 * 7 }}{% raw %}.yaml")
    assert "configuration  {{ 7 * 7 }}{% raw %}.yaml\n" in text


SCRIPT = """
import json, sys
from warpwright.canonical import digest
from warpwright.plan import plan
from warpwright.point import Point
from warpwright.render import render
points = [Point.model_validate(data, strict=False) for data in json.load(sys.stdin)]
print(json.dumps([digest(render(plan(p), sys.argv[1])) for p in points]))
"""


@pytest.mark.parametrize("seed", ["0", "4242"])
def test_the_same_plan_gives_the_same_bytes_everywhere(tmp_path, seed):
    points = [point(changes) for changes in CASES.values()]
    here = [digest(render(plan(p), CONFIG)) for p in points]
    assert here == [digest(render(plan(Point.model_validate(plain(p), strict=False)), CONFIG)) for p in points]
    top = checkout()
    assert top is not None
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(top), "LC_ALL": "C", "COLUMNS": "40"}
    command = [sys.executable, "-c", SCRIPT, CONFIG]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, input=json.dumps(plain(points)), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == here
