"""An emulated result is for the code that made it: what that code is, on a package made for the purpose and on ours."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import warpwright
from tests.pipeline.test_renaming import STEPS, explore
from warpwright import families, pipeline
from warpwright.device import judged_by
from warpwright.epilogue import registry
from warpwright.pipeline import emulating, rests_on

FILES = {
    "__init__.py": "__version__ = '1'\n",
    "emulate/__init__.py": "",
    "emulate/variant/__init__.py": "",
    "emulate/variant/harness.py": textwrap.dedent("""
        from __future__ import annotations
        import warpwright.plan.types as types, json
        from typing import TYPE_CHECKING
        from warpwright.device import xp, problem
        from ..units import (tma,
            wgmma as products)
        from . import case
        if TYPE_CHECKING:
            from warpwright.cli import words
        else:
            import warpwright.otherwise
        if json: import warpwright.on_one_line; from warpwright import \\
            continued
        class Late:
            def now(self):
                try:
                    from warpwright.late import told
                finally:
                    __import__("warpwright.by_string.too")
    """),
    "emulate/variant/case.py": "from warpwright.emulate.variant.places import Places\n",
    "emulate/variant/places.py": "def built():\n    from warpwright.builder import Pool\n",
    "emulate/variant/trace.py": "",
    "emulate/units/__init__.py": "",
    "emulate/units/tma.py": "",
    "emulate/units/wgmma/__init__.py": "from ...numbers.alu import operation\n",
    "emulate/units/wgmma/table.bin": "bytes",
    "emulate/numbers/__init__.py": "",
    "emulate/numbers/alu.py": "",
    "families/__init__.py": "",
    "families/one/__init__.py": "",
    "families/one/models.py": "",
    "families/one/planning.py": "",
    "families/one/workload/__init__.py": "",
    "families/one/workload/problems.py": "from warpwright.families.one.models import Problem\n",
    "families/two/__init__.py": "",
    "families/two/workload/problems.py": "",
    "plan/__init__.py": "from warpwright.plan.rules import Rule\n",
    "plan/types.py": "import warpwright.archs\nfrom warpwright.build.launch_capture import Launch\n",
    "plan/rules.py": "",
    "build/__init__.py": "",
    "build/launch_capture.py": "from warpwright.build.linking import link_with_stub\n",
    "build/launch_stub.c": "int capture_count;",
    "build/linking.py": "",
    "build/pool.py": "",
    "device/xp.py": "",
    "device/problem.py": "",
    "device/bench.py": "",
    "archs/__init__.py": "",
    "archs/table.json": "{}",
    "cli/words.py": "",
    "cli/help.txt": "",
    "otherwise.py": "",
    "on_one_line.py": "",
    "continued.py": "",
    "late.py": "",
    "by_string/__init__.py": "",
    "by_string/too.py": "",
    "builder.py": "",
    "pipeline/__init__.py": "import warpwright.builder\n",
    "pipeline/emulating.py": "from warpwright.pipeline import advance\n",
    "pipeline/advance.py": "",
}
NOT_MEANT = {
    "__init__.py", "emulate/variant/trace.py", "families/one/planning.py", "families/two/__init__.py",
    "families/two/workload/problems.py", "plan/rules.py", "build/pool.py", "device/bench.py", "cli/words.py",
    "cli/help.txt", "builder.py", "pipeline/__init__.py", "pipeline/advance.py",
}  # fmt: skip


def anew(family: str, operations: tuple[str, ...] = ()) -> str:
    """The digest of the files as they are now."""
    emulating._digests.cache_clear()
    rests_on._contents.cache_clear()
    return emulating.emulator_digest.__wrapped__(family, operations)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(rests_on, "_PACKAGE", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_change_of_what_makes_a_verdict_is_another_emulator(package: Path, name: str) -> None:
    digest = anew
    before = digest("one")
    assert digest("one") == before  # the second time its files are known
    (package / name).write_text(FILES[name] + ("# another line\n" if name.endswith(".py") else " "))
    assert (digest("one") == before) == (name in NOT_MEANT)


def test_a_file_that_comes_or_goes_is_another_emulator(package: Path) -> None:
    digest = anew
    before = digest("one")
    (package / "emulate" / "variant" / "table.npy").write_bytes(b"\x00\xff")
    assert digest("one") != before
    (package / "emulate" / "variant" / "table.npy").unlink()
    (package / "emulate" / "units" / "tma.py").rename(package / "emulate" / "units" / "tma_.py")
    assert digest("one") != before


def test_a_damaged_or_unwritable_cache_changes_nothing(
    package: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(cache))
    before = anew("one")
    kept = cache / "emulator_files.json"
    assert "archs/table.json" in json.loads(kept.read_text())["one"]
    for damaged in (b"\xff{", b"[]", b""):
        kept.write_bytes(damaged)
        assert anew("one") == before
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(kept))  # a file where a folder is wanted
    assert anew("one") == before


# -- of this package ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "archs.py",
        "build/launch_capture.py",
        "build/launch_stub.c",
        "build/linking.py",
        "device/tolerance.py",
        "device/xp.py",
        "dtypes.py",
        "emulate/variant/harness.py",
        "emulate/variant/operands.py",
        "emulate/units/wgmma/products.py",
        "epilogue/reference.py",
        "families/gemm/workload/cases.py",
        "pipeline/emulating.py",
        "plan/stored.py",
    ],
)
def test_what_a_verdict_rests_on(name: str) -> None:
    assert name in rests_on.files("gemm")


@pytest.mark.parametrize(
    "part",
    [
        "cli/",
        "bundle/",
        "render/",
        "spec/",
        "families/copy",
        "emulate/mutants",
        "device/bench",
        "record/ledger",
        "record/folder",
    ],
)
def test_what_it_does_not_rest_on(part: str) -> None:
    assert [name for name in rests_on.files("gemm") if name.startswith(part)] == []


def test_the_module_that_is_left_out_holds_the_version_alone() -> None:
    tree = ast.parse(Path(warpwright.__file__).read_text(encoding="utf-8"))
    assert [type(node) for node in tree.body] == [ast.Expr, ast.Assign]


def test_what_an_emulation_has_imported_is_among_the_files(tmp_path: Path) -> None:
    """Whatever way a module came in: asked of a process that has emulated a variant."""
    exploration = explore(tmp_path, "a.yaml", "first")
    pipeline.advance(exploration, STEPS)
    folder = exploration.variants[0].folder.path
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from warpwright.emulate.variant import harness\n"
        f"verdict = harness.emulate(harness.load(Path({str(folder)!r})))\n"
        "assert verdict.status == 'correct', verdict\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'warpwright'), sep='\\n')\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    home = Path(warpwright.__file__).parent
    ran = {Path(name).relative_to(home).as_posix() for name in done.stdout.split()}
    assert len(ran) > 100
    # What runs because it stands in a folder's __init__.py that is passed on the way: the names of its neighbours.
    beside = {name for name in ran - {"__init__.py"} if name not in rests_on.files("gemm")}
    beside -= {"families/names.py"}  # which families there are is no part of a verdict
    assert {name.partition("/")[0] for name in beside} <= {"build", "child.py"}, beside


def test_an_operation_of_the_chain_counts_and_another_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = registry.source_path("relu").read_text()
    for name in ("mine", "other"):
        (tmp_path / f"{name}.py").write_text(shipped.replace('"relu"', f'"{name}"'))
    monkeypatch.setenv(registry.OPS_VARIABLE, str(tmp_path))
    digest = anew
    assert digest("gemm", ("relu",)) != digest("gemm")
    before = digest("gemm", ("mine",))
    (tmp_path / "other.py").write_text(shipped.replace('"relu"', '"other"') + "\n# changed\n")
    assert digest("gemm", ("mine",)) == before
    (tmp_path / "mine.py").write_text(shipped.replace('"relu"', '"mine"') + "\n# changed\n")
    assert digest("gemm", ("mine",)) != before
    assert judged_by.operations_of({"epilogue": [{"op": "relu"}, {"op": "mine"}, {"op": "relu"}]}) == ("mine", "relu")


@pytest.mark.parametrize("family", families.NAMES)
def test_another_family_leaves_every_verdict_as_it_was(family: str) -> None:
    """Adding a family edits the file of their names alone outside its own; how one is found by its name does count."""
    for found in (rests_on.files(family), rests_on.files_on_device(family)):
        assert "families/names.py" not in found
        assert not any(f"families/{other}/workload" in name for name in found for other in _independent(family))
    assert "families/__init__.py" in rests_on.files(family)


def _independent(family: str) -> set[str]:
    """Families but this one and those that it stands on, by their imports."""
    own = {name for name in rests_on.files(family) if name.startswith(f"families/{family}/")}
    text = "".join(rests_on.files(family)[name].decode() for name in own if name.endswith(".py"))
    return {other for other in families.NAMES if other != family and f"families.{other}." not in text}
