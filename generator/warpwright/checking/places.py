"""Which line of the user's files an instruction comes from: programs that are checked are compiled with locations.

A line of the DSL's own library says little to who has called it; where an instruction was inlined from there, the
call is shown.
"""

from __future__ import annotations

import functools
import linecache
import re
from pathlib import Path

from warpwright.emulate import Module
from warpwright.emulate.ptx.syntax import Instruction, Kernel
from warpwright.emulate.variant.places import Place, Places, shown

__all__ = ["origin", "places_of"]

_DEFINED = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")
#: The program that `warpwright check` runs; None elsewhere, where files have their names alone.
program: Path | None = None
_DECORATORS = 12  # lines between the first of them and the `def`, at most


@functools.cache
def _library() -> str:
    """The folder of the DSL's Python files."""
    import cutlass

    return str(Path(cutlass.__file__ or "").parent)


def places_of(module: Module, name: str) -> Places:
    """The places of every instruction of a kernel, by its line in the PTX."""
    kernel = module.kernels[name]
    columns = any(column for i in kernel.body for _, _, column in i.loc)
    places: dict[int, Place] = {}
    near: tuple[str, int] | None = None
    starts = {index for label, index in kernel.labels.items() if "@" not in label}
    for index, instruction in enumerate(kernel.body):
        found = _line(instruction, columns)
        near = found or (None if index in starts else near)
        if near is not None:
            places[instruction.line] = Place(near[1], _text(*near), bool(found), _name(near[0]))
    return Places(places) if places else Places(problem=_unknown(kernel))


def origin(kernel: Kernel) -> str:
    """A kernel as its user knows it: the function's name, its file and line; else the compiled name."""
    for instruction in kernel.body:
        for file, line, column in instruction.loc[-1:]:
            if column:
                continue
            for number in range(line, line + _DECORATORS):
                defined = _DEFINED.match(linecache.getline(file, number))
                if defined:
                    return f"{defined[1]} ({_name(file)}:{number})"
    return kernel.name.removeprefix("kernel_cutlass_")


def _line(instruction: Instruction, columns: bool) -> tuple[str, int] | None:
    """File and line; the innermost of the user's, else the innermost of all. Column 0 is a function as a whole."""
    known = [(file, line) for file, line, column in instruction.loc if line and (column or not columns)]
    return next((each for each in known if not each[0].startswith(_library())), known[0] if known else None)


@functools.cache
def _text(file: str, line: int) -> str:
    return shown(linecache.getline(file, line))


@functools.cache
def _name(file: str) -> str:
    """A file as reports name it: one beside the program that runs by its name, others by their path."""
    path = Path(file).resolve()
    if program is not None and path != program.resolve():
        return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
    return path.name


def _unknown(kernel: Kernel) -> str:
    return f"{kernel.name} was compiled without locations"
