"""The golden kernels of every family: whole files, as they are rendered. What is meant to change them is followed by

python -m tests.render.golden

and a look at the difference. A family beside gemm names its own in `GOLDEN` of tests/families/NAME/points.py.
"""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path

from tests.render.conftest import POINTS
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.render import render

FOLDER = Path(__file__).with_name("golden")
FAMILIES = Path(__file__).parents[1] / "families"


def difference(file: Path, text: str) -> str:
    """What is otherwise in `text` than in a golden file, with what to do about it; "" where nothing is."""
    before = file.read_text() if file.exists() else ""
    changes = difflib.unified_diff(before.splitlines(), text.splitlines(), f"golden/{file.name}", "rendered", "", "", 2)
    found = "\n".join(changes)
    return f"{found}\n\nIf this is meant: python -m tests.render.golden" if text != before else ""


def golden() -> dict[Path, Plan]:
    """Each golden file's plan."""
    found = {FOLDER / f"{name}.py": plan(point) for name, point in POINTS.items()}
    for module in sorted(FAMILIES.glob("*/points.py")):
        points = importlib.import_module(f"tests.families.{module.parent.name}.points")
        found |= {module.with_name("golden") / f"{name}.py": planned() for name, planned in points.GOLDEN.items()}
    return found


def main() -> None:
    plans = golden()
    for folder in {file.parent for file in plans}:
        folder.mkdir(exist_ok=True)
        for file in set(folder.glob("*.py")) - set(plans):
            file.unlink()
    for file, planned in plans.items():
        file.write_text(render(planned))


if __name__ == "__main__":
    main()
