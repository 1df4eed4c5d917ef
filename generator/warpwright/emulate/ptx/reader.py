"""PTX text to instructions: the emulator executes the text that ptxas assembles, so this reads nothing else.

Only what kernels need is understood; a directive or operand that is not is a `PtxError` naming its line.
Labels and registers declared inside a `{ }` scope (inline assembly) are renamed, so that names are unique.
"""

from __future__ import annotations

import re

from warpwright.emulate.ptx.arrays import WIDTHS, array_of
from warpwright.emulate.ptx.entry import entry_of
from warpwright.emulate.ptx.literals import literal
from warpwright.emulate.ptx.syntax import (
    MALFORMED,
    Array,
    Instruction,
    Kernel,
    Location,
    Memory,
    Module,
    Operand,
    Pair,
    PtxError,
    Register,
    SharedSymbol,
    Sink,
    Special,
    Symbol,
    Vector,
    items_of,
    misread,
)  # fmt: skip

__all__ = ["Module", "PtxError", "parse", "split_operands"]

_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"]*\"|[\w$%@.:!|+\-*<>=&^~]+|[{}()\[\],;]|\n|[ \t\r]+", re.S)
_LABEL = re.compile(r"[\w$]+:(?!:)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_PLACE = re.compile(r"(?:\.loc|inlined_at)\s+(\d+)\s+(\d+)\s+(\d+)")
_VERSION = re.compile(r"^\.version\s+(\S+)", re.M)
_TARGET = re.compile(r"^\.target\s+([\w]+)", re.M)
_REGISTERS = 1 << 20  # names in one declaration
_PARTS = {".b128": ("lo", "hi"), ".v2": ("x", "y"), ".v4": ("x", "y", "z", "w")}
_RANGE = re.compile(r"(%?\w+)<(\d+)>")
_GUARD = re.compile(r"@(!?)([\w%$]+)\s+")
# what most lines are: an instruction alone, whose braces, if any, are an operand
_PLAIN = re.compile(r"[ \t]*([%@\w](?!\w*:(?!:))[^;\"/{}()\n]*(?:\{[^;\"/{}()\n]*\}[^;\"/{}()\n]*)*);[ \t]*\n")
_BRACKET_OR_COMMA = re.compile(r"[\[\](){},]")
_ADDRESS = re.compile(r"([\w%$.]+)\s*(?:\+\s*(-?\w+))?")
# directives that end with their line, and those of them that change nothing here
_LINES = (".version", ".target", ".address_size", ".file", ".loc", ".pragma", ".alias", ".section")


def parse(text: str) -> Module:
    """The module that `text` holds. Raises `PtxError` on what it cannot read."""
    version, target = _VERSION.search(text), _TARGET.search(text)
    if not version or not target:
        raise PtxError("no .version and .target lines: is this PTX?")
    return Module(_Reader(text).kernels(), target[1], version[1])


def split_operands(text: str) -> list[str]:
    """`text` at its top-level commas."""
    if "[" not in text and "{" not in text and "(" not in text:
        return [part.strip() for part in text.split(",")] if text.strip() else []
    parts, depth, start = [], 0, 0
    for match in _BRACKET_OR_COMMA.finditer(text):
        char = match[0]
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif not depth:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.files = dict(_FILE.findall(text))  # they may stand below what refers to them
        self.loc: Location = ()
        self.locations: dict[tuple[str, int, int], Location] = {}
        self.shared: list[SharedSymbol] = []
        self.arrays: list[Array] = []
        self.scopes: list[dict[str, str]] = []
        self.wide: dict[str, tuple[str, ...]] = {}  # registers that are kept as several: their parts' names
        self.numbers: list[int] = []  # of the open scopes: what makes a name in them unique
        self.scope_count = 0

    def statements(self) -> list[tuple[str, int]]:
        """(text, line): statements without their `;`, labels with `:`, scope braces, headers of entries."""
        found: list[tuple[str, int]] = []
        buffer: list[str] = []
        line, start, depth = 1, 1, 0

        def flush() -> None:
            statement = "".join(buffer).strip()
            if statement:
                found.append((statement, start))
            buffer.clear()

        text, at = self.text, 0
        while at < len(text):
            plain = None if buffer else _PLAIN.match(text, at)
            if plain:
                found.append((" ".join(plain[1].split()), line))
                line, at = line + 1, plain.end()
                continue
            match = _TOKEN.match(text, at)
            if not match:
                at += 1
                continue
            token, at = match[0], match.end()
            if token.isspace() or token.startswith(("//", "/*")):
                if "\n" in token:
                    line += token.count("\n")
                    if buffer and not depth and buffer[0].startswith(_LINES) and ";" not in buffer:
                        flush()
                if buffer:
                    buffer.append(" ")
                continue
            blank = not buffer
            if blank:
                start = line
            if blank and _LABEL.fullmatch(token):
                found.append((token, line))
            elif token == ";" and not depth:
                flush()
            elif token in "{}" and not depth and (blank or (token == "{" and ".entry" in "".join(buffer))):
                flush()
                found.append((token, line))
            else:
                depth += (token in "({[") - (token in ")}]")
                buffer.append(token)
        flush()
        return found

    def kernels(self) -> dict[str, Kernel]:
        kernels: dict[str, Kernel] = {}
        kernel: Kernel | None = None
        for text, line in self.statements():
            try:
                kernel = self.statement(text, line, kernel, kernels)
            except MALFORMED as error:
                raise misread(f"line {line}", f"cannot read {text[:80]!r}", error) from error
        if self.scopes:
            raise PtxError(f"line {self.text.count(chr(10)) + 1}: the text ends before the }} of its last {{")
        for kernel in kernels.values():
            kernel.shared = [s for s in self.shared if s not in kernel.shared] + kernel.shared
            kernel.arrays = [*self.arrays, *kernel.arrays]
            self.resolve(kernel)
        return kernels

    def statement(self, text: str, line: int, kernel: Kernel | None, kernels: dict[str, Kernel]) -> Kernel | None:
        """Take in one statement, in `kernel` or outside of any; the kernel that the next one is in."""
        if text == "{":
            self.scope_count += 1
            self.numbers.append(self.scope_count)
            self.scopes.append({})
        elif text == "}":
            if not self.scopes:
                raise PtxError(f"line {line}: a }} without its {{")
            self.scopes.pop()
            self.numbers.pop()
            return kernel if self.scopes else None
        elif ".entry" in text.split("(")[0].split():
            self.loc = ()
            kernel = entry_of(text, line)
            if self.scopes or kernel.name in kernels:
                raise PtxError(f"line {line}: a kernel {kernel.name} inside or beside another one of that name")
            kernels[kernel.name] = kernel
        elif text.startswith("."):
            self.directive(text, line, kernel)
        elif kernel is None or not self.scopes:
            raise PtxError(f"line {line}: {text[:80]!r} outside a kernel is not understood")
        elif _LABEL.fullmatch(text):
            if text[:-1] + self.suffix() in kernel.labels:
                raise PtxError(f"line {line}: the label {text[:-1]!r} stands twice in this scope")
            kernel.labels[self.declare(text[:-1])] = len(kernel.body)
        else:
            kernel.body.append(self.instruction(text, line))
        return kernel

    def resolve(self, kernel: Kernel) -> None:
        """Branch targets by the innermost scope that declares the label; the text may use it before that."""
        for instruction in kernel.body:
            if instruction.parts[0] == "bra":
                target = instruction.operands[0]
                assert isinstance(target, Symbol)
                scope = target.name
                while scope not in kernel.labels and "@" in scope:
                    scope = scope.rpartition("@")[0]
                if scope not in kernel.labels:
                    raise PtxError(f"line {instruction.line}: no label {target.name.partition('@')[0]!r}")
                instruction.operands = (Symbol(scope),)

    def declare(self, name: str) -> str:
        unique = name + self.suffix()
        self.scopes[-1][name] = unique
        return unique

    def suffix(self) -> str:
        return "".join(f"@{number}" for number in self.numbers[1:])

    def directive(self, text: str, line: int, kernel: Kernel | None) -> None:
        words = text.split()
        if words[0] == ".loc":
            if len(self.scopes) == 1:  # in a scope lines are counted on, inside the text of the inline assembly
                self.loc = self.location(text)
        elif words[0] == ".reg" and kernel is not None:
            parts = _PARTS.get(words[1], ())
            if parts and words[1] != ".b128":
                del words[1]
            width = 64 if words[1] == ".b128" else WIDTHS.get(words[1].lstrip("."))
            if width is None:
                raise PtxError(f"line {line}: register type {words[1]} is not emulated")
            for name in split_operands(" ".join(words[2:])):
                ranged = _RANGE.fullmatch(name)
                if ranged and int(ranged[2]) > _REGISTERS:
                    raise PtxError(f"line {line}: {ranged[2]} registers {ranged[1]}: at most {_REGISTERS} are emulated")
                names = [f"{ranged[1]}{i}" for i in range(int(ranged[2]))] if ranged else [name]
                if parts:
                    self.wide.update({self.declare(n): parts for n in names})
                    names = [f"{n}.{part}" for n in names for part in parts]
                kernel.registers.update({self.declare(n): width for n in names})
        elif ".func" in words and "{" not in text:
            pass  # declared, defined elsewhere: what may be called is said where it is
        elif ".func" in words:
            raise PtxError(f"line {line}: {' '.join(words[:6])}...: functions of the device are not emulated")
        elif array := array_of(text, line):
            if array.space == "shared":
                symbol = SharedSymbol(array.name, array.size, array.align)
                (kernel.shared if kernel else self.shared).append(symbol)
            else:
                (kernel.arrays if kernel else self.arrays).append(array)
        elif words[0] == ".param" and kernel is not None:
            pass  # of a call
        elif words[0] not in _LINES:
            raise PtxError(f"line {line}: directive {words[0]} is not understood")

    def location(self, text: str) -> Location:
        """A `.loc`, and what it is inlined at: an earlier `.loc`, that may be inlined itself."""
        places = [(self.files.get(file, file), int(line), int(column)) for file, line, column in _PLACE.findall(text)]
        if not places:
            return ()
        outer: Location = tuple(places[1:])
        self.locations[places[0]] = (places[0], *(self.locations.get(outer[0], outer) if outer else ()))
        return self.locations[places[0]]

    def instruction(self, text: str, line: int) -> Instruction:
        guard, negated, rest = None, False, text
        match = _GUARD.match(rest)
        if match:
            guard, negated, rest = self.register(match[2]), bool(match[1]), rest[match.end() :]
        opcode, _, tail = rest.partition(" ")
        operands = tuple(self.operand(o, line) for o in split_operands(tail))
        if opcode.startswith("bra"):
            operands = (Symbol(tail.strip() + self.suffix()),)
        shown = " ".join(text.split())
        return Instruction(
            opcode, operands, guard, negated, line, self.loc, shown if len(shown) < 120 else shown[:117] + "..."
        )

    def register(self, name: str) -> Register:
        for scope in reversed(self.scopes):
            if name in scope:
                return Register(scope[name])
        raise LookupError(f"the register {name} is not declared")

    def operand(self, text: str, line: int) -> Operand:
        for scope in reversed(self.scopes):  # first, since most operands are registers
            if text in scope:
                if scope[text] in self.wide:
                    return Vector(tuple(Register(scope[f"{text}.{part}"]) for part in self.wide[scope[text]]))
                return Register(scope[text])
        if text == "_":
            return Sink()
        if text[0] in "{(":
            return Vector(tuple(self.operand(o, line) for o in split_operands(text[1:-1])))
        if text[0] == "[":
            head, *rest = split_operands(text[1:-1])
            if rest:
                inner = self.operand(rest[0], line)
                return Memory(self.operand(head, line), 0, items_of(inner))
            base = _ADDRESS.fullmatch(head)
            if not base:
                raise PtxError(f"line {line}: cannot read the address {text!r}")
            return Memory(self.operand(base[1], line), int(base[2], 0) if base[2] else 0)
        if "|" in text:
            first, second = text.split("|")
            return Pair(self.operand(first.strip(), line), self.operand(second.strip(), line))
        number = literal(text)
        if number is not None:
            return number
        return Special(text) if text.startswith("%") else Symbol(text)
