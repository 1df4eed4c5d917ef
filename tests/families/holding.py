"""What holds of every family's plans and rendered kernels, for the tests of each."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warpwright import families
from warpwright.canonical import plain
from warpwright.dtypes import dtype
from warpwright.plan.explanation import explain
from warpwright.plan.stored import plan_from_json
from warpwright.plan.types import KernelPlan, Plan
from warpwright.point import Point
from warpwright.render import render

__all__ = ["calls_each", "check_buffers", "check_constants", "check_illegal", "check_python", "check_used"]


def check_constants(plan: Plan) -> dict[str, Any]:
    """Each constant is what its expression gives over those before it, and the template knows these names; the plan is
    read back as it was. Return the values by name."""
    numbers: dict[str, Any] = {}
    for constant in plan.constants:
        numbers[constant.name] = eval(constant.expression or str(constant.value), {"max": max, "min": min}, numbers)
        assert numbers[constant.name] == constant.value, constant
    assert plan_from_json(plain(plan)) == plan
    assert families.target(plan.family, plan.arch).words(plan)["names"] == set(numbers)
    return numbers


def check_buffers(kernel: KernelPlan) -> int:
    """Buffers lie apart, aligned, and are as large as their shape. Return where the last one ends."""
    end = 0
    for buffer in kernel.buffers:
        assert buffer.offset >= end
        assert buffer.offset % buffer.alignment == 0
        assert buffer.bytes == math.prod(buffer.shape) * dtype(buffer.dtype).bytes
        end = buffer.offset + buffer.bytes
    return end


def calls_each(plan: Callable[[Point], Plan], points: Sequence[Point]) -> float:
    """Calls that it takes to plan a point, on average."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for point in points:
            plan(point)
    finally:
        sys.setprofile(before)
    return calls / len(points)


def check_illegal(plan: Plan, extents: Mapping[str, int]) -> None:
    """An illegal plan has no tables, and its explanation for a problem has every reason."""
    assert plan.kernels == plan.arguments == plan.constants == ()
    text = explain(plan, extents)
    for violation in plan.violations:
        assert all((violation.field, violation.value, violation.limit, violation.nearest))
        assert violation.message in text


def check_python(plans: Iterable[Plan], folder: Path) -> None:
    """Rendered kernels are clean Python as the formatter leaves it; they are written into `folder`.

    The tables of the head may be wider than lines of code.
    """
    for number, plan in enumerate(plans):
        before, head, code = render(plan).split('"""', 2)
        narrow = "\n".join(line[:120].rstrip() for line in head.split("\n"))
        (folder / f"kernel_{number}.py").write_text(f'{before}"""{narrow}"""{code}')
    for command in (["check", "--select=E,F,W,B", "--output-format=concise"], ["format", "--check"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--no-cache", "--isolated", "--line-length=120", "."]
        found = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
        assert found.returncode == 0, found.stdout + found.stderr


def check_used(plan: Plan, lines: int) -> str:
    """A kernel has fewer than `lines` lines, nothing of the template's, and no name that is not used. Return its code,
    without the header and comments."""
    text = render(plan)
    assert text.count("\n") < lines, plan.label
    assert not re.search(r"\{\{|\}\}|\{%|%\}|\{#|#\}|\n\n\n\n|[ \t]\n|\t", text)
    code = re.sub(r"#.*", "", text.split('"""', 2)[2])
    names = [constant.name for constant in plan.constants] + re.findall(r"^(?:def|class) (\w+)", code, re.M)
    words = Counter(re.findall(r"\w+", code))
    assert not {name for name in names if words[name] < 2} - {plan.entry}, plan.label
    return code
