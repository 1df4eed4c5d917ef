"""Twenty thousand broken YAML files and predicates: each loads, or its mistakes are told, soon and in few words."""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.attack.breaking import bases, broken, predicate
from tests.spec.replacing import offers
from tests.spec.test_where import FIELDS, OPEN, POINT
from warpwright import families
from warpwright.cli.app import app
from warpwright.spec import SpecError, SpecErrors, load
from warpwright.spec.fields import Fields
from warpwright.spec.point_values import PointValues
from warpwright.spec.where import Predicate, PredicateError

FILES, PARTS, EVERY = 18_000, 12, 20  # of every twentieth file, what its messages offer is tried
PREDICATES = 8_000
THROUGH_THE_COMMAND = 300
SECONDS, WORDS = 2.0, 12_000  # of one process; characters of a message

pytestmark = pytest.mark.filterwarnings("ignore::warpwright.epilogue.registry.OpWarning")


@pytest.fixture(autouse=True)
def one_schema(monkeypatch):
    """The schema is made anew for each file, since operations may come and go: here they do not."""
    made = cache(Fields.schema.func)
    once = {name: Fields(name) for name in families.NAMES}
    monkeypatch.setattr(Fields, "schema", property(lambda fields: made(once[fields.family])))


@cache
def files() -> list[str]:
    return bases()


def told(path: Path, data: bytes, what: str) -> SpecErrors | None:
    """What is wrong with a file; None where it loads."""
    path.write_bytes(data)
    started = time.process_time()
    try:
        load(path).points()
        errors = None
    except SpecErrors as found:
        errors = found
    except Exception as error:
        raise AssertionError(what) from error
    assert time.process_time() - started < SECONDS, what
    return errors


@pytest.mark.parametrize("part", range(PARTS))
def test_a_broken_file_loads_or_its_mistakes_are_told(tmp_path, seed, part):
    path = tmp_path / "x.yaml"
    good = 0
    for number in range(part, FILES, PARTS):
        what = f"ATTACK_SEED={seed}, file {number}: {path}"
        data = broken(random.Random(f"{seed} {number}"), files())
        errors = told(path, data, what)
        if errors is None:
            good += 1
            continue
        text = str(errors)
        assert len(text) < WORDS, what
        assert all(line.isprintable() and len(line) < 1600 for line in text.split("\n")), what
        lines = len(data.decode("utf-8", "replace").splitlines()) + 2
        assert errors.errors, what
        for error in errors.errors:
            assert error.rule, what
            assert 0 <= error.line <= lines, what
            assert str(error).startswith(f"{path}:{error.line}: " if error.line else f"{path}: "), what
        if number % EVERY == part % EVERY:
            try_offers(path, data, errors, what)
    assert FILES / PARTS * 0.05 < good < FILES / PARTS * 0.5  # some change nothing that matters, most do


def try_offers(path: Path, data: bytes, errors: SpecErrors, what: str) -> None:
    """What is offered instead of a value, put there, is legal there."""
    try:
        text = data.decode()
        yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        return
    if not text.isascii() or "\r" in text or "&" in text:
        return  # lines and places in them are counted in more than one way
    for error in errors.errors[:5]:
        if error.nearest and error.nearest_is == "legal value" and error.line:
            tried = [told(path, changed.encode(), what) for changed in offers(text, error)]
            # Other items of a list may be wrong likewise, on the same line: one less is.
            before = alike(error, errors)
            assert all(alike(error, found) < before for found in tried if found), (what, error)


def alike(error: SpecError, errors: SpecErrors) -> int:
    """How many of some mistakes have the line, the key and the rule of one."""
    return sum((e.line, e.key, e.rule) == (error.line, error.key, error.rule) for e in errors.errors)


@pytest.mark.parametrize("part", range(4))
def test_a_predicate_holds_or_its_mistake_is_told(seed, part):
    held = 0
    for number in range(part, PREDICATES, 4):
        rng = random.Random(f"{seed} where {number}")
        text = predicate(rng, rng.choice((1, 2, 2, 3, 4, 6)))
        what = f"ATTACK_SEED={seed}, predicate {number}: {text}"
        started = time.process_time()
        rule = refused(text, what)
        assert time.process_time() - started < SECONDS, what
        assert rule.isprintable(), what
        assert len(rule) < 600, what
        held += not rule
    assert held > PREDICATES / 4 * 0.1


def refused(text: str, what: str) -> str:
    """Why a predicate is not usable, "" where it is true or false at two points."""
    try:
        found = Predicate(text, FIELDS)
        assert all(isinstance(found.holds(PointValues(point)), bool) for point in (POINT, OPEN)), what
    except PredicateError as error:
        return error.rule
    except Exception as error:
        raise AssertionError(what) from error
    return ""


def test_the_command_tells_the_same(tmp_path, seed):
    path, runner = tmp_path / "x.yaml", CliRunner()
    for number in range(THROUGH_THE_COMMAND):
        what = f"ATTACK_SEED={seed}, file {number} of the command: {path}"
        data = broken(random.Random(f"{seed} command {number}"), files())
        errors = told(path, data, what)
        result = runner.invoke(app, ["plan", str(path), "-o", str(tmp_path / "out")])
        assert result.exception is None or isinstance(result.exception, SystemExit), (what, result.exception)
        if errors is None:
            assert result.exit_code in (0, 1), (what, result.output)
        else:
            assert result.exit_code == 2, (what, result.output)
            assert str(path) in result.output.replace("\n", ""), what
            assert "Traceback" not in result.output, what
            assert len(result.output) < 2 * WORDS, what
    assert not (tmp_path / "out").exists()
