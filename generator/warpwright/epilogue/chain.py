"""Names the operands of a whole chain, in which one operation may come twice.

Imports only its sibling and the standard library: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from warpwright.epilogue.op import EpilogueOp, EpilogueOperand

__all__ = ["argument_names"]


def argument_names(chain: Iterable[EpilogueOp]) -> tuple[tuple[tuple[EpilogueOperand, str], ...], ...]:
    """Return for each operation its operands with the kernel's argument for each.

    An operand's name that occurs once is the argument's; one that occurs again is numbered: bias_n_1, bias_n_2.
    """
    operations = tuple(chain)
    total = Counter(operand.name for op in operations for operand in op.operands)
    seen: Counter[str] = Counter()
    named = []
    for op in operations:
        arguments = []
        for operand in op.operands:
            seen[operand.name] += 1
            once = total[operand.name] == 1
            arguments.append((operand, operand.name if once else f"{operand.name}_{seen[operand.name]}"))
        named.append(tuple(arguments))
    return tuple(named)
