"""What a person reads who must mend a kernel: sources of right kernels spoilt by hand, and the words that follow."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.once import Once
from tests.records import rewrite
from warpwright.build import BuildJob, build
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.variant.places import Place, Places, find_places, read_places
from warpwright.emulate.variant.verdict import Defect, Verdict
from warpwright.pipeline import emulating as emulation
from warpwright.plan.stored import plan_from_json
from warpwright.record.atomic import read_json

from .ptx_kit import HEADER, launch

WAIT = "cute.arch.mbarrier_wait(ab_empty + producer_state.index, producer_state.phase)"
#: Name of a fault: which of the built kernels, the text in its source, and what stands there instead.
FAULTS = {
    "one arrival too many is expected": (0, "EMPTY_ARRIVALS = CLUSTER_M ", "EMPTY_ARRIVALS = 3 "),
    "the producer does not wait": (0, WAIT, "pass"),
    "a reader does not fence": (1, "cute.arch.fence_view_async_shared()", "pass"),
}
#: A kernel whose instructions have locations as the compiler writes them.
LOCATED = """\
 .loc 1 2 4
 mov.b32 %r2, 1;
 .loc 1 1 0
 elect.sync %r3|%p1, -1;
LABEL:
 .loc 1 1 0
 mov.b32 %r4, 1;
 .loc 1 3 8
 {
 .reg .pred P1;
 .loc 1 4 8
 setp.ne.b32 P1, %r2, 0;
 }
 mov.b32 %r5, 1;
 .loc 2 77 3, function_name $L__info_string0, inlined_at 1 4 4
 mov.b32 %r6, 1;
 .loc 3 5 1, function_name $L__info_string1, inlined_at 2 77 3
 mov.b32 %r7, 1;
 .loc 2 78 3
 mov.b32 %r8, 1;
"""
SOURCE = "def kernel():\n    first()\n    second()\n    third()\n"


@pytest.fixture(scope="session")
def broken(_built: list[Path], once: Once) -> Mapping[str, Path]:
    """A folder with a spoilt kernel for each fault, built."""

    def make(top: Path) -> dict[str, Path]:
        jobs, folders = [], {}
        for number, (fault, (which, before, after)) in enumerate(FAULTS.items()):
            folder = folders[fault] = top / str(number)
            folder.mkdir()
            source = (_built[which] / "kernel.py").read_text()
            assert before in source
            shutil.copy(_built[which] / "plan.json", folder)
            plan = plan_from_json(read_json(folder / "plan.json"))
            jobs.append(BuildJob(source.replace(before, after, 1), plan, folder))
        assert all(artifact.built for artifact in build(jobs, 1))
        return folders

    return once("reports", make)


@pytest.fixture
def report(broken: Mapping[str, Path]) -> Callable[[str], tuple[dict[str, Any], Callable[[str], str]]]:
    """A function from a fault to the gravest defect, and to what the report writes for a line of the source."""

    def of(fault: str) -> tuple[dict[str, Any], Callable[[str], str]]:
        defect = emulation.emulate_folder(broken[fault])["figures"]["defects"][0]
        lines = (broken[fault] / "kernel.py").read_text().splitlines()

        def written(text: str, among: int = 0) -> str:
            number = [n for n, line in enumerate(lines, 1) if line.strip() == text][among]
            return f"kernel.py:{number}: {text}  (PTX line "

        return defect, written

    return of


def test_a_deadlock_says_which_barrier_lacks_what_and_where_it_was_set_up(report: Any) -> None:
    defect, line = report("one arrival too many is expected")
    text = defect["message"]
    assert defect["kind"] == "deadlock"
    waits = r"warp 4 \(producer\) of CTAs? \(0, 0, 0\).* waits? for the phase of parity 0 of mbarrier ab_empty\[0\]"
    assert re.search(waits, text)
    assert "2 of 3 arrivals have come\n    initialised for 3 arrivals\n      kernel.py:" in text
    assert line("cute.arch.mbarrier_init(ab_empty + stage, EMPTY_ARRIVALS)") in text
    assert "planned: 2 arrivals (one thread per consumer warpgroup of 2 CTAs)" in text
    assert "arrived in this phase: 1 arrival by warp 0 (consumer 0) of CTAs (0, 0, 0), (1, 0, 0), each" in text
    assert "already ended: warps 0..3 (consumer 0) of CTAs (0, 0, 0), (1, 0, 0)" in text
    assert line(WAIT) in text or line(WAIT, 1) in text


def test_an_arrival_too_early_is_told_beside_the_one_before(report: Any) -> None:
    defect, line = report("the producer does not wait")
    text, arrival = defect["message"], line("cute.arch.mbarrier_arrive_and_expect_tx(full, STAGE_BYTES)")
    assert defect["kind"] == "mbarrier"
    assert re.match(r"mbarrier ab_full\[\d\], .*more arrivals than the phase has", text)
    assert "arrived in this phase: 1 arrival by warp 4 (producer) of CTA" in text
    assert text.count(arrival) == 2
    assert "either a wait is missing before this arrival (for the phase's end, or for what follows it" in text
    assert len(defect["source_lines"]) == len(defect["lines"]) == 1


def test_a_race_names_the_reader_that_must_fence_and_both_lines(report: Any) -> None:
    defect, _ = report("a reader does not fence")
    text = defect["message"]
    assert defect["kind"] == "race"
    assert re.match(r"c stage \d, .*\n  async proxy write by the TMA load of warp \d \(C loader\)", text)
    assert re.search(r"not ordered after the generic proxy read by warp \d \(consumer 0\)", text)
    remedy = r"fence\.proxy\.async by the reader, warp \d \(consumer 0\) of CTA \(0, 0, 0\), after the read"
    assert re.search(remedy, text)
    assert len(re.findall(r"^    kernel\.py:\d+: .*cute\.copy\(.*  \(PTX line \d+: [\w.:]+\)$", text, re.M)) == 2
    assert all(defect["source_lines"])


def test_lines_of_another_kernel_are_not_told(broken: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(next(iter(broken.values())), tmp_path / "other"))
    source = (folder / "kernel.py").read_text()
    rewrite(folder, "kernel.py", source.replace("EMPTY_ARRIVALS = 3 ", "EMPTY_ARRIVALS = 4 "))
    places = find_places(folder)
    assert "gives other instructions than kernel.ptx has" in places.problem
    assert places.explain("PTX line 3: trap").startswith("PTX line 3: trap\n  lines of kernel.py are not known: ")
    rewrite(folder, "kernel.py", "def")
    assert "could not be compiled with source locations" in find_places(folder).problem


def test_locations_are_followed_to_the_kernel() -> None:
    plain = HEADER.format(params="", threads=32, loads="", body=re.sub(r"(?m)^ \.loc.*\n", "", LOCATED))
    files = '.file 1 "/tmp/x/kernel.py"\n.file 2 "/usr/lib/cutlass/arch.py"\n.file 3 "/usr/lib/cutlass/op.py"\n'
    located = HEADER.format(params="", threads=32, loads="", body=LOCATED) + files
    places = read_places(plain, located, SOURCE)
    assert places.problem == ""
    start = plain.splitlines().index(" mov.b32 %r2, 1;") + 1
    told = {text: str(places.places.get(start + n)) for n, text in enumerate(plain.splitlines()[start - 1 :])}
    assert told[" mov.b32 %r2, 1;"] == "kernel.py:2"
    assert told[" elect.sync %r3|%p1, -1;"] == "near kernel.py:2"  # the compiler knows no more than its function
    assert told[" mov.b32 %r4, 1;"] == "None"  # may be reached from elsewhere
    assert told[" setp.ne.b32 P1, %r2, 0;"] == told[" mov.b32 %r5, 1;"] == "kernel.py:3"
    assert told[" mov.b32 %r6, 1;"] == told[" mov.b32 %r7, 1;"] == "kernel.py:4"  # inlined there, once and twice
    assert told[" mov.b32 %r8, 1;"] == "near kernel.py:4"


def test_other_instructions_or_none_at_all_give_no_lines() -> None:
    text = HEADER.format(params="", threads=32, loads="", body=" trap;")
    other = read_places(text, text.replace("trap", "exit"), SOURCE)
    assert "other instructions" in other.problem
    assert "cannot be read" in read_places(text, "", SOURCE).problem


def test_every_mention_of_a_ptx_line_is_explained() -> None:
    places = Places({7: Place(30, "wait(full)"), 9: Place(31, "fence()", exact=False)})
    message = "stuck\n  PTX line 7: @!%p1 mbarrier.try_wait.parity.shared::cta.b64.x %p2, [%r1]\n  PTX line 9: x.y"
    assert places.explain(message) == (
        "stuck\n  kernel.py:30: wait(full)  (PTX line 7: mbarrier.try_wait.parity.shared::cta.b64)\n"
        "  near kernel.py:31: fence()  (PTX line 9: x.y)"
    )
    assert places.explain("warp 3 at PTX line 7, and PTX line 8") == (
        "warp 3 at kernel.py:30 (PTX line 7), and PTX line 8"
    )
    assert places.lines((7, 8)) == [30, None]


def test_copies_of_a_line_and_cases_are_told_once() -> None:
    places = Places({line: Place(30 + line % 2, "x()") for line in range(10)})
    found = [Finding("race", "PTX line 1: x", (1, 2)), Finding("race", "PTX line 3: x", (3, 4)),
             Finding("race", "PTX line 5: x", (5, 7)), Finding("race", "PTX line 1: x", (1, 20)),
             Finding("wrong-result", "1 of 2"), Finding("wrong-result", "2 of 2")]  # fmt: skip
    verdict = Verdict("incorrect", tuple(Defect(f"c{n}", 1, finding) for n, finding in enumerate(found)), ())
    messages = [defect.finding.message for defect in verdict.located(places).defects]
    assert messages == [
        "kernel.py:31: x()  (PTX line 1: x)\n  the same at copies of these lines (PTX 3 and 4)",
        "kernel.py:31: x()  (PTX line 5: x)", "kernel.py:31: x()  (PTX line 1: x)", "1 of 2\n  the same in case c5",
    ]  # fmt: skip
    told = verdict.located(places).figures["defects"]
    assert [defect["source_lines"] for defect in told] == [[31, 30], [31, 31], [31, None], []]


def test_many_warps_that_wait_alike_are_one_entry() -> None:
    body = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1], 9;
 bar.sync 0;
 shr.u32 %r5, %r0, 5;
 setp.ge.u32 %p2, %r5, 3;
 @%p2 ret;
WAIT:
 mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0;
 @!%p3 bra WAIT;
"""
    text = launch(body, threads=128, cluster=2, roles=lambda w: f"role {w // 2}").message("deadlock")
    who = "warps 0..2 (role 0, role 1) of CTAs (0, 0, 0), (1, 0, 0) wait for the phase of parity 0"
    assert text.startswith(f"6 warps wait and nothing can run\n  {who}")
    assert "arrived in this phase: nobody" in text
    assert text.endswith("already ended: warp 3 (role 1) of CTAs (0, 0, 0), (1, 0, 0)")
    assert text.count("try_wait") == 1
