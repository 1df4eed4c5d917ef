"""Predicates: what they can say, and that they cannot do anything else."""

from __future__ import annotations

import pytest

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
from warpwright.spec.fields import Fields
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


@pytest.mark.parametrize(("text", "value"), [
    ("tile.m * tile.n <= 32768", True), ("design.tile.m == 128", True), ("tile.m // 3 == 42", True),
    ("tile.n % 96 == 0", False), ("tile.m / tile.n < 0.5", False), ("64 < tile.m < 256", True),
    ("-tile.m < 0", True), ("not (tile.m == 128)", False), ("cluster.m + cluster.n == 3", True),
    ('stages == "auto" or stages < 4', True), ('stages != "auto" and stages < 4', False),
    ("tile.n in [64, 128]", False), ("tile.n not in (64, 128)", True), ("tile.m - 28 == 100", True),
    ("max(tile.m, tile.n) == 256", True), ("min(tile.m, tile.n, 3) == 3", True), ("abs(tile.m - tile.n) == 128", True),
    ('kernel.a.dtype == "f16"', True), ("a.dtype == b.dtype", True), ('b.major == "k"', False),
    ('"relu" in epilogue', True), ('"silu" in kernel.epilogue', False), ("c == None", True), ("c != None", False),
    ("registers.producer == 40", True), ('registers != "auto"', True), ('scheduler.raster == "m"', True),
    ('c != None and c.dtype == "f16"', False), (" tile.m == 128 ", True),
])  # fmt: skip
def test_truth(text, value):
    assert Predicate(text, FIELDS).holds(POINT) is value


@pytest.mark.parametrize("text", [
    "__import__('os').system('true')", "().__class__.__bases__[0].__subclasses__()", "tile.__class__ == 3",
    "tile.m.real == 3", "tile.m.__init__ == 3", "[tile.m for x in (1, 2)] == 3", "(lambda: tile.m)() == 3",
    "tile.m ** 9 == 3",
    "tile.m << 9 == 3", "f'{tile.m}' == 'x'", "tile.m if tile.n else 3", "(x := tile.m) == 3", "tile['m'] == 3",
    "tile.m is 3", "{tile.m} == 3", "{'a': tile.m} == 3", "tile.m @ 3 == 3", "open == tile.m", "min == tile.m",
    "max(*[tile.m]) == 3", "max(tile.m, key=abs) == 3", "min.__call__(tile.m) == 3", "b'x' == tile.m", "1j == tile.m",
    "... == tile.m", "await tile.m", "tile.m; tile.n", "import os", "", " ", "#", "tile.m == 3\x00", "1 == 1", "True",
    "(" * 300 + "tile.m" + ")" * 300, "-" * 990 + "tile.m", "not " * 240 + "tile.m == 3", "tile.m == 3" + " " * 1000,
    "a.dtype == 3", "tile.m == '128'", "tile.m in ['x']", '"rely" in epilogue', "schedule in ['cooperative', 'pong']",
    "tile.m == None", "stages == 'all'", "tile.m == True",
])  # fmt: skip
def test_refused_when_loaded(text):
    with pytest.raises(PredicateError):
        Predicate(text, FIELDS)


@pytest.mark.parametrize(("text", "rule"), [
    ("stages < 4", "no value where stages = auto"), ("tile.m % 0 == 0", "tile.m = 128"),
    ("c.dtype == 'f16'", "no kernel.c.dtype where kernel.c = null: test kernel.c first"), ("tile.m + tile.n", "is 384"),
    ("tile.m and tile.n", "is 256"), ("max() == tile.m", "tile.m = 128"), ("tile.m", "true or false, and is 128"),
    ("'x' * 99999 * tile.m == 'x'", "tile.m = 128"), ("min(tile.m) == 3", "tile.m = 128"),
])  # fmt: skip
def test_refused_at_a_point(text, rule):
    with pytest.raises(PredicateError) as caught:
        Predicate(text, FIELDS).holds(POINT)
    assert rule in caught.value.rule


def test_names_that_miss_get_the_nearest_field():
    for text, nearest in [("tile.mm < 3", "tile.m"), ("stage == 3", "stages"), ("a.dtyp == 'f16'", "kernel.a.dtype")]:
        with pytest.raises(PredicateError) as caught:
            Predicate(text, FIELDS)
        assert caught.value.nearest == nearest
