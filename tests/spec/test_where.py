"""Predicates: what they can say, and that they cannot do anything else."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from warpwright import families
from warpwright.families.gemm.models import (
    Cluster,
    Design,
    EpilogueStep,
    Kernel,
    OperandA,
    OperandB,
    OperandD,
    Registers,
    Tile,
)
from warpwright.point import Point
from warpwright.spec import load
from warpwright.spec.fields import Fields
from warpwright.spec.point_values import PointValues
from warpwright.spec.where import Predicate, PredicateError

FIELDS = Fields("gemm")
POINT = Point(
    "gemm",
    "sm_90a",
    Kernel(
        a=OperandA(dtype="f16", major="k"),
        b=OperandB(dtype="f16", major="n"),
        d=OperandD(dtype="f32", major="n"),
        epilogue=(EpilogueStep(op="alpha"), EpilogueStep(op="relu")),
    ),
    Design(tile=Tile(m=128, n=256, k=64), cluster=Cluster(m=2), registers=Registers(producer=40, consumer=232)),
)


#: The same with an empty chain and everything left to the plan: six stages, 40 and 232 registers, subtiles of 32.
OPEN = Point(
    "gemm",
    "sm_90a",
    Kernel(a=OperandA(dtype="f16", major="k"), b=OperandB(dtype="f16", major="k"), d=OperandD(dtype="f16", major="n")),
    Design(tile=Tile(m=128, n=128, k=64)),
)


def holds(text, point):
    return Predicate(text, FIELDS).holds(PointValues(point))


@pytest.mark.parametrize(("text", "value"), [
    ("tile.m * tile.n <= 32768", True), ("design.tile.m == 128", True), ("tile.m // 3 == 42", True),
    ("tile.n % 96 == 0", False), ("tile.m / tile.n < 0.5", False), ("64 < tile.m < 256", True),
    ("256 < tile.m < 512", False), ("64 < tile.m < 100", False), ("64 < tile.m > 100", True),
    ("tile.m < tile.n < 256", False), ("tile.k < tile.m < tile.n", True), ("128 == tile.m == tile.n", False),
    ("-tile.m < 0", True), ("not (tile.m == 128)", False),
    ("cluster.m + cluster.n == 3", True), ("tile.n in [64, 128]", False), ("tile.n not in (64, 128)", True),
    ("tile.m - 28 == 100", True), ("max(tile.m, tile.n) == 256", True), ("min(tile.m, tile.n, 3) == 3", True),
    ("abs(tile.m - tile.n) == 128", True), ("tile.m in [cluster.m, tile.n // 2]", True),
    ('kernel.a.dtype == "f16"', True), ("a.dtype == b.dtype", True), ('b.major == "k"', False),
    ("a.major == b.major", False), ('"relu" in epilogue', True), ('"silu" in kernel.epilogue', False),
    ("c == None", True), ("c != None", False), ("registers.producer == 40", True), ('registers != "auto"', True),
    ('scheduler.raster == "m"', True), ('c != None and c.dtype == "f16"', False), (" tile.m == 128 ", True),
    ("epilogue == []", False), ("epilogue != []", True), ('epilogue == ["alpha", "relu"]', True),
    ('epilogue == ("alpha", "relu")', True), ('epilogue == ["relu", "alpha"]', False), ('["alpha"] == epilogue', False),
    ('epilogue in [[], ["alpha", "relu"]]', True), ('epilogue not in [[], ["relu"]]', True),
    ("True and tile.m == 128", True), ("tile.m == 128.0", True), ("tile.m == 2 or not tile.n == 3", True),
    ("(tile.m > 3) == (tile.n > 3)", True), ("stages * 64 < 600", True),
])  # fmt: skip
def test_truth(text, value):
    assert holds(text, POINT) is value


@pytest.mark.parametrize(("text", "value"), [
    ("stages == 6", True), ("stages > 3", True), ("stages > 6", False), ("stages in [5, 6]", True),
    ("stages in [4, 5]", False), ("stages * tile.k == 384", True), ('stages == "auto"', True),
    ('stages != "auto"', False),
    ('"auto" == stages', True), ('stages in ["auto"]', True), ('stages == "auto" or stages < 4', True),
    ('stages != "auto" and stages < 4', False), ("registers.consumer == 232", True), ("registers.producer > 24", True),
    ('registers == "auto"', True), ('registers == "none"', False), ("epilogue_n == 32", True),
    ("epilogue_stages == 2", True), ("epilogue == []", True), ("epilogue != []", False), ('"relu" in epilogue', False),
    ("max(stages, 3) == 6", True), ("-stages == -6", True), ("stages == stages", True),
    ("[stages, tile.k] == [6, 64]", True), ('[stages, tile.k] == ["auto", 64]', True), ("[stages] == [5]", False),
    ("[stages, tile.k] in [[4, 128], [6, 64]]", True), ("[6, 64] == [stages, tile.k]", True),
    ("[stages, tile.k] != [6, 64]", False), ("[stages, tile.k] == [6]", False), ("[[stages]] == [[6]]", True),
    ("[True] == [cluster.m]", False), ("[cluster.m] == [1]", True),
])  # fmt: skip
def test_a_choice_of_the_plan_is_what_it_became_and_also_what_is_written(text, value):
    assert holds(text, OPEN) is value


def test_registers_that_the_plan_leaves_alone():
    """With one consumer warpgroup nothing is split: `auto` became `none`, and has no producer's share."""
    point = OPEN.__class__("gemm", "sm_90a", OPEN.kernel, Design(tile=Tile(m=64, n=64, k=64), consumer_warps=4))
    assert holds('registers == "none"', point)
    with pytest.raises(PredicateError, match=r"no registers.producer where registers = none: test registers first"):
        holds("registers.producer > 24", point)


def test_a_point_that_has_no_plan_stays_to_be_listed_as_illegal():
    point = OPEN.__class__("gemm", "sm_90a", OPEN.kernel, Design(tile=Tile(m=128, n=512, k=64)))
    assert holds("stages > 100", point)
    assert holds("stages < 100", point)
    assert not holds("tile.n < 512 and stages > 100", point)


@pytest.mark.parametrize("family", families.NAMES)
def test_every_choice_that_a_family_leaves_to_its_plan_is_told(family):
    fields = Fields(family)
    for name, target in families.family(family).targets.items():
        spec = load_starter(family)
        plans = [target.plan(point) for point in spec.points() if point.arch == name]
        open_fields = {path for path in fields.paths if "auto" in fields.choices(tuple(path.split(".")))}
        assert open_fields
        for plan in plans:
            if plan.legal:
                told = target.resolved(plan)
                assert set(told) == open_fields
                assert "auto" not in told.values()


def load_starter(family):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.yaml"
        path.write_text(families.family(family).starter)
        return load(path)


@pytest.mark.parametrize("text", [
    "__import__('os').system('true')", "().__class__.__bases__[0].__subclasses__()", "tile.__class__ == 3",
    "tile.m.real == 3", "tile.m.__init__ == 3", "[tile.m for x in (1, 2)] == 3", "(lambda: tile.m)() == 3",
    "tile.m ** 9 == 3", "10**10**8 > tile.m", "tile.m << 99999999 == 3", "tile.m | 3 == 3", "~tile.m == 3",
    "tile.m << 9 == 3", "f'{tile.m}' == 'x'", "f'{tile.m:999999999}' == 'x'", "tile.m if tile.n else 3",
    "(x := tile.m) == 3", "tile['m'] == 3", "'abc'[tile.m] == 'c'",
    "tile.m is 3", "{tile.m} == 3", "{'a': tile.m} == 3", "tile.m @ 3 == 3", "open == tile.m", "min == tile.m",
    "max(*[tile.m]) == 3", "max(tile.m, key=abs) == 3", "min.__call__(tile.m) == 3", "b'x' == tile.m", "1j == tile.m",
    "... == tile.m", "await tile.m", "tile.m; tile.n", "import os", "", " ", "#", "tile.m == 3\x00", "1 == 1", "True",
    "(" * 300 + "tile.m" + ")" * 300, "-" * 990 + "tile.m", "not " * 240 + "tile.m == 3", "tile.m == 3" + " " * 1000,
    "a.dtype == 3", "tile.m == '128'", "tile.m in ['x']", '"rely" in epilogue', "schedule in ['cooperative', 'pong']",
    "tile.m == None", "stages == 'all'", "tile.m == True", "tile.m == [128]", "tile.m", "tile.m and tile.n",
    "not tile.m", "tile.m + tile.n", "'%999999999d' % tile.m == 'x'", "'%z' % 1 == tile.m", "'a' * 10**9 == tile.m",
    "'x' * 99999 * tile.m == 'x'", "[tile.m] * 10**9 == []", "[tile.m] + [3] == [3]", "'a' + a.dtype == 'x'",
    "max(epilogue) == 'relu'", "max() == tile.m", "min(tile.m) == 3", "abs(tile.m, 3) == 3", "max([tile.m, 3]) == 3",
    "a.dtype.upper() == 'F16'", "a.dtype < 'f16'", "epilogue < []", "epilogue == 'relu'", "epilogue == 3",
    "epilogue == ['rely']", "'f' in a.dtype", "tile.m in 128", "tile.m in tile.n", "schedule == tile.m",
    "a.dtype in 'f16'", "schedule + 1 == 2", "-schedule == 1", "tile.m == 1e999", "tile.m == -1e999",
    "tile.m == " + "9" * 30, "tile.m == 0x" + "f" * 500, "epilogue", "c and tile.m == 3", "tile.m == (tile.n > 3)",
    "\ud800 == tile.m", "tile.m == '\\d'", "a.dtype == '\\d'",
])  # fmt: skip
def test_refused_when_loaded(text):
    with pytest.raises(PredicateError) as caught:
        Predicate(text, FIELDS)
    assert caught.value.rule.isprintable()
    assert len(caught.value.rule) < 600  # it may list all fields


@pytest.mark.parametrize(("text", "rule"), [
    ("tile.m % 0 == 0", "has no value where tile.m = 128: division by zero"),
    ("tile.m / (tile.n - 256) > 3", "has no value where tile.m = 128, tile.n = 256: division by zero"),
    ("c.dtype == 'f16'", "no kernel.c.dtype where kernel.c = null: test kernel.c first"),
    ("tile.m" + " * 9223372036854775807" * 4 + " > 3", "tile.m = 128: a number becomes too large"),
    ("-tile.m" + " * 9e18" * 40 + " > 3", "tile.m = 128: a number becomes too large"),
])  # fmt: skip
def test_refused_at_a_point(text, rule):
    with pytest.raises(PredicateError) as caught:
        holds(text, POINT)
    assert rule in caught.value.rule


@pytest.mark.parametrize(("text", "rule", "nearest"), [
    ("a.dtype == 'fp16'", "kernel.a.dtype is never fp16: f16, bf16", "f16"),
    ("tile.m", "must be true or false, and tile.m is a number", ""),
    ("tile.m ** 2 > 3", "** is not available in a predicate: there are + - * / // %, comparisons", ""),
    ("epilogue == 'relu'", "kernel.epilogue is a list: write 'relu' in kernel.epilogue, or == [...]", ""),
    ("tile.m in 128", "128 is a number, and `in` looks into a list: tile.m in [...]", ""),
    ("schedule < 3", "schedule is text, where a number is needed", ""),
    ("max(tile.m) == 3", "max takes two numbers or more", ""),
])  # fmt: skip
def test_what_is_told(text, rule, nearest):
    with pytest.raises(PredicateError) as caught:
        Predicate(text, FIELDS)
    assert caught.value.rule.startswith(rule)
    assert caught.value.nearest == nearest


def test_names_that_miss_get_the_nearest_field():
    for text, nearest in [("tile.mm < 3", "tile.m"), ("stage == 3", "stages"), ("a.dtyp == 'f16'", "kernel.a.dtype")]:
        with pytest.raises(PredicateError) as caught:
            Predicate(text, FIELDS)
        assert caught.value.nearest == nearest
