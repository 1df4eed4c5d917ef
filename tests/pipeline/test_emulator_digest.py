"""An emulated result is for the code that made it: what that code is, on a package made for the purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.pipeline import emulating

FILES = {
    "emulate/run.py": "from warpwright.plan.types import Plan\nfrom warpwright.device import xp, problem\n",
    "emulate/units/tma/emit.py": "from warpwright.dtypes import (\n    dtype,\n    names,\n)\n",
    "families/one/workload/problems.py": "def late():\n    from warpwright.beside import told\n",
    "families/two/workload/problems.py": "",
    "epilogue/ops/relu.py": "from warpwright.epilogue.op import Op\n",
    "epilogue/op.py": "",
    "plan/types.py": "import warpwright.archs\n",
    "device/xp.py": "",
    "device/problem.py": "",
    "device/bench.py": "",
    "dtypes.py": "",
    "archs/__init__.py": "",
    "beside.py": "",
}
NOT_MEANT = {"families/two/workload/problems.py", "device/bench.py", "beside.py"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(emulating, "_PACKAGE", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_change_of_what_makes_a_verdict_is_another_emulator(package: Path, name: str) -> None:
    digest = emulating.emulator_digest.__wrapped__
    before = digest("one")
    (package / name).write_text(FILES[name] + "# another line\n")
    assert (digest("one") == before) == (name in NOT_MEANT)
