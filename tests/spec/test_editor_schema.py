"""The exported JSON Schema accepts what loads, and refuses what an editor can know to be wrong."""

from __future__ import annotations

import jsonschema
import pytest
import yaml

from warpwright import families
from warpwright.spec import json_schema, load


@pytest.fixture(scope="module")
def validator():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("family", families.NAMES)
def test_a_starter_loads_and_validates(tmp_path, validator, family):
    path = tmp_path / "x.yaml"
    path.write_text(families.family(family).starter)
    spec = load(path)
    assert len(spec.points()) > 1
    assert all(point.kernel.family == family for point in spec.points())
    validator.validate(yaml.safe_load(path.read_text()))


def test_an_unknown_family_names_the_families():
    with pytest.raises(ValueError, match="gemm"):
        families.family("conv")
    with pytest.raises(ValueError, match="sm_90a"):
        families.target("gemm", "sm_20")


@pytest.mark.parametrize(("path", "value"), [
    (("version",), 2), (("name",), "No"), (("kernel", "a", "major"), "n"), (("kernel", "b", "dtype"), "f32"),
    (("kernel", "epilogue"), ["rely"]), (("kernel", "epilogue"), [{"op": "relu", "x": 1}]), (("design", "stage"), 3),
    (("design", "tile", "m"), "128"), (("design", "stages"), 0), (("design", "schedule"), "both"),
    (("sweep",), {"design.tile.q": [1]}), (("sweep",), {"design.tile.n": []}), (("sweep",), {"design.tile.n": ["x"]}),
    (("sweep",), []), (("sweep",), {"design.cluster": [{"m": 1, "q": 1}]}), (("where",), "tile.m"),
    (("bench", "problems"), []), (("validate", "problems"), "all"), (("other",), 1),
])  # fmt: skip
def test_the_schema_refuses(validator, path, value):
    document = yaml.safe_load(families.family("gemm").starter)
    node = document
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    assert not validator.is_valid(document)


@pytest.mark.parametrize(("path", "value"), [
    (("kernel", "epilogue"), ["alpha", {"op": "bias_n", "dtype": "f16"}]), (("design", "tile"), {"m": 64}),
    (("sweep",), [{"design.tile": [{"m": 64, "n": 64, "k": 64}]}, {"design.stages": ["auto", 3]}, {}]),
    (("sweep",), {"design.registers": ["auto", {"producer": 40, "consumer": 232}]}),
    (("sweep",), {"kernel.epilogue": [[], ["relu"]], "kernel.c.dtype": ["f16"]}),
    (("validate", "problems"), [{"m": 1, "n": 8, "k": 0}]),
])  # fmt: skip
def test_the_schema_accepts(validator, path, value):
    document = yaml.safe_load(families.family("gemm").starter)
    node = document
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    validator.validate(document)


# Which family a file is of, it says outside its sweep, or it is of the first.
@pytest.mark.parametrize(
    ("family", "part"), [(families.NAMES[0], "kernel"), *((family, "design") for family in families.NAMES)]
)
def test_the_sweep_alone_may_give_a_whole_part(tmp_path, validator, family, part):
    document = yaml.safe_load(families.family(family).starter)
    document["sweep"] = {part: [document.pop(part)]}
    document.pop("where", None)
    path = tmp_path / "x.yaml"
    text = yaml.safe_dump(document, sort_keys=False)
    path.write_text(text.replace("1.0e-05", "0.00001"))  # an exponent, which a file may not have
    assert len(load(path).points()) == 1
    validator.validate(document)
