"""What travels is found by following imports: of modules by their packages, and not what type checkers alone import."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.bundle import contents

FILES = {
    "__init__.py": "",
    "device/__init__.py": "",
    "device/run.py": "from typing import TYPE_CHECKING\nfrom warpwright.plan import types\nimport warpwright.alone\n"
    "if TYPE_CHECKING:\n    from warpwright.typed import T\nelse:\n    from warpwright.meant import T\n"
    "def late():\n    from warpwright.late import thing\n",
    "plan/__init__.py": "",
    "plan/types.py": "",
    "alone.py": "",
    "meant.py": "",
    "late.py": "",
}


def test_imports_are_followed_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {**FILES, "typed.py": "", "plan/unused.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(contents, "_PACKAGE", tmp_path)
    assert {path.as_posix() for path in contents.needed_modules()} == set(FILES)
