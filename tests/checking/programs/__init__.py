"""CuTe-DSL programs that tests check, as their authors would write them: nothing in them knows of the emulator."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PROGRAMS = Path(__file__).parent


def loaded(name: str) -> ModuleType:
    """The program `name` as a module; the DSL finds its source through sys.modules."""
    known = sys.modules.get(name)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
