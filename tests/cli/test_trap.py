"""Every command in a folder whose files are called like all modules there are: none of them is ever executed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checking.programs import PROGRAMS
from warpwright.record import folders_in

pytestmark = pytest.mark.slow

#: Beside the standard library's: what this package needs, what that needs, what Python looks for, and tools.
MODULES = (
    "numpy", "ml_dtypes", "cutlass", "cuda", "tvm_ffi", "torch", "jinja2", "markupsafe", "yaml", "_yaml", "pydantic",
    "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection", "typer", "click", "rich", "pygments",
    "markdown_it", "mdurl", "shellingham", "pip", "setuptools", "pkg_resources", "wheel", "_distutils_hack",
    "sitecustomize", "usercustomize", "warpwright", "kernel", "tests", "conftest", "scipy", "cupy", "jax", "colorama",
)  # fmt: skip
#: One small variant.
CONFIG = """\
version: 1
name: tiny
purpose: A copy, as small as there is.
kernel: {family: copy, arch: sm_90a, x: {dtype: f16}, y: {dtype: f32}}
design: {stage_bytes: 4096}
"""
#: In this order; NAME is the variant's. What each must end with, and where it has more to do than to tell, in what.
LINES = [
    ("--version", 0), ("--help", 0), ("new mine.yaml --family copy", 0), ("schema s.json", 0), ("rules", 0),
    ("plan tiny.yaml", 0), ("generate tiny.yaml", 0), ("build tiny.yaml --again", 0), ("run tiny.yaml", 0),
    ("emulate NAME --again", 0), ("emulate NAME --trace t.json", 0), ("explain NAME", 0), ("list", 0), ("show NAME", 0),
    ("ledger tiny.yaml", 0), ("verify tiny.yaml --against out/ledger/tiny.jsonl", None), ("clean tiny.yaml", 0),
    ("bundle tiny.yaml --to bundle", None), ("import bundle/results.jsonl", 2), ("validate tiny.yaml", None),
    ("check PROGRAM", 0), ("doctor", None), ("ci tiny.yaml", None),
]  # fmt: skip


def test_nothing_is_executed_from_the_current_directory(tmp_path: Path) -> None:
    trap, marks, script = tmp_path / "trap", tmp_path / "marks", tmp_path / "bin" / "warpwright"
    for folder in (trap, marks, script.parent):
        folder.mkdir()
    for name in {*sys.stdlib_module_names, *MODULES}:
        (trap / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w').close()\n")
    (trap / "tiny.yaml").write_text(CONFIG)
    # As pip writes it.
    script.write_text("import sys\nfrom warpwright.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n")
    path = os.pathsep.join(entry for entry in map(os.path.abspath, filter(None, sys.path)))
    env = {**os.environ, "PYTHONPATH": path, "WARPWRIGHT_CACHE": str(tmp_path / "cache")}
    for line, code in LINES:
        found = folders_in(trap / "out" / "tiny")
        names = {"NAME": found[0].path.name if found else "", "PROGRAM": str(PROGRAMS / "vector_add.py")}
        words = [names.get(word, word) for word in line.split()]
        done = subprocess.run([sys.executable, str(script), *words], cwd=trap, env=env, capture_output=True, text=True)
        assert [mark.name for mark in marks.iterdir()] == [], line
        assert "Traceback" not in done.stderr, (line, done.stderr)
        assert done.returncode in ((0, 1, 2) if code is None else (code,)), (line, done.stderr)


def test_the_trap_closes(tmp_path: Path) -> None:
    """Where Python is told to look there, it executes what lies there."""
    (tmp_path / "numpy.py").write_text("open('mark', 'w').close()\n")
    subprocess.run([sys.executable, "-c", "import numpy"], cwd=tmp_path, check=True)
    assert (tmp_path / "mark").exists()
