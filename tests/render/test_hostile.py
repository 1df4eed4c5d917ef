"""Whatever text comes into a kernel (a label, a summary, a name, a note), the kernel is the same but for that text."""

from __future__ import annotations

import ast
import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from tests.render.conftest import POINTS
from warpwright.families.gemm.parts import words
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.render import render
from warpwright.resources import configs
from warpwright.spec import load
from warpwright.text import printable, source_line

RAISES = 'raise SystemExit("executed")'
HOSTILE = [
    f'"""\n{RAISES}\n"""',
    f"\n{RAISES}\n",
    f"\r{RAISES}\r",
    f"\x0c{RAISES}\x85{RAISES}\u2028{RAISES}\u2029",
    f'\\"""\n{RAISES}',
    '"',
    '""',
    '"""',
    "'''",
    "\\",
    "\\\\\\",
    "\\N{BULLET}\\x41\\u12",
    "{{ plan.label }}{% raw %}{# #}",
    "{{ cycler.__init__.__globals__.os.system('false') }}",
    "\0",
    "\x1b[2J\x07\x08\x7f",
    "\u202egnp\u2066\u200b\ufeff",
    os.fsdecode(b"\xff\xfe.yaml"),
    "%s %(a)s $HOME `false`",
    "x" * 3000,
]


def module(text: str) -> str:
    """What a rendered file does: its syntax tree without the docstring."""
    tree = ast.parse(text.encode())
    assert isinstance(tree.body[0], ast.Expr)
    assert isinstance(tree.body[0].value, ast.Constant)
    return ast.dump(ast.Module(tree.body[1:], []))


def altered(value: Any, text: str, words_only: tuple[str, ...]) -> Any:
    """A plan in which every field of `words_only`, however deep, holds `text`."""
    if isinstance(value, tuple):
        return tuple(altered(item, text, words_only) for item in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changes = {
        field.name: text if field.name in words_only else altered(getattr(value, field.name), text, words_only)
        for field in dataclasses.fields(value)
    }
    return dataclasses.replace(value, **changes)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("case", ["chain_with_c", "direct_store", "tensor_pair"])
def test_text_ends_no_comment_and_no_docstring(monkeypatch, case, text):
    good: Plan = plan(POINTS[case])
    wanted = module(render(good))
    free = ("label", "identity", "note", "duty", "waits", "arrives", "state", "meaning")
    hostile = altered(good, text, free)
    hostile = dataclasses.replace(hostile, design=good.design)
    steps = words.steps

    def renamed(chain):
        return tuple(
            dataclasses.replace(step, op=dataclasses.replace(step.op, name=text, summary=text)) for step in steps(chain)
        )

    monkeypatch.setattr(words, "steps", renamed)
    rendered = render(hostile)
    assert text.isidentifier() or rendered != render(good)
    assert module(rendered) == wanted
    assert all(line.isprintable() for line in rendered.split("\n"))
    assert rendered.isascii()
    assert source_line(text)[:20] in rendered


@pytest.mark.parametrize("text", HOSTILE)
def test_the_name_of_the_file_is_no_part_of_a_kernel(tmp_path, text):
    name = text.replace("\0", "").replace("/", "")[:80] + ".yaml"
    file = tmp_path / name
    file.write_bytes((configs() / "quickstart.yaml").read_bytes())
    first = plan(load(file).points()[0])
    assert render(first) == render(plan(load(Path(configs() / "quickstart.yaml")).points()[0]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain `text`, 'quoted' é", "plain `text`, 'quoted' é"),
        ("a\nb\tc\r\0", "a\\nb\\tc\\r\\0"),
        ("\x1b[31m\x85\xa0", "\\x1b[31m\\x85\\xa0"),
        ("\u202e\u2028\ufeff", "\\u202e\\u2028\\ufeff"),
        (os.fsdecode(b"\xff"), "\\udcff"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_what_is_not_seen_is_escaped(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_of_source_is_its_text_within_quotes(text):
    line = source_line(text)
    assert ast.literal_eval(f'"""{line} """') == f"{printable(text)} "
    assert ast.literal_eval(f'"{line}"') == printable(text)
