"""Breaks YAML files: bytes, lines, and the values of the tree."""

from __future__ import annotations

import random
from typing import Any

import yaml

from tests.spec.conftest import GOOD, edited
from tests.spec.test_elsewhere import WORDS
from tests.spec.test_mistakes import CASES
from tests.spec.test_nearest import OFFERED
from warpwright import families
from warpwright.resources import configs

__all__ = ["WHERE_WORDS", "broken", "predicate"]

#: What is put into files: words of YAML, of this schema, of other tools, and of nobody.
TOKENS = [
    *("no", "on", "~", "null", "true", "1e3", "010", "0x10", "2:1", "1_000", ".inf", "-.nan", "+.5"),
    *("2026-11-30", "<<"),
    *("&a", "*a", "&a &a", "*b", "<<: *a", "!!int", "!!python/object/apply:os.system", "!<x>", "? ", "- "),
    *(": ", ", "),
    *("---", "...", "%YAML 1.1\n---\n", "#", "|", ">-", "'", '"', '"""', "{", "}", "[", "]", "{}", "[]"),
    *("\t", "\n", "\r"),
    *("  ", "\u2028", "\u202e", "\ufeff", "\x85", "\xa0", "é", "\U0001f600", "\\", "\\x00", "`", "@", "%"),
    *("\x00", "\x7f"),
    *("auto", "none", "f16", "tf32", "sm_100a", "gelu", "relu", "bias_n", "ledger", "con", "attention"),
    *("copy", "gemm"),
    *("kernel", "design", "sweep", "where", "bench", "validate", "version", "name", "purpose", "evidence", "family"),
    *("design.tile.n", "design.stages", "design.registers.producer", "kernel.a", "kernel.epilogue", "tile", "stages"),
    *("{from: 1, to: 4}", "{from: 4, to: 1}", "{from: 1, to: 99999999999}", "2..8", "[1, [2]]", "{a: {b: {c: 1}}}"),
    *("9" * 30, "-1", "0", "1", "64", "18446744073709551616", "9223372036854775807", "1.5", "1e400", "x" * 300),
    *("tile.m > 3", "stages == 'auto'", "batch", "split_k", "num_stages", "BLOCK_M", "m", "n", "k", "l"),
    *("op", "dtype"),
    *("[" * 40, "{a: " * 40, "- " * 40, "[" + "1, " * 3000 + "]"),
    "{" + ", ".join(f"k{n}: {n}" for n in range(300)) + "}",
]  # fmt: skip
WHERE_WORDS = [
    *("tile.m", "tile.n", "tile", "cluster.m", "stages", "design.stages", "registers", "registers.producer"),
    *("schedule"),
    *("epilogue", "c", "c.dtype", "a.dtype", "kernel.b.major", "scheduler.group", "epilogue_n"),
    *("epilogue_stages", "x"),
    *("0", "1", "-1", "64", "128.0", "1e3", "1e308", "1e999", "9" * 40, "0x10", "1_0", "1j", "True"),
    *("False", "None", "..."),
    *("'auto'", '"none"', "'f16'", "'relu'", "'%999999999d'", "'%z'", "'a' * 10", "b'x'", "f'{tile.m}'"),
    *("''", "'\\x00'"),
    *("[]", "()", "[1]", "['relu']", "['alpha', 'relu']", "[[], ['relu']]", "{}", "{1}"),
    *("[x for x in epilogue]", "open"),
    *("lambda: 1", "__import__('os')", "tile.__class__", "epilogue[0]", "(x := 1)", "min", "max", "abs"),
    *("sum", "len"),
]  # fmt: skip


def bases() -> list[str]:
    """Files that load, and files with one mistake."""
    good = [GOOD, *(families.family(name).starter for name in families.NAMES)]
    good += [path.read_text() for path in sorted(configs().glob("*.yaml"))]
    good += [
        GOOD.replace("[64, 128, 256]", "{from: 64, to: 256, step: 64}"),
        GOOD.replace("{m: 2, n: 1}", "&c {m: 2, n: 1}"),
    ]
    small = [edited(changes) for changes in (*(case[1] for case in CASES), *(word[0] for word in WORDS), *OFFERED)]
    return [*good * 100, *small]


def broken(rng: random.Random, files: list[str]) -> bytes:
    """One broken file."""
    text = rng.choice(files)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        text = rng.choice((_words, _words, _lines, _tree, _tree, _blocks))(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    return _bytes(rng, data) if rng.random() < 0.2 else data


def _bytes(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if not found:
            break
        at = rng.randrange(len(found))
        how = rng.randrange(4)
        if how == 0:
            found[at] = rng.randrange(256)
        elif how == 1:
            del found[at : at + rng.choice((1, 2, 40))]
        elif how == 2:
            found[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 3))))
        else:
            del found[at:]
    return bytes(found)


def _words(rng: random.Random, text: str) -> str:
    """One word is replaced, or one comes between."""
    start = rng.randrange(len(text) + 1)
    end = start
    if rng.random() < 0.7:  # a whole word
        while end < len(text) and (text[end].isalnum() or text[end] in "._"):
            end += 1
    return text[:start] + rng.choice(TOKENS) + text[end:]


def _lines(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(5)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(at, lines[other])
    elif how == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif how == 3:
        lines[at] = " " * rng.randrange(5) + lines[at].lstrip()
    else:
        lines[at] = lines[at] + rng.choice(TOKENS)
    return "\n".join(lines)


def _blocks(rng: random.Random, text: str) -> str:
    """Some part comes twice, or elsewhere."""
    start, length, to = rng.randrange(len(text) + 1), rng.randrange(200), rng.randrange(len(text) + 1)
    part = text[start : start + length]
    if rng.random() < 0.5:
        text = text[:start] + text[start + length :]
    return text[:to] + part + text[to:]


def _tree(rng: random.Random, text: str) -> str:
    """A value is replaced, dropped, renamed or put elsewhere."""
    try:
        tree = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    places = _places(tree)
    if not places:
        return text
    around, key = rng.choice(places)
    how = rng.randrange(5)
    if how == 0:
        around[key] = _value(rng, 3)
    elif how == 1:
        del around[key]
    elif how == 2:
        other, step = rng.choice(places)
        around[key] = other[step] if isinstance(other, dict) or step < len(other) else None
    elif isinstance(around, dict):
        around[rng.choice(TOKENS) if how == 3 else _value(rng, 0)] = (
            around.pop(key) if rng.random() < 0.5 else _value(rng, 2)
        )
    else:
        around.insert(key, _value(rng, 2))
    try:
        return yaml.safe_dump(
            tree, sort_keys=False, allow_unicode=rng.random() < 0.5, default_flow_style=rng.random() < 0.2
        )
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return text


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting, seen = [tree], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not isinstance(node, (dict, list)):
            continue
        seen.add(id(node))
        steps = list(node) if isinstance(node, dict) else list(range(len(node)))
        found += [(node, step) for step in steps]
        waiting += [node[step] for step in steps]
    return found


def _value(rng: random.Random, depth: int) -> Any:
    how = rng.randrange(8 if depth else 5)
    if how == 0:
        return rng.choice((None, True, False))
    if how == 1:
        return rng.choice((0, 1, 2, 64, -1, 10**18, 2**63, 10**40, rng.randrange(300)))
    if how == 2:
        return rng.choice((0.5, 1e300, -2.0, 64.0))
    if how < 5:
        return rng.choice(TOKENS)
    if how < 7:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(TOKENS): _value(rng, depth - 1) for _ in range(rng.randrange(4))}


def predicate(rng: random.Random, depth: int) -> str:
    """One expression: of what predicates are made of, or of what Python knows beside."""
    return _truth(rng, depth) if rng.random() < 0.5 else _anything(rng, depth)


_NUMBERS = (
    "tile.m",
    "design.tile.n",
    "cluster.m",
    "stages",
    "scheduler.group",
    "epilogue_n",
    "3",
    "64",
    "-1",
    "0.5",
    "0",
)
_TRUTHS = (
    *(
        "c == None",
        'schedule == "pingpong"',
        "a.dtype == b.dtype",
        '"relu" in epilogue',
        "epilogue == []",
        'stages == "auto"',
    ),
    *(
        'registers != "none"',
        'epilogue in [[], ["alpha", "relu"]]',
        "registers.producer > 24",
        'a.major in ["k"]',
        "True",
    ),
)


def _truth(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(_TRUTHS)
    how = rng.randrange(6)
    if how < 3:
        left, right = _arithmetic(rng, depth - 1), _arithmetic(rng, depth - 1)
        return f"{left} {rng.choice(('==', '!=', '<', '<=', '>', '>='))} {right}"
    if how < 5:
        return f"({_truth(rng, depth - 1)}) {rng.choice(('and', 'or'))} ({_truth(rng, depth - 1)})"
    return f"not ({_truth(rng, depth - 1)})"


def _arithmetic(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(_NUMBERS)
    left, right = _arithmetic(rng, depth - 1), _arithmetic(rng, depth - 1)
    if rng.random() < 0.3:
        return f"{rng.choice(('min', 'max'))}({left}, {right})"
    return f"({left}) {rng.choice(('+', '-', '*', '/', '//', '%'))} ({right})"


def _anything(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(WHERE_WORDS)
    left, right = _anything(rng, depth - 1), _anything(rng, depth - 1)
    how = rng.randrange(12)
    if how < 4:
        return f"{left} {rng.choice(('==', '!=', '<', '<=', '>', '>=', 'in', 'not in', 'is', '= '))} {right}"
    if how < 6:
        return f"({left}) {rng.choice(('and', 'or'))} ({right})"
    if how < 9:
        return f"({left}) {rng.choice(('+', '-', '*', '/', '//', '%', '**', '<<', '>>', '@', '|', '&', '^'))} ({right})"
    if how == 9:
        return f"{rng.choice(('not ', '-', '+', '~'))}({left})"
    if how == 10:
        return f"{rng.choice(('min', 'max', 'abs', 'len', 'tile.m', ''))}({left}, {right})"
    return rng.choice((f"[{left}, {right}]", f"{left} if {right} else 1", f"({left})[{right}]", f"{left} {right}"))
