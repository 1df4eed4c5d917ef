"""What counts for the source that a folder holds now."""

from __future__ import annotations

from pathlib import Path

from tests.record.figures import stored
from warpwright.build.toolchain import current
from warpwright.canonical import digest, plain
from warpwright.pipeline import judge_folder
from warpwright.record import Folder


def test_a_build_of_an_older_source_says_nothing_of_the_cubin(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a-01234567")
    folder.write_source("x = 2\n")
    folder.write("plan.json", {"arch": "sm_90a"})
    old, new = (
        {"source_sha": digest(f"x = {i}\n"), "cubin_sha": str(i) * 64, "toolchain": plain(current())} for i in (1, 2)
    )
    folder.write("build.json", stored("built", **old))
    folder.write("gpu.json", stored("gpu-validated", **new))
    judged = judge_folder(folder, {})
    assert (judged.evidence, judged.status) == ("gpu-validated", "correct")
    assert [(evidence.method, why.partition(",")[0]) for evidence, why in judged.stale] == [
        ("built", f"it is for source {old['source_sha'][:12]}")
    ]
    folder.write("build.json", stored("built", **{**new, "cubin_sha": "3" * 64}))
    judged = judge_folder(folder, {})
    assert (judged.evidence, [evidence.method for evidence, _ in judged.stale]) == ("built", ["gpu-validated"])
