"""Mutants of what orders accesses of memory: releases and acquires that become relaxed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.build.ptx_values import Statement
    from warpwright.emulate.translate.unit import Alteration

_ORDERED = re.compile(r"(?<=\.)(acquire|release|acq_rel)(?=\.)")


def alter(body: list[Statement], lines: list[str]) -> Iterator[Alteration]:
    """List the loads, stores and atomic operations with an order, each made relaxed."""
    for s in body:
        if s.opcode.split(".")[0] in ("ld", "st", "atom", "red") and _ORDERED.search(s.opcode):
            text = lines[s.line - 1].replace(s.opcode, _ORDERED.sub("relaxed", s.opcode), 1)
            yield "relaxed instead of", s.opcode, s.line, [(s.line, text)]
