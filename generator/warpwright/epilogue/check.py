"""Says what is wrong with an operation's declaration, before a kernel that would not compile is rendered from it."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator

from warpwright.epilogue.op import EpilogueOp, EpilogueOperand

__all__ = ["clashes", "faults"]

_KINDS = ("tile", "vector_m", "vector_n", "scalar")
#: What the code may read beside `x`, its operands and what it assigns itself.
_IN_SCOPE = frozenset({"cute", "cutlass", "Float32", "Int32"}) | frozenset(dir(builtins))


def faults(op: EpilogueOp) -> Iterator[str]:
    """Yield every fault of an operation's declaration, in words that say what to change."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", op.name):
        yield f"the name is {op.name!r}; it must be lower-case letters, digits and underscores, 32 at most"
    if not isinstance(op.summary, str) or not op.summary.isprintable() or not op.summary or '"""' in op.summary:
        yield f"summary is {op.summary!r}; it must be one line of text"
    if not isinstance(op.shared_bytes, int) or op.shared_bytes < 0:
        yield f"shared_bytes is {op.shared_bytes!r}; it must be a whole number, 0 or more"
    for name in ("reference", "error", "registers"):
        if not callable(getattr(op, name)):
            yield f"{name} is {getattr(op, name)!r}; it must be a function"
    if callable(op.registers):
        yield from _registers_faults(op)
    operands = [o for o in op.operands if isinstance(o, EpilogueOperand)]
    if len(operands) != len(op.operands):
        yield "operands must be a tuple of EpilogueOperand"
    for operand in operands:
        yield from _operand_faults(op, operand)
    names = [operand.name for operand in operands]
    for name in sorted({name for name in names if names.count(name) > 1}, key=str):
        yield f"operand {name!r} is declared twice"
    yield from _code_faults(op, {str(name) for name in names})


def clashes(op: EpilogueOp, taken: frozenset[str]) -> Iterator[str]:
    """Yield every name of a faultless operation that the kernel around it, which binds `taken`, uses itself."""
    for operand in op.operands:
        if operand.name in taken:
            yield f"operand {operand.name!r}: the kernel uses this name itself; choose a longer one"
    for name in sorted(_stored(ast.parse(op.code)) & taken):
        yield f"code assigns {name!r}, a name that the kernel uses itself; choose a longer one"


def _stored(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _registers_faults(op: EpilogueOp) -> Iterator[str]:
    try:
        found: object = op.registers(16)
    except (Exception, SystemExit) as error:
        yield f"registers(16) raises {type(error).__name__}: {error}"
    else:
        if not isinstance(found, int) or found < 0:
            yield f"registers(16) is {found!r}; it must be a whole number, 0 or more"


def _operand_faults(op: EpilogueOp, operand: EpilogueOperand) -> Iterator[str]:
    name = operand.name
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        yield f"operand {name!r}: a name is lower-case letters, digits and underscores, and starts with a letter"
    elif name == "x":
        yield "operand 'x': this is what an operation changes; choose another name"
    elif re.search(r"_(\d+|vector|rows|columns)$", name):
        yield f"operand {name!r}: kernels append _1, _2, _vector, _rows and _columns themselves; choose another ending"
    if operand.kind not in _KINDS:
        yield f"operand {name!r}: kind is {operand.kind!r}; it must be one of {', '.join(_KINDS)}"
    if operand.skip_if_zero:
        scalars = [o.name for o in op.operands if o.kind == "scalar"]
        if operand.kind != "tile":
            yield f"operand {name!r}: only a tile can be skipped, and this is a {operand.kind}; drop skip_if_zero"
        elif operand.skip_if_zero not in scalars:
            known = ", ".join(scalars) or "none"
            yield f"operand {name!r}: skip_if_zero names {operand.skip_if_zero!r}, not a scalar of this one ({known})"


def _code_faults(op: EpilogueOp, operands: set[str]) -> Iterator[str]:
    try:
        tree = ast.parse(op.code)
    except (SyntaxError, TypeError, ValueError) as error:
        yield f"code is no Python: {error}"
        return
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = _stored(tree)
    if "x" not in stored:
        yield "code does not assign x, which is both its input and its result"
    scratch = {"scratch", "consumer", "thread"} if op.shared_bytes else set()
    for name in sorted({n.id for n in used} - stored - operands - scratch - _IN_SCOPE - {"x"}):
        yield f"code reads {name!r}, which is neither x nor an operand nor one of cute, cutlass, Float32 and Int32"
