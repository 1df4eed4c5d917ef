"""What holds for every rendered kernel: clean Python, of a length to read, the same bytes wherever it is rendered."""

from __future__ import annotations

import ast
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.plan import tensor_space
from tests.plan.space import legal_plans, model, point
from tests.render.conftest import POINTS
from warpwright.canonical import digest, plain
from warpwright.dtypes import dtype
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.render import render
from warpwright.resources import checkout
from warpwright.spec import load

#: Lines without and with an epilogue chain: no more than these, and 400 is the aim.
PLAIN_LINES, CHAIN_LINES = 394, 492
#: For sm_100a below the head with its tables: of one CTA without a chain, and of any.
TENSOR_PLAIN_LINES, TENSOR_LINES = 349, 535
ILLEGAL = {"design.tile.m": 65}
#: What an expression of constants may call.
ARITHMETIC = {"__builtins__": {}, "max": max, "min": min, "range": range, "sum": sum}


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    """The golden points, all that ship, and a hundred more of each arch."""
    top = checkout()
    assert top is not None
    shipped = [plan(p) for file in sorted((top / "configs").glob("*.yaml")) for p in load(file).points()]
    legal = [planned for planned in shipped if planned.legal]
    more = [*legal_plans(seed=21, count=100), *tensor_space.legal_plans(seed=21, count=100)]
    return [*map(plan, POINTS.values()), *legal, *more]


@pytest.fixture(scope="module")
def rendered(sample: list[Plan]) -> list[tuple[Plan, str]]:
    """The same with their kernels."""
    return [(planned, render(planned)) for planned in sample]


def ruff(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "--isolated", "--line-length=120", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_kernels_are_as_ruff_format_leaves_them(rendered, tmp_path):
    for number, (_, text) in enumerate(rendered):
        (tmp_path / f"kernel_{number}.py").write_text(text)
    found = ruff(tmp_path, "format", "--diff")
    assert found.returncode == 0, found.stdout + found.stderr


#: What reaches behind the names that a module defines and imports.
BEHIND = {"__import__", "compile", "delattr", "eval", "exec", "getattr", "globals", "locals", "open", "setattr", "vars"}


def reaches_beyond(source: str) -> list[str]:
    """What a module does beside describing a kernel: it is imported in the process that hands over its PTX and cubin,
    and could alter the one, or ask which machine it is on."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [name for name in names if name.partition(".")[0] != "cutlass"]
        elif isinstance(node, ast.Name) and node.id in BEHIND:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and (node.attr.startswith("__") or isinstance(node.ctx, ast.Store)):
            found.append(f".{node.attr}")
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found += node.names
    return found


def test_kernels_describe_kernels_and_reach_for_nothing_else(rendered):
    for planned, text in rendered:
        assert reaches_beyond(text) == [], planned.label
    assert reaches_beyond("import os\nimport cutlass.cute as cute\ncute.compile = open(os.__file__)") == [
        "os",
        ".compile",
        "open",
        ".__file__",
    ]


def test_expressions_have_the_values_of_the_plan(sample):
    """A person changes TILE_N, and what follows from it follows: each constant over those before it, and no others."""
    for planned in sample:
        names: dict[str, object] = dict(ARITHMETIC)
        for constant in planned.constants:
            value = eval(constant.expression, names) if constant.expression else constant.value
            assert value == constant.value, (planned.label, constant)
            names[constant.name] = value


def test_the_declared_storage_is_the_map_of_the_plan(rendered):
    """Tensors have the size of their layouts: here that of the layouts' shapes, in a built kernel what the DSL says."""
    for planned, text in rendered:
        names = {constant.name: constant.value for constant in planned.constants}
        shapes = re.findall(r"^    (\w+) = smem_layout\(.*?, \w+, \((.*?)\), \(", text, re.MULTILINE)
        shapes += re.findall(r"^    (\w+)_layout = cute.make_layout\(\(?(.*?)\)+$", text, re.MULTILINE)
        sizes = {f"cute.cosize({tensor}_layout)": shape.replace(",", " *") for tensor, shape in shapes}
        fields = re.search(r"^class SharedStorage:\n((?:    .*\n)+)", text, re.MULTILINE)
        declared = re.findall(
            r"^    (\w+): (?:.*MemRange\[)?(\w+)(?:, (.*?)\].*)?$", fields[1] if fields else "", re.MULTILINE
        )
        buffers = [buffer for buffer in planned.main.buffers if buffer.space == "shared"]
        assert [name for name, _, _ in declared] == [buffer.name for buffer in buffers]
        for buffer, (_, kind, elements) in zip(buffers, declared, strict=True):
            element, size = dtype(buffer.dtype), sizes.get(elements, elements) or "1"
            assert kind == ("Int128" if buffer.name == "responses" else element.dsl)
            bits = 128 if kind == "Int128" else element.bits
            assert eval(size, {"__builtins__": {}}, names) * bits == 8 * buffer.bytes


def test_kernels_are_clean_python(rendered, tmp_path):
    for number, (planned, text) in enumerate(rendered):
        compile(text, planned.label, "exec", dont_inherit=True)
        (tmp_path / f"kernel_{number}.py").write_text(text)
    found = ruff(tmp_path, "check", "--select=E,F,W,B", "--output-format=concise")
    assert found.returncode == 0, found.stdout + found.stderr


def test_nothing_of_the_template_shows(rendered):
    for _, text in rendered:
        assert not re.search(r"\{\{|\}\}|\{%|%\}|\{#|#\}", text)
        assert not re.search(r"[ \t]\n|\t", text)
        assert not re.search(r"(//|%|\*) 1\b|range(_constexpr)?\(1\b|\[None, None, batch\]\[", text)
        assert not re.search(r"^\s*if (True|False|const_expr)\b", text, re.MULTILINE)
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert "/work" not in text
        assert str(checkout()) not in text


@pytest.mark.slow
def test_only_what_is_used_is_rendered(rendered):
    """A constant or a function that nothing else mentions is no part of a kernel written by hand."""
    for planned, text in rendered:
        code = re.sub(r"#.*", "", text.split('"""', 2)[2])
        names = [constant.name for constant in planned.constants]
        names += re.findall(r"^ *(?:def|class) (\w+)", code, re.MULTILINE)
        words = Counter(re.findall(r"\w+", code))
        unused = {name for name in names if words[name] < 2} - {planned.entry}
        assert not unused, (planned.label, unused)


def test_plain_kernels_are_short(rendered):
    for planned, text in rendered:
        lines = text.count("\n")
        if planned.main.tensor_memory:
            below = text.split('"""', 2)[2].count("\n")
            assert below <= TENSOR_LINES, planned.label
            clustered = math.prod(planned.main.cluster) > 1
            several = planned.design.epilogue_warps > 4 or planned.design.scheduler == "dynamic"
            several |= any(argument.block for argument in planned.arguments)
            if not (clustered or several or planned.kernel.get("epilogue")):
                assert below <= TENSOR_PLAIN_LINES, planned.label
            continue
        simple = not planned.kernel.get("epilogue")
        assert lines <= (PLAIN_LINES if simple else CHAIN_LINES), planned.label


def test_an_illegal_plan_is_not_rendered():
    with pytest.raises(ValueError, match=r"is illegal: design.tile.m = 65: "):
        render(plan(point(ILLEGAL)))


SCRIPT = """
import json, sys
from warpwright.canonical import digest
from warpwright.plan import plan
from warpwright.render import render
from tests.plan.space import model
print(json.dumps([digest(render(plan(model(data, data["arch"])))) for data in json.load(sys.stdin)]))
"""


@pytest.mark.parametrize("seed", ["0", "4242"])
def test_the_same_plan_gives_the_same_bytes_everywhere(tmp_path, seed):
    points = [*POINTS.values()]
    here = [digest(render(plan(p))) for p in points]
    assert here == [digest(render(plan(model(plain(p), p.arch)))) for p in points]
    top = checkout()
    assert top is not None
    path = os.pathsep.join((str(top), str(top / "generator")))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path, "LC_ALL": "C", "COLUMNS": "40"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, input=json.dumps(plain(points)), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == here
