"""Built kernels from folder to verdict: right ones pass, broken ones are named in the plan's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.device.plans import problem
from tests.records import rewrite
from warpwright.device.problem import Case
from warpwright.emulate import EmulatorError, GlobalMemory, Options, Result, UnsupportedInstruction
from warpwright.emulate.mutants.edits import Mutant
from warpwright.emulate.mutants.trials import mutants_of, read_reasons, trials
from warpwright.emulate.variant import case, harness
from warpwright.emulate.variant.host_lines import HostLines
from warpwright.emulate.variant.launches import Call, Entry
from warpwright.emulate.variant.operands import Operands
from warpwright.emulate.variant.verdict import Verdict
from warpwright.pipeline import emulating as emulation
from warpwright.plan.types import KernelPlan
from warpwright.record import read_json
from warpwright.sealed import DamagedError


def verdict_of(folder: Path, alter: Callable[[str], str] | None = None) -> Verdict:
    if alter:
        before = (folder / "kernel.ptx").read_text()
        after = alter(before)
        assert after != before
        rewrite(folder, "kernel.ptx", after)
    return harness.emulate(harness.load(folder))


def without(pattern: str, count: int = 0) -> Callable[[str], str]:
    return lambda ptx: re.sub(pattern, "", ptx, count=count)


def test_a_right_kernel_is_correct_and_says_how_much_was_tried(cooperative: Path) -> None:
    verdict = verdict_of(cooperative)
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    assert verdict.figures["seeds"] == 3
    assert {"tiles", "ragged", "k_zero", "batch", "tiny", "k_long"} <= set(verdict.figures["problems"])
    assert 0 < verdict.figures["ratio"] <= 1


def test_c_that_is_switched_off_is_never_read(with_c: Path) -> None:
    verdict = verdict_of(with_c)
    assert verdict.status == "correct"
    assert "beta_zero" in verdict.figures["problems"]


def test_a_deadlock_names_barrier_stage_parity_and_roles(cooperative: Path) -> None:
    verdict = verdict_of(cooperative, without(r"mbarrier\.arrive\.expect_tx[^;]*;"))
    assert verdict.status == "hang"
    for part in ("deadlock", "consumer 0", "ab_full[0]", "parity 0", "producer", "mbarrier.try_wait", "PTX line"):
        assert part in verdict.diagnosis, part


def test_a_race_names_both_accesses_buffer_and_remedy(cooperative: Path) -> None:
    verdict = verdict_of(cooperative, without(r"fence\.proxy\.async[^;]*;"))
    assert verdict.status == "incorrect"
    text = verdict.diagnosis
    for part in ("race: d stage", "async proxy", "generic proxy", "stmatrix", "fence.proxy.async by the writer"):
        assert part in text, part


def test_a_wrong_number_is_found_in_every_case_that_shows_it(cooperative: Path) -> None:
    verdict = verdict_of(cooperative, lambda ptx: ptx.replace("p, 1,  1,", "p, -1,  1,"))
    wrong = [d for d in verdict.defects if d.finding.kind == "wrong-result"]
    assert verdict.status == "incorrect"
    assert "outside their bound" in wrong[0].finding.message
    assert "ragged" in {d.case for d in wrong}


def test_a_kernel_that_does_not_do_what_its_plan_says_is_degraded(cooperative: Path) -> None:
    plan = read_json(cooperative / "plan.json") or {}
    for barrier in plan["kernels"][0]["barriers"]:
        if barrier["name"] == "ab_empty":
            barrier["arrivals"] += 1
    rewrite(cooperative, "plan.json", plan)
    verdict = verdict_of(cooperative)
    assert verdict.status == "degraded"
    assert "ab_empty[0]: arrival count" in {d.rule for d in verdict.differences}


def test_instructions_that_are_not_emulated_are_named_not_skipped(cooperative: Path) -> None:
    ptx = (cooperative / "kernel.ptx").read_text()
    rewrite(
        cooperative, "kernel.ptx", ptx.replace("\tret;", "\tnanosleep.u32 \t7;\n\tfrobnicate.b32 %r1, %r1;\n\tret;")
    )
    with pytest.raises(UnsupportedInstruction, match=r"frobnicate\.b32"):
        harness.emulate(harness.load(cooperative))


@pytest.mark.parametrize("name", ["plan.json", "kernel.ptx", "kernel.o", "build.json"])
def test_a_file_that_is_not_what_was_built_is_named_with_what_to_do(cooperative: Path, name: str) -> None:
    whole = (cooperative / name).read_bytes()
    flipped = bytes([*whole[:-9], whole[-9] ^ 1, *whole[-8:]])
    for content in (None, b"", whole[: len(whole) // 2], flipped):
        (cooperative / name).unlink()
        if content is not None:
            (cooperative / name).write_bytes(content)
        with pytest.raises(EmulatorError, match="`warpwright run small`") as caught:
            harness.load(cooperative)
        assert content is None or name in str(caught.value)
        assert emulation.recorded(cooperative) is None
        (cooperative / name).write_bytes(whole)
    harness.load(cooperative)


def test_nothing_is_said_of_a_source_that_was_not_built(cooperative: Path) -> None:
    value = emulation.emulate_folder(cooperative)
    assert emulation.recorded(cooperative) == value
    source = cooperative / "kernel.py"
    source.write_text(source.read_text() + "# newer\n")
    assert emulation.recorded(cooperative) is None
    with pytest.raises(EmulatorError, match=r"kernel\.py: not the source that was built.*`warpwright build small`"):
        emulation.emulate_folder(cooperative)


def test_a_build_that_changes_meanwhile_does_not_get_the_verdict(
    cooperative: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = harness.emulate

    def emulate(subject: harness.Subject) -> Verdict:
        rewrite(cooperative, "kernel.ptx", (cooperative / "kernel.ptx").read_text() + "// another\n")
        return run(subject)

    monkeypatch.setattr(harness, "emulate", emulate)
    with pytest.raises(DamagedError, match=r"kernel\.ptx: changed"):
        emulation.emulate_folder(cooperative)
    assert emulation.recorded(cooperative) is None


def test_a_result_is_for_one_build_by_one_emulator(cooperative: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert emulation.recorded(cooperative) is None
    value = emulation.emulate_folder(cooperative)
    assert emulation.recorded(cooperative) == value
    build = json.loads((cooperative / "build.json").read_text())
    assert {key: value[key] for key in ("source_sha", "cubin_sha", "arch")} == {
        key: build[key] for key in ("source_sha", "cubin_sha", "arch")
    }
    with monkeypatch.context() as patch:
        patch.setattr(emulation, "emulator_digest", lambda family, operations: "another")
        assert emulation.recorded(cooperative) is None
    for name, old, new in (("plan.json", '"arrivals": 128', '"arrivals": 256'), ("kernel.ptx", "\tret;", "\tret; ")):
        text = (cooperative / name).read_text()
        assert old in text
        (cooperative / name).write_text(text.replace(old, new))
        assert emulation.recorded(cooperative) is None
        (cooperative / name).write_text(text)
        assert emulation.recorded(cooperative) == value


def test_a_result_does_not_depend_on_other_families(cooperative: Path) -> None:
    assert emulation.emulator_digest("gemm") != emulation.emulator_digest("of no such package")
    before = emulation.emulate_folder(cooperative)["emulator"]
    assert before == emulation.emulator_digest("gemm", ())


def test_what_is_no_fault_survives_and_a_mutant_that_is_caught_says_where(cooperative: Path) -> None:
    subject = harness.load(cooperative)
    listed = [mutant for mutant in mutants_of(subject) if mutant.launch is None]
    harmless = Mutant("harmless", 1, "", ((1, "// another comment"),))
    *done, last = trials(subject, [*listed[:3], harmless])
    assert all(trial.caught and trial.case and trial.seed for trial in done)
    assert (last.caught, last.survived) == ("", True)


def test_committed_lists_are_readable() -> None:
    folder = Path(__file__).parent / "mutants"
    labels = [path.stem for path in folder.glob("*.yaml")]
    assert len(labels) >= 3
    for label in labels:
        reasons = read_reasons(folder, label)
        assert reasons
        assert all(len(reason.split()) > 2 for reason in reasons.values())


def test_reasons_are_read_by_label(tmp_path: Path) -> None:
    assert read_reasons(tmp_path, "kernel") == {}
    (tmp_path / "kernel.yaml").write_text(
        "survivors:\n  - mutant: 'delete bar.sync #3'\n    reason: it is twice there\n"
    )
    assert read_reasons(tmp_path, "kernel") == {"delete bar.sync #3": "it is twice there"}
    (tmp_path / "other.yaml").write_text("- nothing\n")
    with pytest.raises(EmulatorError, match=r"other\.yaml"):
        read_reasons(tmp_path, "other")


def test_each_launch_of_several_has_the_options_of_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int]] = []

    def launched(module: Any, launch: Any, maps: Any, memory: Any, seed: int, options: Options, name: str) -> Result:
        seen.append((name, options.entry_registers))
        return Result((), {})

    monkeypatch.setattr(case, "run", launched)
    kernels = [KernelPlan(name, 32, (1, 1, 1), 0, registers) for name, registers in (("fill", 40), ("finish", 64))]
    calls = tuple(
        Call(Entry(kernel, kernel.name, (), HostLines("", kernel.name)), cast(Any, None), {}) for kernel in kernels
    )
    given = Case(problem("p", 1, 8, 8), 1, 1, (1,))
    prepared = case.Prepared(given, Operands(GlobalMemory()), calls, (), (), ())
    prepared.run(cast(Any, None), 1, [Options(entry_registers=kernel.entry_registers) for kernel in kernels])
    assert seen == [("fill", 40), ("finish", 64)]
