"""Words of other tools lead to what they are here, or to why there is none."""

from __future__ import annotations

import pytest

from tests.spec.conftest import GOOD
from warpwright import families
from warpwright.spec import SpecErrors, load
from warpwright.spec.elsewhere import _KEYS, _VALUES
from warpwright.spec.fields import Fields

# (lines changed, key, value, nearest, part of the rule)
WORDS = [
    ({10: "  epilogue: [gelu]"}, "kernel.epilogue[0]", "gelu", "", ": gelu is gelu_erf or gelu_tanh"),
    ({10: "  epilogue: [bias]"}, "kernel.epilogue[0]", "bias", "", ": bias is bias_m or bias_n"),
    ({10: "  epilogue: [{op: GELU}]"}, "kernel.epilogue[0].op", "GELU", "", ": GELU is gelu_erf or gelu_tanh"),
    (
        {9: "  d: {dtype: f16, major: row}"},
        "kernel.d.major",
        "row",
        "",
        ": it names the contiguous mode: row-major A is k",
    ),
    ({10: "  epilogue: [swish]"}, "kernel.epilogue[0]", "swish", "silu", ""),
    ({10: "  epilogue: [residual]"}, "kernel.epilogue[0]", "residual", "beta_c", ""),
    ({10: "  epilogue: [sigmoid]"}, "kernel.epilogue[0]", "sigmoid", "", "an operation of your own is one file"),
    ({7: "  a: {dtype: fp8, major: k}"}, "kernel.a.dtype", "fp8", "", ": fp8 is e4m3 or e5m2, with a scale per 32"),
    ({7: "  a: {dtype: fp4, major: k}"}, "kernel.a.dtype", "fp4", "nvf4", ": fp4 has scales: mxf4 (a power of two"),
    ({7: "  a: {dtype: float8_e4m3fn, major: k}"}, "kernel.a.dtype", "float8_e4m3fn", "e4m3", ""),
    ({7: "  a: {dtype: nvfp4, major: k}"}, "kernel.a.dtype", "nvfp4", "nvf4", ""),
    ({7: "  a: {dtype: mxf8, major: k}"}, "kernel.a.dtype", "mxf8", "", ": mxf8 is mxf8_e4m3 or mxf8_e5m2"),
    ({7: "  a: {dtype: int8, major: k}"}, "kernel.a.dtype", "int8", "i8", ""),
    (
        {7: "  a: {dtype: uint8, major: k}"},
        "kernel.a.dtype",
        "uint8",
        "i8",
        "uint8 is not offered, no MMA of that type",
    ),
    ({9: "  d: {dtype: e4m3, major: n}"}, "kernel.d.dtype", "e4m3", "", "e4m3 is not offered, this field has no"),
    (
        {
            7: "  a: {dtype: i8, major: k}",
            8: "  b: {dtype: i8, major: k}",
            9: "  d: {dtype: int32, major: n}",
            10: "  epilogue: []",
        },
        "kernel.d.dtype",
        "int32",
        "i32",
        "",
    ),
    ({9: "  d: {dtype: float, major: n}"}, "kernel.d.dtype", "float", "f32", ""),
    ({7: "  a: {dtype: half, major: k}"}, "kernel.a.dtype", "half", "f16", ""),
    ({6: "  arch: sm_80"}, "kernel.arch", "sm_80", "sm_90a", "sm_80 is not offered, it is older than Hopper"),
    ({6: "  arch: sm_100"}, "kernel.arch", "sm_100", "sm_100a", "one of sm_90a, sm_100a"),
    ({6: "  arch: b200"}, "kernel.arch", "b200", "sm_100a", "one of sm_90a, sm_100a"),
    ({6: "  arch: gb300"}, "kernel.arch", "gb300", "sm_103a", "one of sm_90a, sm_100a"),
    ({6: "  arch: hopper"}, "kernel.arch", "hopper", "sm_90a", "one of sm_90a, sm_100a"),
    ({5: "  family: attention"}, "kernel.family", "attention", "", "README.md says what is not offered"),
    ({5: "  family: matmul"}, "kernel.family", "matmul", "gemm", "one of"),
    ({5: "  family: memcpy"}, "kernel.family", "memcpy", "copy", "one of"),
    ({6: "  arch: sm_90a\n  batch: 4"}, "kernel.batch", None, "", "the batch is `l` of a problem, in bench.problems"),
    ({6: "  arch: sm_90a\n  m: 4096"}, "kernel.m", None, "", "extents belong to a problem"),
    ({6: "  arch: sm_90a\n  sfa: {dtype: ue8m0}"}, "kernel.sfa", None, "", "scales follow from the dtype"),
    ({14: "  use_2cta_instrs: true"}, "design.use_2cta_instrs", None, "cta_group", "unknown key"),
    ({14: "  scheduler: dynamic"}, "design.scheduler", "dynamic", "{kind: dynamic}", "a mapping"),
    ({14: "  split_k: 4"}, "design.split_k", None, "", "split-K and stream-K are not offered"),
    ({14: "  num_stages: 4"}, "design.num_stages", None, "stages", "unknown key"),
    ({14: "  num_warps: 8"}, "design.num_warps", None, "consumer_warps", "unknown key"),
    ({14: "  BLOCK_M: 128"}, "design.BLOCK_M", None, "", "here it is design.tile.m"),
    ({14: "  warp_specialized: true"}, "design.warp_specialized", None, "", "design.schedule says how"),
    ({14: "  epilogue: [relu]"}, "design.epilogue", None, "", "here it is kernel.epilogue"),
    ({20: "stages: 4"}, "stages", None, "", "here it is design.stages"),
    ({20: "filter: [tile.m < 3]"}, "filter", None, "where", "unknown key"),
    ({20: "repeats: 4"}, "repeats", None, "", "here it is validate.repeats"),
    ({16: "  design.num_stages: [3]"}, "design.num_stages", None, "design.stages", "no field"),
    ({16: "  BLOCK_N: [64]"}, "BLOCK_N", None, "design.tile.n", "no field"),
    ({16: "  kernel.batch: [2]"}, "kernel.batch", None, "", "the batch is `l` of a problem"),
    ({16: "  tile.n: [64]"}, "tile.n", None, "design.tile.n", "no field"),
    ({19: "  - num_stages > 3"}, "where[0]", "num_stages > 3", "stages", "no field is named num_stages"),
    ({19: "  - split_k > 3"}, "where[0]", "split_k > 3", "", "split-K and stream-K are not offered"),
    ({19: "  - batch == 1"}, "where[0]", "batch == 1", "", "the batch is `l` of a problem"),
]


@pytest.mark.parametrize(("changes", "key", "value", "nearest", "rule"), WORDS)
def test_a_word_of_other_tools_leads_on(mistakes, changes, key, value, nearest, rule):
    error = mistakes(changes).errors[0]
    assert (error.key, error.value, error.nearest) == (key, value, nearest)
    assert rule in error.rule


def test_an_arch_that_a_family_has_no_kernels_for_is_told_so(mistakes):
    errors = mistakes({5: "  family: ladder", 6: "  arch: sm_120a"}).errors
    (rule,) = (error.rule for error in errors if error.key == "kernel.arch")
    assert rule == "one of sm_90a, sm_100a: sm_120a is not offered, this family has no kernels for it"


def test_where_an_operation_is_unknown_it_is_told_where_they_are_from(mistakes, monkeypatch, tmp_path):
    monkeypatch.delenv("WARPWRIGHT_OPS", raising=False)
    (error,) = mistakes({10: "  epilogue: [scale_n]"}).errors
    assert "silu (WARPWRIGHT_OPS is not set)" in error.rule
    monkeypatch.setenv("WARPWRIGHT_OPS", str(tmp_path))
    (error,) = mistakes({10: "  epilogue: [scale_n]"}).errors
    assert f"silu (WARPWRIGHT_OPS: {tmp_path})" in error.rule


@pytest.mark.parametrize("family", families.NAMES)
def test_every_word_leads_to_something(family):
    """A field that there is, a key of a file, or a sentence; never to itself, and written as it is looked up."""
    fields = Fields(family)
    known = {*fields.paths, *fields.keys(()), "bench.problems", "validate.repeats"}
    own = families.family(family)
    for word, found in {**_KEYS, **own.elsewhere}.items():
        assert " " in found or found in known, (word, found)
        assert word == word.lower()
    assert all(word == word.lower() and word not in families.NAMES for word in own.known_as)


@pytest.mark.parametrize("family", families.NAMES)
def test_a_family_s_words_for_values_are_no_choices_and_say_what_is(family):
    fields = Fields(family)
    for key, words in families.family(family).values.items():
        paths = [tuple(path.split(".")) for path in fields.paths if path.split(".")[-1] == key]
        assert paths
        for word, sentence in words.items():
            assert " " in sentence
            assert word == word.lower()
            assert all(word not in fields.choices(path) for path in paths)


def test_every_word_for_a_value_is_one_or_says_why():
    fields = Fields("gemm")
    of = {
        "dtype": [("kernel", "a", "dtype"), ("kernel", "d", "dtype")],
        "arch": [("kernel", "arch")],
        "epilogue": [("kernel", "epilogue", 0)],
    }
    for table, words in _VALUES.items():
        choices = [choice for path in of[table] for choice in fields.choices(path)]
        assert choices
        for word, found in words.items():
            assert " " in found or found in choices, (word, found)
            assert word not in choices


@pytest.mark.parametrize("name", ["ledger", "con", "nul", "com1", "lpt9"])
def test_reserved_names_are_refused_with_another(mistakes, name):
    (error,) = mistakes({2: f"name: {name}"}).errors
    assert (error.key, error.value, error.nearest) == ("name", name, f"my_{name}")
    assert "none that is kept for other things (ledger, con" in error.rule


@pytest.mark.parametrize(
    "name",
    [
        ".",
        "..",
        "current.json",
        "manifest.json",
        ".hidden",
        "a/b",
        "a\\\\b",
        "CON",
        "nul.txt",
        "a" * 65,
        "-o",
        "~",
        "é",
        "",
    ],
)
def test_names_that_are_no_words_are_refused(tmp_path, name):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD.replace("name: sample", f'name: "{name}"'))
    with pytest.raises(SpecErrors, match="name = "):
        load(path)


def test_the_longest_name_has_folders(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(GOOD.replace("name: sample", f"name: {'a' * 64}"))
    assert load(path).name == "a" * 64
