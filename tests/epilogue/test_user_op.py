"""The worked example of docs/epilogue.md, taken out of the page, goes the whole way from YAML to a built kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import invoke
from tests.plan.space import point
from warpwright.build import BuildJob, build
from warpwright.build.cache import Cache
from warpwright.epilogue import registry
from warpwright.epilogue.registry import OPS_VARIABLE
from warpwright.plan import plan
from warpwright.render import render
from warpwright.spec import load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "epilogue.md"

RESIDUAL = """\
from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp, EpilogueOperand

OP = EpilogueOp(
    name="residual",
    summary="x + R",
    operands=(EpilogueOperand("residual", "tile"),),
    code="x = x + residual",
    reference=lambda xp, x, o: x + o["residual"],
    error=lambda xp, x, e, o: e + F32_ROUNDOFF * (xp.abs(x + o["residual"]) + e),
)
"""

RELAY = """\
from warpwright.epilogue.op import EpilogueOp

OP = EpilogueOp(
    name="relay",
    summary="2 * x, the 2 by way of shared memory",
    shared_bytes=3 * 128 * 4,
    code=(
        "cells = cute.make_tensor(cute.recast_ptr(scratch, dtype=Float32), cute.make_layout(3 * 128))\\n"
        "cells[consumer * 128 + thread] = Float32(2.0)\\n"
        "x = x * cells[consumer * 128 + thread]"
    ),
    reference=lambda xp, x, o: 2.0 * x,
    error=lambda xp, x, e, o: 2.0 * e,
)
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's YAML file, with its operation (and another one) in place."""
    (operation,) = blocks("python")
    (config,) = [block for block in blocks("yaml") if block.startswith("version: 1")]
    ops = tmp_path / "ops"
    ops.mkdir()
    (ops / "scale_n.py").write_text(operation)
    (ops / "residual.py").write_text(RESIDUAL)
    (ops / "relay.py").write_text(RELAY)
    monkeypatch.setenv(OPS_VARIABLE, str(ops))
    file = tmp_path / "scaled.yaml"
    file.write_text(config)
    return file


@pytest.mark.slow
def test_the_example_of_the_page_is_built(example, tmp_path):
    (from_yaml,) = load(example).points()
    # A matrix of a name of its own, that no scalar switches off, and the operands of one operation twice.
    twice = ["alpha", "scale_n", "residual", "alpha", {"op": "scale_n", "dtype": "f16"}]
    from_python = point({"kernel.epilogue": twice, "kernel.c": {"dtype": "bf16", "major": "m"}, "design.stages": 2})
    plans = [plan(from_yaml), plan(from_python)]
    texts = [render(planned) for planned in plans]
    assert "x = x * scale_n\n" in texts[0]
    assert "D = relu(A B * scale[n])\n" in texts[0]
    assert "D = (alpha * (alpha * A B * scale[n] + R)) * scale[n]\n" in texts[1]
    jobs = [BuildJob(text, p, tmp_path / str(n)) for n, (text, p) in enumerate(zip(texts, plans, strict=True))]
    for artifact, planned in zip(build(jobs, workers=2, cache=Cache(tmp_path / "cache")), plans, strict=True):
        assert artifact.status is None, (artifact.failure, artifact.findings)
        assert artifact.dynamic_shared_bytes == planned.shared_bytes
    assert [a.name for a in plans[0].arguments] == ["a", "b", "d", "scale_n", "max_clusters"]
    assert [a.name for a in plans[1].arguments] == [
        "a", "b", "residual", "d", "scale_n_1", "scale_n_2", "alpha_1", "alpha_2", "max_clusters",
    ]  # fmt: skip


def test_the_page_lists_every_operation(example):
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert listed == set(registry.names()) - {"scale_n", "residual", "relay"}


@pytest.mark.slow
def test_an_operation_gets_the_shared_memory_that_it_declares(example, tmp_path):
    planned = plan(point({"kernel.epilogue": ["relay", "relu", "relay"], "design.stages": 2}))
    scratch = {b.name: b for b in planned.main.buffers if b.name.startswith("scratch")}
    assert {name: (b.bytes, b.offset % 16) for name, b in scratch.items()} == {
        "scratch_1": (1536, 0),
        "scratch_3": (1536, 0),
    }
    text = render(planned)
    assert "scratch = storage.scratch_1.data_ptr()" in text
    assert "scratch = storage.scratch_3.data_ptr()" in text
    (artifact,) = build([BuildJob(text, planned, tmp_path / "relay")], 1, cache=Cache(tmp_path / "cache"))
    assert artifact.findings == ()
    assert artifact.dynamic_shared_bytes == planned.shared_bytes


def test_an_idle_bound_is_told_as_other_messages_are(example, tmp_path):
    operation = tmp_path / "ops" / "scale_n.py"
    assert "error is no bound" not in invoke("plan", example).stderr
    other = tmp_path / "other"
    other.mkdir()
    text = operation.read_text()
    error = re.search(r"    error=.*\n", text).group()
    (other / "scale_n.py").write_text(text.replace(error, "    error=lambda xp, x, e, o: e + 0.1 * xp.abs(x),\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OPS_VARIABLE, str(other))
        result = invoke("plan", example)
    assert result.exit_code == 0
    (line,) = [line for line in result.stderr.splitlines() if "error is no bound" in line]
    assert re.match(rf"warning: {re.escape(str(other))}/scale_n.py: error is no bound of use at x = \S+, exact: ", line)
    assert "error is no bound" not in result.stdout
