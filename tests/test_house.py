"""The order of the house: who may import whom, and that the chain knows no kernel."""

from __future__ import annotations

import ast
import fnmatch
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpwright import families, resources

PACKAGE = Path(resources.__file__).parent
#: What each part of the package may import at module level and inside functions, of the package's other parts.
MAY_IMPORT = {
    "canonical": set(),
    "errors": set(),
    "frozen": set(),
    "kinds": set(),
    "text": set(),
    "child": set(),
    "cpu": set(),
    "closure": set(),
    "dtypes": set(),
    "archs": set(),
    "resources": set(),
    "scratch": set(),
    "point": set(),
    "protocols": set(),
    "statuses": set(),
    "sealed": {"canonical", "errors"},
    "record": {"canonical", "errors", "frozen", "protocols", "scratch", "sealed", "statuses"},
    "epilogue": {"errors", "frozen", "plan", "text"},
}
#: Words of single kernel families and of their instructions.
KNOWS = re.compile(r"gemm|wgmma|tile_n")
#: Where they belong; of the emulator, its units.
AT_HOME = ("families/", "emulate/units/")


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)


def imported(path: Path) -> Iterator[str]:
    """The parts of the package that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "warpwright" and rest:
                yield rest.split(".")[0]


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_what_others_stand_on_imports_nothing_above_it(part: str) -> None:
    own = [path for path in modules() if path.relative_to(PACKAGE).parts[0].removesuffix(".py") == part]
    assert own, part
    for path in own:
        assert set(imported(path)) - {part} <= MAY_IMPORT[part], path


def test_the_chain_knows_no_kernel() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in [*modules(), *PACKAGE.rglob("*.c")]
        if not path.relative_to(PACKAGE).as_posix().startswith(AT_HOME)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if KNOWS.search(line)
    ]
    assert found == []


def test_nothing_imports_a_family_by_name() -> None:
    """But for those that a family says it stands on."""
    stands_on = {name: families.family(name).stands_on for name in families.NAMES}
    for path in modules():
        where = path.relative_to(PACKAGE).as_posix()
        own = next((name for name in families.NAMES if where.startswith(f"families/{name}/")), None)
        text = path.read_text(encoding="utf-8")
        for name in set(families.NAMES) - {own, *stands_on.get(own or "", ())}:
            assert f"families.{name}" not in text, where


def test_modules_are_short() -> None:
    long = {path.name: n for path in modules() if (n := len(path.read_text(encoding="utf-8").splitlines())) > 300}
    assert long == {}


def test_every_file_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    """By the names of folders that pytest passes over: its own list has `build`, which hid tests/build for a while."""
    here, passed_over = Path(__file__).parent, pytestconfig.getini("norecursedirs")
    folders = {path.parent.relative_to(here) for path in here.rglob("test_*.py")} - {Path("attack")}
    hidden = [str(f) for f in folders if any(fnmatch.fnmatch(part, p) for part in f.parts for p in passed_over)]
    assert hidden == []
    assert Path("build") in folders


def test_every_document_is_one_that_the_readme_names() -> None:
    """Notes of those who work here are no part of the project."""
    top = resources.checkout()
    if top is None or not (top / ".git").exists():
        pytest.skip("no checkout of git")
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=top, capture_output=True, text=True, check=True).stdout
    readme = (top / "README.md").read_text()
    known = {"README.md", "CHANGELOG.md", "out/ledger/README.md"}
    assert [path for path in listed.split() if path not in known and Path(path).name not in readme] == []


def test_of_everything_generated_the_ledger_alone_is_committed() -> None:
    """`ci` takes over results that lie below out/: a committed one would stand in for a run that never was."""
    top = resources.checkout()
    if top is None or not (top / ".git").exists():
        pytest.skip("no checkout of git")
    listed = subprocess.run(["git", "ls-files", "out"], cwd=top, capture_output=True, text=True, check=True).stdout
    assert [path for path in listed.splitlines() if not path.startswith("out/ledger/")] == []
