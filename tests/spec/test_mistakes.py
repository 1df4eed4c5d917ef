"""Every kind of mistake in a file, with the line, key, rule and nearest legal value that the user is told.

Each case changes lines of the good file in conftest.py and lists all errors that must come, and no others.
"""

from __future__ import annotations

import pytest

from warpwright import families
from warpwright.spec import SpecErrors

# (id, changed lines, [(line, key, value, part of the rule, nearest), ...])
CASES = [
    ("quoted int", {12: '  tile: {m: "128", n: 256, k: 64}'}, [(12, "design.tile.m", '"128"', "whole number", "128")]),
    ("float for int", {12: "  tile: {m: 128.0, n: 256, k: 64}"}, [(12, "design.tile.m", "128.0", "whole", "128")]),
    ("float below int", {12: "  tile: {m: 127.9, n: 256, k: 64}"}, [(12, "design.tile.m", "127.9", "whole", "128")]),
    ("bool for int", {12: "  tile: {m: true, n: 256, k: 64}"}, [(12, "design.tile.m", "true", "whole number", "")]),
    ("null for int", {12: "  tile: {m: , n: 256, k: 64}"}, [(12, "design.tile.m", "null", "whole number", "")]),
    ("below the bound", {12: "  tile: {m: 0, n: 256, k: 64}"}, [(12, "design.tile.m", "0", "1 or more", "")]),
    ("list for int", {14: "  stages: [4]"}, [(14, "design.stages", "[4]", "auto, or a whole number", "")]),
    ("text for int or auto", {14: "  stages: autom"}, [(14, "design.stages", "autom", "auto, or a whole", "auto")]),
    ("negative stages", {14: "  stages: -3"}, [(14, "design.stages", "-3", "auto, or a whole number", "")]),
    ("scalar for mapping", {13: "  cluster: 2"}, [(13, "design.cluster", "2", "mapping with the keys m, n", "")]),
    ("wrong enum", {6: "  arch: sm_90"}, [(6, "kernel.arch", "sm_90", "one of sm_90a, sm_100a", "sm_90a")]),
    ("dtype alias", {9: "  d: {dtype: fp32, major: n}"}, [(9, "kernel.d.dtype", "fp32", "f16, bf16, f32", "f32")]),
    (
        "a is never f32",
        {7: "  a: {dtype: f32, major: k}", 8: "  b: {dtype: tf32, major: k}"},
        [(7, "kernel.a.dtype", "f32", "one of f16, bf16, tf32", "tf32")],
    ),
    ("major of a", {7: "  a: {dtype: f16, major: n}"}, [(7, "kernel.a.major", "n", "one of m, k", "")]),
    ("major of b", {8: "  b: {dtype: f16, major: m}"}, [(8, "kernel.b.major", "m", "one of n, k", "")]),
    ("major of d", {9: "  d: {dtype: f16, major: k}"}, [(9, "kernel.d.major", "k", "one of m, n", "")]),
    (
        "major of c",
        {9: "  d: {dtype: f16, major: n}\n  c: {dtype: f16, major: k}"},
        [(10, "kernel.c.major", "k", "m, n", "")],
    ),
    (
        "unequal dtypes",
        {8: "  b: {dtype: bf16, major: k}"},
        [(8, "kernel.b.dtype", "bf16", "kernel.a.dtype = f16", "f16")],
    ),
    (
        "unknown operation",
        {10: "  epilogue: [alpha, rellu]"},
        [(10, "kernel.epilogue[1]", "rellu", "alpha", "relu")],
    ),
    (
        "operation's dtype",
        {10: "  epilogue: [{op: bias_n, dtype: half}]"},
        [(10, "kernel.epilogue[0].dtype", "half", "f32", "f16")],
    ),
    (
        "operation's key",
        {10: "  epilogue: [{op: bias_n, type: f32}]"},
        [(10, "kernel.epilogue[0].type", None, "unknown key", "dtype")],
    ),
    ("chain without list", {10: "  epilogue: relu"}, [(10, "kernel.epilogue", "relu", "a list", "[relu]")]),
    ("misspelt chain", {10: "  epilogue: rellu"}, [(10, "kernel.epilogue", "rellu", "a list", "")]),
    ("misspelt parent", {11: "desing:"}, [(11, "desing", None, "unknown key", "design")]),
    ("misspelt name", {2: "nmae: quick"}, [(2, "nmae", None, "unknown key", "name")]),
    (
        "misspelt in a swept subtree",
        {16: "  design.tile: [{m: 64, n: 64, K: 64}]"},
        [(16, "design.tile.K", None, "unknown key", "k")],
    ),
    (
        "range in a sweep",
        {16: '  design.tile.n: "64..256"'},
        [(16, "design.tile.n", '"64..256"', "or a range", "{from: 64, to: 256}")],
    ),
    ("number in the chain", {10: "  epilogue: [3]"}, [(10, "kernel.epilogue[0]", "3", "alpha", "")]),
    ("unknown key", {14: "  stage: 4"}, [(14, "design.stage", None, "unknown key", "stages")]),
    ("unknown top key", {20: "validation: {repeats: 3}"}, [(20, "validation", None, "unknown key", "validate")]),
    ("hopelessly unknown key", {14: "  zzz: 4"}, [(14, "design.zzz", None, "there are tile, cluster, stages", "")]),
    ("missing key", {12: "  tile: {m: 128, n: 256}"}, [(12, "design.tile.k", None, "missing: a whole number", "")]),
    ("missing operand", {8: ""}, [(4, "kernel.b", None, "missing: a mapping with the keys dtype, major", "")]),
    ("missing top key", {2: ""}, [(1, "name", None, "missing: a name of lower-case", "")]),
    ("duplicate key", {14: "  cluster: {m: 1, n: 1}"}, [(14, "design.cluster", None, "already on line 13", "")]),
    (
        "duplicate in flow",
        {12: "  tile: {m: 128, n: 8, k: 64, m: 1}"},
        [(12, "design.tile.m", None, "already on line 12", "")],
    ),
    ("yaml bool", {14: "  registers: no"}, [(14, "design.registers", "no", "YAML 1.1 reads no as false", "none")]),
    ("yaml bool in text", {3: "purpose: on"}, [(3, "purpose", "on", "reads on as true", '"on"')]),
    ("exponent", {14: "  stages: 1e1"}, [(14, "design.stages", "1e1", "exponents", "10")]),
    ("octal", {14: "  stages: 010"}, [(14, "design.stages", "010", "octal", "10")]),
    ("hex", {14: "  stages: 0x10"}, [(14, "design.stages", "0x10", "decimal", "")]),
    (
        "underscores",
        {12: "  tile: {m: 1_28, n: 256, k: 64}"},
        [(12, "design.tile.m", "1_28", "number, YAML 1.2 as text", "128")],
    ),
    ("sexagesimal", {13: "  cluster: 2:1"}, [(13, "design.cluster", "2:1", "base 60", "{m: 2, n: 1}")]),
    ("date", {3: "purpose: 2026-11-29"}, [(3, "purpose", "2026-11-29", "date", '"2026-11-29"')]),
    ("infinity", {14: "  stages: .inf"}, [(14, "design.stages", ".inf", "finite", "")]),
    ("huge", {14: "  stages: 99999999999999999999"}, [(14, "design.stages", "9" * 20, "64-bit", "")]),
    ("anchor of nothing", {13: "  cluster: *one"}, [(13, "design.cluster", "*one", "no anchor &one above", "")]),
    (
        "misspelt alias",
        {12: "  tile: &tile {m: 128, n: 256, k: 64}", 13: "  cluster: *tilt"},
        [(13, "design.cluster", "*tilt", "no anchor &tilt above: there is &tile", "*tile")],
    ),
    (
        "two anchors of one name",
        {12: "  tile: &t {m: 128, n: 256, k: 64}", 13: "  cluster: &t {m: 1}"},
        [(13, "design.cluster", "&t", "the anchor &t is on line 12 already", "")],
    ),
    (
        "anchor within itself",
        {13: "  cluster: &c {m: *c}"},
        [(13, "design.cluster.m", "*c", "line 13 holds itself", "")],
    ),
    ("anchor of a key", {13: "  &c cluster: {m: 1}"}, [(13, "design", None, "an anchor stands before a value", "")]),
    (
        "key in an alias",
        {12: "  tile: &t {m: 128, n: 256, k: 64}", 13: "  cluster: *t"},
        [(13, "design.cluster.k", None, "unknown key: there are m, n (in *t, written on line 12)", "")],
    ),
    (
        "value in an alias",
        {7: "  a: &a\n    dtype: f16\n    major: k", 9: "  d: *a"},
        [(11, "kernel.d.major", "k", "one of m, n (in *a, written on line 9)", "")],
    ),
    (
        "surprise that an alias repeats",
        {12: "  tile: {m: &m 1e2, n: *m, k: *m}"},
        [(12, "design.tile.m", "1e2", "exponents", "100")],
    ),
    ("merge key", {14: "  <<: {stages: 4}"}, [(14, "design.<<", None, "merge keys", "")]),
    ("tag", {14: "  stages: !!int 4"}, [(14, "design.stages", "tag:yaml.org,2002:int", "tags", "")]),
    (
        "python tag",
        {14: "  stages: !!python/object:os.system x"},
        [(14, "design.stages", "tag:yaml.org,2002:python/object:os.system", "tags", "")],
    ),
    ("yaml bool as key", {14: "  on: 4"}, [(14, "design.on", None, "not usable as a key", "")]),
    ("number as key", {14: "  4: 4"}, [(14, "design.4", None, "a key is a plain word", "")]),
    ("list as key", {14: "  ? [a]\n  : 4"}, [(14, "design", None, "a key is a plain word", "")]),
    ("version", {1: "version: 2"}, [(1, "version", "2", "only 1", "1")]),
    ("version as bool", {1: "version: true"}, [(1, "version", "true", "only 1", "1")]),
    ("version as float", {1: "version: 1.0"}, [(1, "version", "1.0", "only 1", "1")]),
    ("name", {2: "name: My-Kernel"}, [(2, "name", "My-Kernel", "lower-case letters, digits", "my_kernel")]),
    ("name with a newline", {2: 'name: "a\\n"'}, [(2, "name", '"a\\n"', "lower-case letters", "a")]),
    ("empty purpose", {3: 'purpose: ""'}, [(3, "purpose", '""', "one line of text", "")]),
    ("purpose of two lines", {3: 'purpose: "a\\nb"'}, [(3, "purpose", '"a\\nb"', "one line of text", "a b")]),
    (
        "sweep value",
        {16: "  design.tile.n:\n    - 64\n    - abc"},
        [(18, "design.tile.n", "abc", "whole number of 1", "")],
    ),
    ("sweep quoted", {16: "  design.tile.n: [64, '128']"}, [(16, "design.tile.n", '"128"', "whole number", "128")]),
    ("sweep surprise", {16: "  design.stages: [4, 08]"}, [(16, "design.stages", "08", "octal", "8")]),
    (
        "sweep enum",
        {17: "  design.schedule: [pingpang]"},
        [(17, "design.schedule", "pingpang", "cooperative, pingpong", "pingpong")],
    ),
    ("sweep major", {17: "  kernel.a.major: [k, n]"}, [(17, "kernel.a.major", "n", "one of m, k", "")]),
    ("sweep subtree", {16: "  design.tile: [{m: 64, n: 64}]"}, [(16, "design.tile.k", None, "missing", "")]),
    (
        "sweep key of subtree",
        {16: "  design.cluster: [{m: 1, q: 2}]"},
        [(16, "design.cluster.q", None, "unknown key", "")],
    ),
    (
        "sweep epilogue",
        {16: "  kernel.epilogue: [[], [silly]]"},
        [(16, "kernel.epilogue[0]", "silly", "silu", "silu")],
    ),
    ("sweep path", {16: "  design.tile.nn: [64]"}, [(16, "design.tile.nn", None, "no field", "design.tile.n")]),
    (
        "sweep short path",
        {16: "  tile.n: [64]"},
        [(16, "tile.n", None, "no field of kernel or design", "design.tile.n")],
    ),
    ("sweep scalar", {16: "  design.tile.n: 64"}, [(16, "design.tile.n", "64", "list of one or more values", "[64]")]),
    ("sweep empty list", {16: "  design.tile.n: []"}, [(16, "design.tile.n", "[]", "list of one or more values", "")]),
    (
        "sweep in sweep",
        {17: "  design.tile: [{m: 64, n: 64, k: 64}]"},
        [(16, "design.tile.n", None, "part of design.tile", "")],
    ),
    ("sweep of nothing", {15: "sweep: []", 16: "", 17: ""}, [(15, "sweep", "[]", "a mapping of fields", "")]),
    ("sweep of a surprise", {15: "sweep: 1e3", 16: "", 17: ""}, [(15, "sweep", "1e3", "exponents", "")]),
    ("sweep product", {15: "sweep: [3]", 16: "", 17: ""}, [(15, "sweep[0]", "3", "mapping of fields to lists", "")]),
    (
        "half of a subtree",
        {17: "  design.registers.producer: [40]"},
        [(17, "design.registers.consumer", None, "missing", "")],
    ),
    (
        "missing in one product",
        {12: "", 15: "sweep:\n- design.tile: [{m: 64, n: 64, k: 64}]", 16: "- design.stages: [4]", 17: ""},
        [(17, "design.tile", None, "missing in this product and outside the sweep", "")],
    ),
    (
        "field of where",
        {19: "  - tile.mm < 3"},
        [(19, "where[0]", "tile.mm < 3", "no field is named tile.mm", "tile.m")],
    ),
    (
        "what a plan makes",
        {19: "  - shared_memory < 3"},
        [(19, "where[0]", "shared_memory < 3", "there are kernel.family, kernel.arch, ", "")],
    ),
    ("subtree in where", {19: "  - tile < 3"}, [(19, "where[0]", "tile < 3", "no field is named tile", "tile.n")]),
    ("syntax of where", {19: "  - tile.m <"}, [(19, "where[0]", "tile.m <", "not an expression", "")]),
    ("assignment", {19: "  - tile.m = 64"}, [(19, "where[0]", "tile.m = 64", "== compares", "")]),
    ("constant of where", {19: '  - a.dtype == "fp16"'}, [(19, "where[0]", 'a.dtype == "fp16"', "never fp16", "f16")]),
    ("call in where", {19: "  - open('x')"}, [(19, "where[0]", "open('x')", "no function here", "")]),
    (
        "where is no list",
        {18: "where: tile.m < 3", 19: ""},
        [(18, "where", "tile.m < 3", "a list of texts", "[tile.m < 3]")],
    ),
    ("number in where", {19: "  - 3"}, [(19, "where[0]", "3", "text", "")]),
    (
        "where without truth",
        {19: "  - tile.m"},
        [(19, "where[0]", "tile.m", "must be true or false, and tile.m is a number", "")],
    ),
    (
        "where without value",
        {19: "  - c.dtype == 'f16'"},
        [(19, "where[0]", "c.dtype == 'f16'", "no kernel.c.dtype where kernel.c = null: test kernel.c first", "")],
    ),
    ("where of nothing", {19: "  - tile.m < 3"}, [(18, "where", None, "none of the 6 points", "")]),
    (
        "validate problems",
        {20: "validate: {problems: all}"},
        [(20, "validate.problems", "all", "standard, or a list", "")],
    ),
    ("no problems", {20: "validate: {problems: []}"}, [(20, "validate.problems", "[]", "one or more mappings", "")]),
    ("no repeats", {20: "validate: {repeats: 0}"}, [(20, "validate.repeats", "0", "1 or more", "1")]),
    (
        "negative extent",
        {21: "bench: {problems: [{m: -1, n: 8, k: 8}]}"},
        [(21, "bench.problems[0].m", "-1", "from 0", "0")],
    ),
    (
        "huge extent",
        {21: "bench: {problems: [{m: 4294967296, n: 8, k: 8}]}"},
        [(21, "bench.problems[0].m", "4294967296", "to 2147483647", "2147483647")],
    ),
    (
        "problem without list",
        {21: "bench: {problems: {m: 8, n: 8, k: 8}}"},
        [(21, "bench.problems", "{m: 8, n: 8, k: 8}", "a list", "[{m: 8, n: 8, k: 8}]")],
    ),
    (
        "problem's key",
        {21: "bench: {problems: [{m: 8, n: 8, k: 8, b: 2}]}"},
        [(21, "bench.problems[0].b", None, "unknown key", "")],
    ),
    ("syntax", {12: "  tile: {m: 128, n: 256"}, [(13, "", None, "not YAML", "")]),
    ("tab", {14: "\tstages: 4"}, [(14, "", None, "not YAML", "")]),
    ("second document", {22: "---", 23: "version: 1"}, [(22, "", None, "one file holds one document", "")]),
]


@pytest.mark.parametrize(("changes", "expected"), [pytest.param(c, e, id=i) for i, c, e in CASES])
def test_each_mistake_is_told_with_its_way_out(mistakes, changes, expected):
    errors = mistakes(changes).errors
    assert [(e.line, e.key, e.value, e.nearest) for e in errors] == [
        (ln, key, v, near) for ln, key, v, _, near in expected
    ]
    for error, (_, _, _, rule, _) in zip(errors, expected, strict=True):
        assert rule in error.rule


def test_the_whole_text_of_an_error(mistakes):
    errors = mistakes({12: '  tile: {m: "128", n: 256, k: 64}', 14: "  stage: 4"})
    first, second = str(errors).splitlines()
    assert first.endswith('x.yaml:12: design.tile.m = "128": a whole number of 1 or more; nearest legal value: 128')
    assert second.endswith("x.yaml:14: design.stage: unknown key; nearest known key: stages")


def test_all_mistakes_come_together_sorted_by_line(mistakes):
    errors = mistakes({
        2: "name: 3x", 6: "  arch: no", 10: "  epilogue: [relu, rely]",
        12: "  tile: {m: 1e2, n: x}", 14: "  stage: 3", 16: "  design.tile.n: [0, 64]",
        17: "  design.schedules: [pingpong]", 19: "  - tile.q > 3",
        20: "validate: {repeats: 1.5}", 22: "name: again",
    }).errors  # fmt: skip
    assert [e.line for e in errors] == [2, 6, 10, 12, 12, 12, 14, 16, 17, 19, 20, 22]


def test_of_an_unknown_family_nothing_else_is_told(mistakes):
    """What the fields of another family take says nothing; mistakes of the YAML itself are told all the same."""
    first, second = mistakes({5: "  family: gem", 12: "  tile: {m: 1e2, n: x}", 14: "  stage: 3"}).errors
    assert (first.line, first.key, first.value, first.nearest) == (5, "kernel.family", "gem", "gemm")
    assert first.rule == f"one of {', '.join(families.NAMES)}"
    assert (second.line, second.value) == (12, "1e2")


def test_columns_count_from_one(mistakes):
    (error,) = mistakes({12: "  tile: {m: 128, n: x, k: 64}"}).errors
    assert (error.line, error.column) == (12, 21)


@pytest.mark.parametrize(
    "text", ["", "# only a comment\n", "---\n", "null\n", "3\n", "[1, 2]\n", "text\n", "&a [*a]\n"]
)
def test_what_is_no_mapping_is_refused(mistakes, text):
    assert mistakes(text).errors


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_and_not_recursed_into(mistakes, opening):
    assert any("nested deeper" in e.rule or "not YAML" in e.rule for e in mistakes(opening * 5000).errors)


def test_a_broken_operation_of_the_user_is_an_error_of_the_load(load_edited, monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWRIGHT_OPS", str(tmp_path / "absent"))
    with pytest.raises(SpecErrors, match="is not a folder"):
        load_edited({})
