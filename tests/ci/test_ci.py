"""`warpwright ci` turns red for exactly the changes that leave a shipped variant without valid evidence."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.ci.conftest import CONFIG
from tests.record.figures import FIGURES, GPU
from warpwright.canonical import digest
from warpwright.device.judged_by import checking_digest
from warpwright.protocols import current

if TYPE_CHECKING:
    from tests.ci.conftest import Checkout

DEGRADED = FIGURES["built", "degraded"]
RENEW = "warpwright run configs/shipped.yaml && warpwright ledger configs/shipped.yaml"


def values(checkout: Checkout) -> list[dict[str, Any]]:
    """The ledger's lines, tables first: of the toolchain, then the build's line and the emulation's."""
    return [json.loads(text) for text in checkout.ledger.read_text().splitlines()]


def write(checkout: Checkout, lines: list[dict[str, Any]]) -> None:
    checkout.ledger.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))


def edit_line(checkout: Checkout, number: int = 1, **changes: Any) -> None:
    """Change a line, without any the build's."""
    lines = values(checkout)
    lines[number].update(changes)
    write(checkout, lines)


def add_gpu_line(checkout: Checkout, **changes: Any) -> None:
    """Add a line of a GPU's, judged by the code at hand."""
    table, built, emulated = values(checkout)
    figures = FIGURES["gpu-validated", changes.get("status", "correct")]
    told = {"gpu": digest(GPU)[:8], "judged_by": checking_digest("gemm"), "protocol": current("gpu-validated")}
    line = {**emulated, "method": "gpu-validated", "figures": figures, **told, **changes}
    write(checkout, [{"table": "gpu", "id": digest(GPU)[:8], "gpu": GPU}, table, built, emulated, line])


def test_green_says_how_many_variants_it_checked(green: Checkout) -> None:
    done = green.run("ci")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split() == ["configs/shipped.yaml", "1", "1", "1", "1", "passed"]
    assert "1 point illegal by" in done.stderr
    data = json.loads(green.run("ci", "--json").stdout)
    assert data["passed"]
    assert data["configs"][0]["valid"] == {"built": 1, "emulated": 1}


def test_green_from_nothing_but_the_committed_files(checkout: Checkout) -> None:
    shutil.rmtree(checkout.top / "out" / "shipped")
    assert checkout.run("ci").returncode == 0


def test_changed_template_without_renewed_evidence_is_red_and_says_what_to_run(checkout: Checkout) -> None:
    checkout.template.write_text(checkout.template.read_text() + "# another last line\n")
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "built evidence is stale" in red.stderr
    assert "it is for source" in red.stderr
    assert red.stderr.count(RENEW) == 1
    for command in RENEW.split(" && "):
        assert checkout.run(*command.split()[1:]).returncode == 0
    assert checkout.run("ci").returncode == 0


def test_run_alone_does_not_turn_it_green(checkout: Checkout) -> None:
    checkout.template.write_text(checkout.template.read_text() + "# another last line\n")
    assert checkout.run("run", "configs/shipped.yaml").returncode == 0
    assert checkout.run("ci").returncode == 1


def test_template_that_no_longer_compiles_is_red(checkout: Checkout) -> None:
    checkout.template.write_text(checkout.template.read_text() + "raise SystemError('broken')\n")
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "1 variant: not correct" in red.stderr
    assert "compile_failed" in red.stderr
    assert "broken" in red.stderr


def test_template_that_no_longer_renders_is_red(checkout: Checkout) -> None:
    checkout.template.write_text(checkout.template.read_text() + "{{ nowhere }}\n")
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "render_failed" in red.stderr
    assert "nowhere" in red.stderr


def test_emulated_evidence_is_asked_for_like_the_build(checkout: Checkout) -> None:
    write(checkout, values(checkout)[:2])
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "emulated evidence is missing" in red.stderr
    assert RENEW in red.stderr


def test_missing_ledger_is_red(checkout: Checkout) -> None:
    checkout.ledger.unlink()
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "built evidence is missing" in red.stderr
    assert RENEW in red.stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source_sha": "0" * 64}, "it is for source 000000000000"),
        ({"arch": "sm_80"}, "it is for sm_80"),
        ({"identity": "0" * 12}, "evidence is missing"),
        ({"status": "degraded", "figures": DEGRADED}, "recorded as degraded"),
    ],
)
def test_evidence_for_anything_else_is_red(checkout: Checkout, changes: dict[str, Any], says: str) -> None:
    edit_line(checkout, **changes)
    red = checkout.run("ci")
    assert red.returncode == 1
    assert says in red.stderr


def test_a_result_of_another_compiler_is_red(checkout: Checkout) -> None:
    table, *lines = values(checkout)
    table["toolchain"]["cutlass_dsl"] = "4.7.0"
    table["id"] = digest(table["toolchain"])[:8]
    write(checkout, [table, *({**line, "toolchain": table["id"]} for line in lines)])
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "cutlass_dsl 4.7.0" in red.stderr


@pytest.mark.parametrize(
    ("number", "figures", "says"),
    [
        (1, {"registers": 96}, "it says registers 96, and here it is"),
        (2, {"runs": 1000}, "it says runs 1000, and here it is"),
        (2, {"problems": ["tiny"]}, "it says problems ['tiny']"),
    ],
)
def test_figures_that_were_never_obtained_are_red(
    checkout: Checkout, number: int, figures: dict[str, Any], says: str
) -> None:
    edit_line(checkout, number, figures={**values(checkout)[number]["figures"], **figures})
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "not what was obtained here" in red.stderr
    assert says in red.stderr


@pytest.mark.parametrize(
    ("path", "addition"),
    [
        ("device/tolerance.py", "# another bound\n"),
        ("emulate/units/wgmma/products.py", "# another product\n"),
        ("families/gemm/workload/reference.py", "# another reference\n"),
    ],
)
def test_evidence_that_other_code_judged_is_red(checkout: Checkout, path: str, addition: str) -> None:
    judge = checkout.top / "generator" / "warpwright" / path
    judge.write_text(judge.read_text() + addition)
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "emulated evidence is stale" in red.stderr
    assert "it was judged by code" in red.stderr


def test_a_configuration_that_is_gone_leaves_a_ledger_that_is_red(checkout: Checkout) -> None:
    config = checkout.top / "configs" / "shipped.yaml"
    config.write_text(config.read_text().replace("name: shipped", "name: another"))
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "no shipped configuration is called shipped" in red.stderr
    assert checkout.run("ci", "configs/shipped.yaml").returncode == 0  # the variant has its evidence all the same


def test_a_timeline_of_no_variant_is_red(checkout: Checkout) -> None:
    stray = checkout.ledger.parent / "timelines" / "it-0123.json"
    stray.parent.mkdir()
    stray.write_text("{}")
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "it-0123.json: the timeline of no variant; remove it" in red.stderr.replace("\n", "")
    stray.unlink()
    assert checkout.run("ci").returncode == 0


def test_a_sweep_that_was_cut_is_red(checkout: Checkout) -> None:
    config = checkout.top / "configs" / "shipped.yaml"
    config.write_text(config.read_text().replace("n: 64", "n: 72"))
    assert checkout.run("run", "configs/shipped.yaml").returncode == 0
    (checkout.top / "other.yaml").write_text(CONFIG.replace("n: 64", "n: 72").replace("name: shipped", "name: other"))
    assert checkout.run("ledger", "other.yaml").returncode == 0
    red = checkout.run("ci", "configs/shipped.yaml")
    assert red.returncode == 1
    assert "built evidence is for no variant that the configuration has" in red.stderr
    assert "warpwright ledger configs/shipped.yaml --prune" in red.stderr


def test_what_a_configuration_demands_is_asked_for(checkout: Checkout) -> None:
    config = checkout.top / "configs" / "shipped.yaml"
    config.write_text(config.read_text().replace("kernel:", "evidence: [gpu-validated]\nkernel:", 1))
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "gpu-validated evidence is missing" in red.stderr


def test_unreadable_ledger_is_exit_2_with_file_and_line(checkout: Checkout) -> None:
    checkout.ledger.write_text("<<<<<<< HEAD\n" + checkout.ledger.read_text())
    broken = checkout.run("ci")
    assert broken.returncode == 2
    assert "shipped.jsonl:1" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_new_configuration_without_evidence_is_red(checkout: Checkout) -> None:
    config = checkout.top / "configs" / "shipped.yaml"
    another = config.read_text().replace("name: shipped", "name: another").replace("n: 64", "n: 72")
    (config.parent / "another.yaml").write_text(another)
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "configs/another.yaml: 1 variant: built evidence is missing" in red.stderr
    assert checkout.run("ci", "configs/shipped.yaml").returncode == 0


def test_a_copy_of_a_configuration_has_its_evidence(checkout: Checkout) -> None:
    config = checkout.top / "configs" / "shipped.yaml"
    (config.parent / "copied.yaml").write_text(config.read_text().replace("name: shipped", "name: copied"))
    config.rename(config.parent / "renamed.yaml")
    green = checkout.run("ci")
    assert green.returncode == 0, green.stderr


def test_gpu_evidence_is_asked_for_only_on_demand(green: Checkout) -> None:
    red = green.run("ci", "--require", "gpu")
    assert red.returncode == 1
    assert "gpu-validated evidence is missing" in red.stderr
    for command in ("warpwright bundle configs/shipped.yaml", "run.py", "warpwright import", "warpwright ledger"):
        assert command in red.stderr


def test_gpu_evidence_of_an_older_source_is_a_warning_until_it_is_required(checkout: Checkout) -> None:
    add_gpu_line(checkout, source_sha="0" * 64)
    green = checkout.run("ci")
    assert green.returncode == 0
    assert "warning: 1 variant: gpu-validated evidence is stale" in green.stderr
    assert checkout.run("ci", "--require", "gpu").returncode == 1


def test_a_valid_hang_on_the_gpu_is_red_though_nobody_asked(checkout: Checkout) -> None:
    add_gpu_line(checkout, status="hang", diagnosis="no sign of life")
    red = checkout.run("ci")
    assert red.returncode == 1
    assert "recorded as hang" in red.stderr


def test_unknown_method_is_a_usage_error(green: Checkout) -> None:
    done = green.run("ci", "--require", "luck")
    assert done.returncode == 2
    assert "gpu-validated" in done.stderr


def test_results_that_came_with_the_checkout_are_refused(checkout: Checkout) -> None:
    """A folder's results count without being obtained again, and whoever commits them can have written anything."""
    (checkout.top / ".gitignore").write_text("__pycache__/\n")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=checkout.top, check=True)
    refused = checkout.run("ci")
    assert refused.returncode == 2
    assert "out/shipped" in refused.stderr
    assert "came with the checkout" in refused.stderr
    subprocess.run(["git", "rm", "-rq", "--cached", "out/shipped"], cwd=checkout.top, check=True)
    assert checkout.run("ci").returncode == 0


def test_what_is_committed_and_not_looked_at_is_named(checkout: Checkout) -> None:
    """Configurations where none is looked for, and a ledger with a GPU that no line of it is from."""
    (checkout.top / "configs" / "more").mkdir()
    for name in ("other.yml", "more/another.yaml"):
        (checkout.top / "configs" / name).write_text(CONFIG.replace("n: 64", "n: 72"))
    write(checkout, [{"table": "gpu", "id": digest(GPU)[:8], "gpu": GPU}, *values(checkout)])
    red = checkout.run("ci", "--json")
    assert red.returncode == 1
    told = json.loads(red.stdout)
    assert [config["passed"] for config in told["configs"]] == [True]
    assert [path.rpartition("/configs/")[2] for path in told["not_checked"]] == ["more/another.yaml", "other.yml"]
    assert ["shipped.jsonl:1: another text than" in each for each in told["not_as_written"]] == [True]
    assert checkout.run("ledger", "configs/shipped.yaml").returncode == 0
    assert json.loads(checkout.run("ci", "--json").stdout)["not_as_written"] == []
