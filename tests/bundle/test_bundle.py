"""A bundle made, run in a process of its own with a CPU double, and its results brought home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.bundle.kit import BAD, FUSED, GOOD, HERE, ROOT, bundle, run
from tests.device.plans import make_folder, make_plan, problem
from tests.device.test_compare import emulated
from tests.records import rewrite
from warpwright.bundle import dependencies, import_results, make_bundle
from warpwright.bundle.contents import needed_modules
from warpwright.canonical import canonical_json
from warpwright.device.cases import CASES, add_cases, write_case
from warpwright.device.variant import load_variant
from warpwright.errors import UserError
from warpwright.plan.stored import plan_from_json
from warpwright.record import read_json, write_json


@pytest.mark.usefixtures("light")
def test_round_trip(config: Path) -> None:
    packed = bundle(config, validate={"problems": "standard", "repeats": 2})
    assert packed.variants == (BAD, FUSED, GOOD)
    done = run(packed.directory)
    assert done.returncode == 1, done.stderr
    table = done.stdout[done.stdout.index("\nvariant") :].splitlines()
    assert [line.split()[:2] for line in table[2:5]] == [[BAD, "incorrect"], [FUSED, "correct"], [GOOD, "correct"]]
    assert "16x16x16: " in table[3]
    assert "16x16x16: " not in table[2]  # never timed
    heads, *rows = done.stdout.partition("\n16x16x16\n")[2].splitlines()[:5]
    assert heads.endswith("vs double  vs double copy")
    assert [row.split("  ")[0] for row in rows] == [FUSED, "double", "double copy", GOOD]
    assert (packed.directory / "libcute_dsl_runtime.so").read_bytes() == b"runtime"

    imported = import_results([packed.directory / "results.jsonl"], config.parent)
    assert imported.refused == []
    assert sorted((variant, method, status) for _, variant, method, status in imported.merged) == [
        (BAD, "gpu-validated", "incorrect"),
        (FUSED, "benchmarked", "correct"),
        (FUSED, "gpu-validated", "correct"),
        (GOOD, "benchmarked", "correct"),
        (GOOD, "gpu-validated", "correct"),
    ]
    gpu = json.loads((config / GOOD / "gpu.json").read_text())
    build = json.loads((config / GOOD / "build.json").read_text())
    assert all(gpu[key] == build[key] for key in ("source_sha", "cubin_sha", "arch", "toolchain"))
    assert gpu["figures"]["correct"] == 5
    assert (gpu["status"], gpu["diagnosis"][:26]) == ("partial", "of the problems asked for,"), (
        "--problems left some out"
    )
    assert gpu["gpu"]["gpu"] == "double"
    bench = json.loads((config / GOOD / "bench.json").read_text())
    assert bench["figures"]["problems"][0]["cold_us"]["median"] > 0
    assert "outside their bound" in json.loads((config / BAD / "gpu.json").read_text())["diagnosis"]


@pytest.mark.usefixtures("light")
def test_bench_alone_times_what_an_earlier_run_validated(config: Path) -> None:
    packed = bundle(config)
    first = run(packed.directory, "--only", "bench", "--variants", "good*")
    assert first.returncode == 2
    assert "nothing to time: results.jsonl calls no variant correct" in first.stderr
    assert run(packed.directory, "--only", "validate", "--variants", "good*").returncode == 0
    second = run(packed.directory, "--only", "bench", "--variants", "good*")
    assert second.returncode == 0
    assert "16x16x16: " in second.stdout
    rest = run(packed.directory, "--only", "bench")
    assert rest.returncode == 1
    assert "not timed, since results.jsonl does not call it correct: " in rest.stderr


@pytest.mark.usefixtures("light")
def test_cases_travel_and_are_compared(config: Path) -> None:
    plan = make_plan()
    exact = emulated(plan, problem("tiles", 32, 16, 24, fill="integer"))

    def cases(folders: Sequence[Path], target: Path) -> dict[str, str]:
        for name in (GOOD, BAD):
            add_cases(target, target / "variants" / name, {"tiles": write_case(exact)})
        return {FUSED: "not emulated"}

    packed = bundle(config, cases=cases)
    assert packed.without_cases == {FUSED: "not emulated"}
    assert len(list((packed.directory / CASES).iterdir())) == 1  # equal cases are kept once
    done = run(packed.directory, "--only", "compare", "--problems", "*")
    assert done.returncode == 1, done.stderr
    assert f"{GOOD}: correct beside the emulator: tiles 100.00% equal" in done.stdout
    imported = import_results([packed.directory / "results.jsonl"], config.parent)
    assert sorted(imported.merged) == [
        ("demo", BAD, "compared", "incorrect"),
        ("demo", GOOD, "compared", "correct"),
    ]
    assert json.loads((config / GOOD / "compared.json").read_text())["figures"]["equal"] == 1.0
    without = run(packed.directory, "--only", "compare", "--variants", "fused*")
    assert without.returncode == 2
    assert "--cases" in without.stderr


@pytest.mark.usefixtures("light")
def test_the_bundle_needs_nothing_but_numpy(config: Path) -> None:
    packed = bundle(config)
    code = (
        "import sys; sys.path[:0] = ['lib']\n"
        "unknown = ['pydantic', 'typer', 'rich', 'jinja2', 'cutlass', 'yaml', 'ml_dtypes', 'torch', 'tvm_ffi']\n"
        "sys.modules.update(dict.fromkeys(unknown))\n"
        "import importlib, pathlib\n"
        "for path in sorted(pathlib.Path('lib/warpwright').rglob('*.py')):\n"
        "    name = '.'.join(path.with_suffix('').parts[1:])\n"
        "    module = importlib.import_module(name.removesuffix('.__init__'))\n"
        "    assert module.__file__.startswith(sys.argv[1]), module\n"
        "from warpwright import families\n"
        "from warpwright.epilogue import registry\n"
        "assert 'relu' in registry.names() and registry.get('gelu_erf')\n"
        "assert all(families.workload(name).designs for name in families.NAMES)\n"
        "third = {m.partition('.')[0] for m in sys.modules} - set(sys.stdlib_module_names) - set(unknown)\n"
        "print(*sorted(third - {'__main__', 'warpwright'}))\n"
    )
    # -S: without what is installed but numpy.
    numpy = str(Path(np.__file__).parents[1])
    command = [sys.executable, "-S", "-c", code.replace("['lib']", f"['lib', {numpy!r}]"), str(packed.directory)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=packed.directory, check=False)
    assert done.returncode == 0, done.stderr
    assert [name for name in done.stdout.split() if not name.startswith("_")] == ["numpy"]


@pytest.mark.usefixtures("light")
def test_a_bundle_for_another_python_says_so(config: Path) -> None:
    packed = bundle(config)
    description = json.loads((packed.directory / "bundle.json").read_text())
    (packed.directory / "bundle.json").write_text(json.dumps({**description, "python": "3.99"}))
    done = run(packed.directory)
    assert done.returncode == 2
    assert f"the bundle is for Python 3.99, this is {HERE}" in done.stderr


@pytest.mark.usefixtures("light")
def test_a_damaged_variant_is_a_line_and_the_others_run(config: Path) -> None:
    packed = bundle(config)
    (packed.directory / "variants" / GOOD / "kernel.so").write_bytes(b"{}  ")
    (packed.directory / "variants" / BAD / "plan.json").unlink()
    done = run(packed.directory, "--only", "validate")
    assert done.returncode == 1
    told = done.stderr.splitlines()
    assert [line.split(": ")[0] for line in told] == [BAD, GOOD]
    assert all("cannot be run" in line and "again" in line for line in told)
    assert f"{FUSED}: correct" in done.stdout
    done = run(packed.directory, "--variants", "good*")
    assert done.returncode == 2
    assert "copy it again" in done.stderr


@pytest.mark.usefixtures("light")
def test_what_is_packed(config: Path, tmp_path: Path) -> None:
    build = read_json(config / BAD / "build.json") or {}
    write_json(config / BAD / "build.json", {**build, "status": "incorrect"})
    good = read_json(config / GOOD / "build.json") or {}
    write_json(config / GOOD / "build.json", {**good, "status": "degraded"})  # which says nothing against it
    for damage, told in ((b"", "empty"), ((config / BAD / "kernel.so").read_bytes(), "changed"), (None, "missing")):
        (config / FUSED / "kernel.so").unlink()
        if damage is not None:
            (config / FUSED / "kernel.so").write_bytes(damage)
        packed = bundle(config)
        assert packed.variants == (GOOD,)
        assert "incorrect; name it" in packed.left_out[BAD]
        assert f"{FUSED}/kernel.so: {'missing' if damage is None else 'changed'}" in packed.left_out[FUSED]
        assert told in packed.left_out[FUSED]
    assert bundle(config, variants=[BAD]).variants == (BAD,)  # replaces the older bundle
    assert not (packed.directory / "variants" / GOOD).exists()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    with pytest.raises(UserError, match=f"nothing to pack .*`warpwright run {config.name}` builds"):
        bundle(config, variants=["absent"])
    with pytest.raises(UserError, match=r"run\.py is a file; a bundle is a folder: name another"):
        make_bundle(config, None, packed.directory / "run.py")
    packed.directory.joinpath("bundle.json").unlink()
    with pytest.raises(UserError, match="is not a bundle"):
        bundle(config)
    with pytest.raises(UserError, match="no such folder"):
        make_bundle(tmp_path / "none", None, tmp_path / "other")


@pytest.mark.usefixtures("light")
def test_results_outlive_the_bundle_that_they_are_of(config: Path) -> None:
    directory = bundle(config).directory
    for turn, kept in enumerate(("results-1.jsonl", "results-2.jsonl"), 1):
        (directory / "results.jsonl").write_text(f"of run {turn}")
        (directory / "libcute_dsl_runtime.so").write_text("unpacked")
        (directory / "notes").mkdir(exist_ok=True)
        (directory / "notes" / "mine.txt").write_text("mine")
        packed = bundle(config)
        assert packed.kept == tuple(sorted(["notes", *(f"results-{n}.jsonl" for n in range(1, turn + 1))]))
        assert (directory / kept).read_text() == f"of run {turn}"
        assert not (directory / "results.jsonl").exists()
        assert not (directory / "libcute_dsl_runtime.so").exists()
        assert (directory / "notes" / "mine.txt").read_text() == "mine"
    assert (directory / "results-1.jsonl").read_text() == "of run 1"


@pytest.mark.parametrize("python", ["3.9", "3.14", "3.1", "3", "2.7", "", "3.12.1", "cp312", "../3.12", "3.12\n"])
def test_a_python_that_this_does_not_run_on_is_refused(config: Path, tmp_path: Path, python: str) -> None:
    with pytest.raises(UserError, match=r"a bundle runs on CPython 3\.10, 3\.11, 3\.12, 3\.13;"):
        make_bundle(config, None, tmp_path / "bundle", python=python)
    wheel = tmp_path / f"apache_tvm_ffi-9.9-cp{python.replace('.', '').replace('/', '')}-x.whl"
    with pytest.raises(UserError, match="a bundle runs on"):
        make_bundle(config, None, tmp_path / "bundle", python=python, wheel=wheel)
    assert not (tmp_path / "bundle").exists()


def test_the_versions_of_python_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest, newest = dependencies.supported_pythons()[0], dependencies.supported_pythons()[-1]
    assert f'requires-python = ">={oldest},<3.{int(newest.removeprefix("3.")) + 1}"' in text
    assert f"Python :: {newest}" in text


def test_pip_is_not_imported_from_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pip", "random", "numpy", "runpy", "json"):
        (tmp_path / f"{name}.py").write_text("open('sprung', 'a').write(__name__)")
    monkeypatch.chdir(tmp_path)
    other = next(version for version in dependencies.supported_pythons() if version != HERE)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match=f"for CPython {other} cannot be downloaded"):
        dependencies.tvm_ffi_files(other)
    assert not (tmp_path / "sprung").exists()


def test_a_bundle_of_75_variants_is_below_40_mb(tmp_path: Path) -> None:
    config = tmp_path / "out" / "many"
    for number in range(75):
        folder = make_folder(config, name=f"v-{number:012d}")
        rewrite(folder, "kernel.so", os.urandom(60_000))
    packed = bundle(config)
    assert len(packed.variants) == 75
    assert 15e6 < packed.size < 40e6


def test_tvm_ffi_from_a_wheel_leaves_out_what_is_not_run(tmp_path: Path) -> None:
    wheel = tmp_path / "apache_tvm_ffi-9.9-cp312-cp312-manylinux_2_24_x86_64.whl"
    kept = ["tvm_ffi/__init__.py", "tvm_ffi/lib/libtvm_ffi.so", "apache_tvm_ffi-9.9.dist-info/METADATA"]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in [*kept, "tvm_ffi/include/a.h", "tvm_ffi/lib/libx.a", "../evil.py", "other/x.py"]:
            archive.writestr(name, name)
    assert sorted(dependencies.tvm_ffi_files("3.12", wheel)) == sorted(kept)
    with pytest.raises(UserError, match="its name must have cp313"):
        dependencies.tvm_ffi_files("3.13", wheel)


def test_planners_and_templates_stay_at_home() -> None:
    names = {path.as_posix() for path in needed_modules()}
    assert {"families/gemm/workload/running.py", "plan/stored.py", "plan/__init__.py", "dtypes.py", "archs.py"} <= names
    assert "families/gemm/__init__.py" in names
    for part in (
        "family.py",
        "models.py",
        "sm_90a",
        "planning.py",
        "step.py",
        "emulate/",
        "build/",
        "render/",
        "record/",
    ):
        assert not [name for name in names if part in name], part


def test_a_plan_survives_its_json() -> None:
    plan = make_plan(epilogue=("alpha", "beta_c"))
    again = plan_from_json(json.loads(canonical_json(plan)))
    assert again == plan
    assert canonical_json(again) == canonical_json(plan)


def test_a_variant_reads_its_own_record(config: Path) -> None:
    variant = load_variant(config / GOOD)
    assert (variant.origin.config, variant.name) == ("demo", GOOD)
