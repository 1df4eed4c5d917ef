"""Whatever a text is: words about it, with the line, or findings; `garble.py` tries for longer."""

from __future__ import annotations

import itertools

import pytest

from tests.emulate.garble import BODIES, faults
from tests.emulate.ptx_kit import HEADER, lanes, module
from warpwright.emulate import EmulatorError, GlobalMemory, Launch, PtxError, parse, program, run


def test_nothing_of_our_own_comes_out_of_garbled_texts() -> None:
    assert list(itertools.islice(faults(iter(range(250)), list(BODIES)), 3)) == []


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        (" add.s32 %r2, %r3, ;", 16, "cannot read 'add.s32 %r2, %r3,'"),
        (" add.s32 %r2;", 16, "add.s32 %r2"),
        (" ld.global.b32 %r2, [];", 16, "cannot read 'ld.global.b32 %r2, []'"),
        (" ld.global.b32 %r2, %r3;", 16, "not the operands or modifiers that this instruction has"),
        (" mov.b32 %r2, 99999999999999999999;", 16, "has more than 64 bits"),
        (" ld.param.b99999999999 %r2, [p0];", 16, "there is no parameter of 99999999999 bits"),
        (" mov.b77 %r2, %r3;", 16, "there is no register of 77 bits"),
        (" @%nosuch bra L;", 16, "the register %nosuch is not declared"),
        (" .reg .b32 %big<1000000000>;", 16, "at most 1048576 are emulated"),
        (" .reg .b99 %q;", 16, "register type .b99"),
        (" .reg;", 16, "cannot read '.reg"),
        (" .shared .align 3 .b8 a[4];", 16, ".align 3: an alignment is a power of two"),
        (" .local .align 4 .b8 a[4294967296];", 16, "4294967296 bytes"),
        (" .nosuch 1;", 16, "directive .nosuch is not understood"),
        (" bra L;", 16, "no label 'L'"),
        ("L:\nL:\n bra L;", 17, "the label 'L' stands twice"),
        (" mov.b32 %r2, " + "{" * 5000 + "%r3" + "}" * 5000 + ";", 16, "RecursionError"),
    ],
)
def test_the_line_and_what_is_wrong_are_named(body: str, line: int, words: str) -> None:
    with pytest.raises(PtxError) as caught:
        program(module(body, 0))
    assert words in str(caught.value)
    assert f"line {line}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is this PTX?"),
        (".version 8.8\n.target sm_90a\n}\n", "line 3: a } without its {"),
        (".version 8.8\n.target sm_90a\nmov.b32 %r1, 0;\n", "line 3: 'mov.b32 %r1, 0' outside a kernel"),
        (".version 8.8\n.target sm_90a\n.entry k()\n{\n .reg .b32 %r1;\n", "the text ends before the }"),
        (".version 8.8\n.target sm_90a\n.entry k(){ret;}\n.entry k(){ret;}\n", "line 4: a kernel k"),
        (".version 8.8\n.target sm_90a\n.entry k(.param .align 3 .b8 p[4]){ret;}\n", "line 3: .align 3"),
    ],
)
def test_texts_that_are_no_modules(text: str, words: str) -> None:
    with pytest.raises(PtxError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_what_no_check_catches_is_told_with_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError("%r7")

    code = module(" mov.b32 %r2, 5;\n bar.warp.sync -1;\n", 0)
    translated = program(code)
    monkeypatch.setattr(translated, "functions", [fails] * len(translated.functions))
    with pytest.raises(EmulatorError, match="kernel kernel: cannot be executed: KeyError: '%r7'"):
        run(code, Launch((1, 1, 1), (32, 1, 1), (1, 1, 1), 0, ()), {}, GlobalMemory())


def test_names_that_look_alike_are_different_registers() -> None:
    body = " .reg .b32 %a$1;\n .reg .b32 %a_1;\n .reg .b32 a_1;\n"
    body += " mov.b32 %a$1, 1;\n mov.b32 %a_1, 20;\n mov.b32 a_1, 300;\n"
    body += " add.s32 %r9, %a$1, %a_1;\n add.s32 %r9, %r9, a_1;\n"
    assert lanes(body).tolist() == [321] * 32


def test_numbers_with_a_leading_zero_are_octal() -> None:
    assert lanes(" mov.b32 %r9, 017;\n add.s32 %r9, %r9, -010;\n").tolist() == [7] * 32


def test_a_kernel_without_instructions_is_one() -> None:
    text = HEADER.partition("{{")[0].format(params="", threads=32) + "{\n}\n"
    assert program(parse(text)).functions
