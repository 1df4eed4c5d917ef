"""What counts for the source that a folder holds now."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.record.figures import stored
from warpwright.build.toolchain import current
from warpwright.canonical import digest, plain
from warpwright.device.judged_by import checking_digest
from warpwright.errors import UserError
from warpwright.pipeline import judge_folder, judging
from warpwright.pipeline.checked_in import refuse_committed
from warpwright.pipeline.emulating import emulator_digest
from warpwright.pipeline.standards import standards_of
from warpwright.record import Folder, Standard


def test_a_build_of_an_older_source_says_nothing_of_the_cubin(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a-01234567")
    folder.write_source("x = 2\n")
    plan = {"arch": "sm_90a", "family": "gemm", "kernel": {}}
    folder.write("plan.json", plan)
    code = standards_of(plan)["gpu-validated"].code
    old, new = (
        {"source_sha": digest(f"x = {i}\n"), "cubin_sha": str(i) * 64, "toolchain": plain(current())} for i in (1, 2)
    )
    folder.write("build.json", stored("built", **old))
    folder.write("gpu.json", stored("gpu-validated", judged_by=code, **new))
    judged = judge_folder(folder, {})
    assert (judged.evidence, judged.status) == ("gpu-validated", "correct")
    assert [(evidence.method, why.partition(",")[0]) for evidence, why in judged.stale] == [
        ("built", f"it is for source {old['source_sha'][:12]}")
    ]
    folder.write("build.json", stored("built", **{**new, "cubin_sha": "3" * 64}))
    judged = judge_folder(folder, {})
    assert (judged.evidence, [evidence.method for evidence, _ in judged.stale]) == ("built", ["gpu-validated"])


@pytest.mark.parametrize(
    ("protocol", "code", "says"), [(99, "", "which is now 99"), (0, "0" * 16, "which is now 0000000000000000")]
)
def test_a_result_that_other_code_judged_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int, code: str, says: str
) -> None:
    folder = Folder(tmp_path / "a-01234567")
    folder.write_source("x = 2\n")
    plan = {"arch": "sm_90a", "family": "gemm", "kernel": {"epilogue": [{"op": "relu"}]}}
    folder.write("plan.json", plan)
    standard = standards_of(plan)["emulated"]
    result = stored("emulated", toolchain=plain(current()), source_sha=digest("x = 2\n"), emulator=standard.code)
    folder.write("emulated.json", result)
    assert judge_folder(folder, {}).evidence == "emulated"
    with monkeypatch.context() as patch:
        standards = {"emulated": Standard(protocol or standard.protocol, code or standard.code)}
        patch.setattr(judging, "standards_of", lambda plan: standards)
        judged = judge_folder(folder, {})
    assert judged.evidence == "planned"
    assert [says in why for _, why in judged.stale] == [True]


@pytest.mark.parametrize(
    "plan", [{}, {"family": "none", "kernel": {}}, {"family": "gemm", "kernel": {"epilogue": [{"op": "gone"}]}}]
)
def test_no_code_satisfies_a_plan_of_what_is_not_there(plan: dict[str, Any]) -> None:
    codes = {method: standard.code for method, standard in standards_of(plan).items()}
    assert set(codes) == {"emulated", "compared", "gpu-validated", "benchmarked"}
    assert codes["emulated"] == codes["gpu-validated"] == "nothing that is there"


def test_each_method_is_judged_by_the_code_that_judges_it() -> None:
    plan = {"family": "gemm", "kernel": {"epilogue": [{"op": "relu"}]}}
    codes = {method: standard.code for method, standard in standards_of(plan).items()}
    emulator, checks = emulator_digest("gemm", ("relu",)), checking_digest("gemm", ("relu",))
    assert emulator != checks
    assert codes == {"emulated": emulator, "compared": emulator, "gpu-validated": checks, "benchmarked": ""}


def test_how_much_of_a_folder_came_with_the_checkout_is_counted(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "small"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    refuse_committed(tmp_path / "out")
    for name, many in (("a", "1 file"), ("b", "2 files"), ("c", "3 files")):
        (folder / name).touch()
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        with pytest.raises(UserError, match=f"out/small: {many} of it came with the checkout, e.g. out/small/a; "):
            refuse_committed(tmp_path / "out")
