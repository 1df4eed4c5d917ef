"""What judges a kernel on a device, and what only gets it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.device import judged_by
from warpwright.device.judged_by import checking_digest, code_digest, digests_of, judges, operations_of
from warpwright.epilogue import registry
from warpwright.pipeline import rests_on

PACKAGE = Path(judged_by.__file__).parents[1]
CONTENTS = {path.relative_to(PACKAGE).as_posix(): path.read_bytes() for path in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize(("family", "shared"), [("gemm", "families/products/"), ("copy", None)])
def test_what_judges(family: str, shared: str | None) -> None:
    found = judges(CONTENTS, family)
    own = {name for name in CONTENTS if name.startswith(f"families/{family}/workload/")}
    assert own
    assert found >= own | {
        *("device/check.py", "device/inputs.py", "device/tensors.py", "device/tolerance.py", "device/xp.py"),
        *("dtypes.py", "families/running.py", "plan/types.py"),
    }
    others = ("device/backend", "device/call", "device/launch", "device/telemetry", "device/bench", "device/worker")
    assert [
        name for name in found if name.startswith(("cli/", "pipeline/", "emulate/", "plan/__init__", *others))
    ] == []
    foreign = {name for name in found if name.startswith("families/") and f"/{family}/" not in name}
    if shared:
        common = {name for name in foreign if name.startswith(shared)}
        assert common
        foreign -= common
    assert foreign <= {"families/__init__.py", "families/running.py"}
    assert set(rests_on.files_on_device(family)) == found


def test_another_bound_is_another_judge() -> None:
    files = {name: CONTENTS[name] for name in judges(CONTENTS, "gemm")}
    before = code_digest(digests_of(files))
    assert before == checking_digest("gemm")
    for name in files:
        assert code_digest(digests_of({**files, name: files[name] + b"#"})) != before, name


def test_an_activation_counts_and_what_its_bound_is_built_from(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = {"activation": "silu", "norm": "rms"}
    assert operations_of(kernel) == ("silu",)
    assert operations_of({"activation": "identity"}) == operations_of({"activation": None}) == ()
    assert operations_of({"activation": "relu", "epilogue": [{"op": "alpha"}]}) == ("alpha", "relu")
    before = checking_digest("norm_act", ("silu",))
    assert before != checking_digest("norm_act", ("relu",)) != checking_digest("norm_act")
    read = Path.read_bytes
    for changed in ("epilogue/ops/silu.py", "epilogue/bounds.py"):
        path = PACKAGE / changed
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", lambda each, path=path: read(each) + b"#" * (each == path))
            assert checking_digest("norm_act", ("silu",)) != before, changed
    # Whose code asks for no operations, an activation of that name is its own.
    assert checking_digest("sgemm", ("relu",)) == checking_digest("sgemm")


def test_an_operation_of_the_chain_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = registry.source_path("relu").read_text()
    (tmp_path / "mine.py").write_text(shipped.replace('"relu"', '"mine"'))
    monkeypatch.setenv(registry.OPS_VARIABLE, str(tmp_path))
    before = checking_digest("gemm", ("mine",))
    assert before != checking_digest("gemm")
    (tmp_path / "mine.py").write_text(shipped.replace('"relu"', '"mine"') + "\n# changed\n")
    assert checking_digest("gemm", ("mine",)) != before
