"""Properties that hold for every file: nothing but SpecErrors leaves `load`, and a sweep is exactly its product."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from warpwright.canonical import plain
from warpwright.point import Point
from warpwright.spec import SpecError, SpecErrors, load
from warpwright.spec.scalars import Surprise, read_plain
from warpwright.spec.yaml_nodes import compose

pytestmark = pytest.mark.slow

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

FIELDS = {
    "design.tile.m": st.sampled_from([64, 128, 192, 256]),
    "design.tile.n": st.integers(1, 512),
    "design.stages": st.one_of(st.just("auto"), st.integers(1, 12)),
    "design.cluster": st.fixed_dictionaries({"m": st.integers(1, 4), "n": st.integers(1, 4)}),
    "design.schedule": st.sampled_from(["cooperative", "pingpong"]),
    "design.registers": st.one_of(
        st.sampled_from(["auto", "none"]), st.fixed_dictionaries({"producer": st.just(40), "consumer": st.just(232)})
    ),
    "kernel.a.major": st.sampled_from(["m", "k"]),
    "kernel.d.dtype": st.sampled_from(["f16", "bf16", "f32"]),
    "kernel.epilogue": st.lists(st.sampled_from(["alpha", "relu", "silu"]), max_size=3, unique=True),
}
PRODUCTS = st.lists(
    st.lists(st.sampled_from(sorted(FIELDS)), unique=True, max_size=4).flatmap(
        lambda names: st.fixed_dictionaries({name: st.lists(FIELDS[name], min_size=1, max_size=3) for name in names})
    ),
    min_size=1,
    max_size=3,
)


def document(products):
    return {
        "version": 1,
        "name": "sample",
        "purpose": "a sample",
        "kernel": {
            "a": {"dtype": "f16", "major": "k"},
            "b": {"dtype": "f16", "major": "k"},
            "d": {"dtype": "f16", "major": "n"},
        },
        "design": {"tile": {"m": 128, "n": 128, "k": 64}},
        "sweep": products,
    }


def field(point: Point, path: str):
    """The value of a field as a file would write it."""
    value = point
    for step in path.split("."):
        value = getattr(value, step)
    if path == "kernel.epilogue":
        return [step.op for step in value]
    return value.model_dump() if hasattr(value, "model_dump") else value


@quick
@given(products=PRODUCTS)
def test_a_sweep_is_the_union_of_its_products(load_text, products):
    spec = load_text(yaml.safe_dump(document(products), sort_keys=False))
    assert spec.count() == sum(math.prod(map(len, product.values())) for product in products)
    points = spec.points()
    assert len(points) == len(set(points)) == spec.count() - spec.expansion.duplicates
    wanted = iter(points)
    remaining = next(wanted)
    for product in products:  # every combination is there, in order, unless it came before
        for values in itertools.product(*product.values()):
            matches = [p for p in points if all(field(p, n) == v for n, v in zip(product, values, strict=True))]
            assert matches
            if remaining is not None and remaining in matches:
                remaining = next(wanted, None)
    assert remaining is None


@quick
@given(products=PRODUCTS)
def test_a_point_written_as_a_file_gives_itself(load_text, products):
    point = load_text(yaml.safe_dump(document(products))).points()[-1]
    again = {**document([{}]), "kernel": plain(point.kernel), "design": plain(point.design)}
    assert load_text(yaml.safe_dump(again)).points() == [point]


LINES = yaml.safe_dump(document([{"design.tile.n": [64, 128], "design.stages": ["auto", 4]}]), sort_keys=False)
JUNK = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["no", "1e3", "2:1", "010", "&a x", "*a", "<<: {a: 1}", "!!int 3", "- ", "? ", "{", "]", "\t", "---", "..."]
    ),
)


def mistakes_of(path: Path) -> tuple[SpecError, ...]:
    """No mistakes for a file that loads, one or more for any other; every other exception is the test's failure."""
    try:
        spec = load(path)
    except SpecErrors as errors:
        found = errors.errors
        if not found:
            raise AssertionError("SpecErrors without a mistake") from errors
        return found
    assert spec.points()
    return ()


@quick
@given(cut=st.tuples(st.integers(0, len(LINES)), st.integers(0, 12)), junk=JUNK)
def test_a_damaged_file_loads_or_tells_its_mistakes(tmp_path, cut, junk):
    start, length = cut
    path = tmp_path / "x.yaml"
    path.write_bytes((LINES[:start] + junk + LINES[start + length :]).encode("utf-8", "surrogatepass"))
    errors = mistakes_of(path)
    assert all(error.rule and 0 <= error.line <= LINES.count("\n") + 10 for error in errors)


TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), st.text(max_size=4), st.just("auto")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["m", "n", "k", "tile", "a", "dtype", "op", "design.tile.n", "problems"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


@quick
@given(
    key=st.sampled_from(["version", "name", "purpose", "kernel", "design", "sweep", "where", "validate", "bench"]),
    tree=TREES,
)
def test_any_tree_at_any_key_loads_or_tells_its_mistakes(tmp_path, key, tree):
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({**document([{}]), key: tree}, sort_keys=False))
    assert all(error.line > 0 for error in mistakes_of(path))


@given(text=st.from_regex(r"[-+0-9a-fxo_.:eyn]{1,8}", fullmatch=True))
def test_a_plain_scalar_that_is_accepted_means_the_same_to_pyyaml(text):
    try:
        expected = yaml.safe_load(f"key: {text}")["key"]
    except (yaml.YAMLError, ValueError):  # PyYAML takes `0x_` for a number and fails to read it
        assume(False)
    value = read_plain(text)
    if not isinstance(value, Surprise):
        assert (type(value), value) == (type(expected), expected)


@given(st.recursive(
    st.one_of(st.integers(-9, 9), st.sampled_from(["a", "b c", "n"]), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)),
    max_leaves=12,
))  # fmt: skip
def test_composing_agrees_with_pyyaml(tree):
    def tuples(value):
        if isinstance(value, dict):
            return {key: tuples(inner) for key, inner in value.items()}
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    found = compose(yaml.safe_dump([tree]), "x.yaml")
    assert not found.errors
    assert not found.bad
    assert found.data == tuples([tree])
