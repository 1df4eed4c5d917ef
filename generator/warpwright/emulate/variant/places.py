"""Which line of kernel.py an instruction comes from, for a person who must mend it.

A build carries no source locations, since the compiler takes half as long again to write them. So a kernel in which
something was found is compiled once more with them; both texts hold the same instructions, or no line is told at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpwright.emulate.ptx.reader import PtxError, parse
from warpwright.emulate.ptx.syntax import Instruction, Kernel, Operand, Symbol

__all__ = ["LINE_OPTION", "Place", "Places", "find_places", "read_places", "shown"]

#: Option of cute.compile.
LINE_OPTION = "--generate-line-info"
_NAME = "kernel.py"
_TEXT = 100  # characters shown of a line
_PARTS = 5  # shown of an opcode
_MENTION = re.compile(r"PTX line (\d+)(?:: (?:@\S+ )?([\w.:]+)[^\n]*)?")


@dataclass(frozen=True)
class Place:
    """A line of a source; not `exact`: the nearest one above, as the compiler left the instruction itself without."""

    line: int
    text: str
    exact: bool = True
    file: str = _NAME

    def __str__(self) -> str:
        return f"{'' if self.exact else 'near '}{self.file}:{self.line}"


@dataclass(frozen=True)
class Places:
    """PTX line -> where it comes from; `problem` says why there are none."""

    places: Mapping[int, Place] = field(default_factory=dict)
    problem: str = ""

    def lines(self, ptx_lines: Sequence[int]) -> list[int | None]:
        """The line of kernel.py for each PTX line, None where it is not known."""
        return [self.places[line].line if line in self.places else None for line in ptx_lines]

    def explain(self, message: str) -> str:
        """`message` with lines of kernel.py wherever it names an instruction by its line in the PTX."""
        if self.problem:
            return f"{message}\n  lines of {_NAME} are not known: {self.problem}"
        return _MENTION.sub(self._mention, message)

    def _mention(self, found: re.Match[str]) -> str:
        place = self.places.get(int(found[1]))
        if place is None:
            return found[0]
        if found[2] is None:
            return f"{place} (PTX line {found[1]})"
        return f"{place}: {place.text}  (PTX line {found[1]}: {'.'.join(found[2].split('.')[:_PARTS])})"


def find_places(folder: Path) -> Places:
    """Compile kernel.py of a built variant's folder once more, with source locations, in a process of its own."""
    from warpwright.build.builder import TIMEOUT_SECONDS
    from warpwright.build.compile import OPTIONS
    from warpwright.build.pool import Pool, Task
    from warpwright.build.toolchain import ToolchainError
    from warpwright.canonical import canonical_json
    from warpwright.sealed import DamagedError, load_built

    try:
        stored = load_built(folder)
        source, plan, ptx = stored.source(), stored.plan(), stored.read("kernel.ptx").decode()
        with Pool(str(plan["arch"]), 1, TIMEOUT_SECONDS) as pool:
            task = Task("", source, canonical_json(plan), f"{OPTIONS} {LINE_OPTION}")
            built = next(outcome for outcome in pool.run([task]) if outcome is not None)
    except (OSError, LookupError, ValueError, ToolchainError, DamagedError) as error:
        return Places(problem=f"it could not be compiled with source locations: {error}")
    if built.failure:
        return Places(problem=f"it could not be compiled with source locations: {built.failure.detail.splitlines()[0]}")
    return read_places(ptx, built.files["kernel.ptx"].decode(), source)


def read_places(ptx: str, located: str, source: str) -> Places:
    """Map the lines of `ptx` to those of `source`, by the same kernels compiled with source locations."""
    lines = source.splitlines()
    places: dict[int, Place] = {}
    try:
        plain, told = parse(ptx).kernels, parse(located).kernels
    except PtxError as error:
        return Places(problem=f"the PTX cannot be read: {error}")
    if [_instructions(k) for k in plain.values()] != [_instructions(k) for k in told.values()]:
        return Places(problem=f"{_NAME}, compiled with source locations, gives other instructions than kernel.ptx has")
    for ours, theirs in zip(plain.values(), told.values(), strict=True):
        # Where control arrives from elsewhere, what is above says nothing; labels of inline assembly are inside a line.
        starts = {index for label, index in theirs.labels.items() if "@" not in label}
        near, columns = 0, any(column for i in theirs.body for _, _, column in i.loc)
        for index, (instruction, twin) in enumerate(zip(ours.body, theirs.body, strict=True)):
            line = _line(twin, columns)
            if not columns and 0 < line <= len(lines) and lines[line - 1].startswith(("def ", "@")):
                line = 0
            near = line or (0 if index in starts else near)
            if 0 < near <= len(lines):
                places[instruction.line] = Place(near, shown(lines[near - 1]), bool(line))
    return Places(places)


def _instructions(kernel: Kernel) -> list[tuple[object, ...]]:
    """All that ptxas makes code of; branches by where they lead, as labels may have other names."""

    def operand(value: Operand) -> object:
        return kernel.labels.get(value.name, value) if isinstance(value, Symbol) else value

    return [(i.opcode, i.guard, i.negated, *map(operand, i.operands)) for i in kernel.body]


def _line(instruction: Instruction, columns: bool) -> int:
    """The innermost line of kernel.py; 0 for none.

    Column 0 is the compiler's word for a function as a whole, unless there are no `columns` at all (Python 3.10).
    """
    for file, line, column in instruction.loc:
        if Path(file).name == _NAME and (column or not columns):
            return line
    return 0


def shown(line: str) -> str:
    """A line of a source as reports have it: without its indentation, and not too long."""
    text = line.strip()
    return text if len(text) <= _TEXT else text[: _TEXT - 3] + "..."
