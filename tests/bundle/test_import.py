"""What an import accepts, what it refuses and why, and that nothing recorded is ever lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.lines import compared, counted_plan, header, stored, timed, validated
from tests.cli.conftest import invoke
from tests.device.plans import make_folder
from tests.record.figures import GPU
from warpwright.build.toolchain import current
from warpwright.bundle import import_results
from warpwright.bundle.results import record_result
from warpwright.canonical import digest, plain
from warpwright.device import bench
from warpwright.device.coverage import asked_problems
from warpwright.errors import UserError
from warpwright.plan.stored import plan_from_json
from warpwright.record import Folder, judge, read_json, write_json

NAME = "double-0123456789ab"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "out" / "demo", counted_plan(), NAME)


def bring(folder: Path, *results: Any, end: str = "\n"):
    path = folder.parents[2] / "results.jsonl"
    text = "\n".join(r if isinstance(r, str) else json.dumps(r, sort_keys=True) for r in results) + end
    path.write_text(text, encoding="utf-8")
    return import_results([path], folder.parents[1])


def recorded(folder: Path, name: str = "gpu.json") -> dict[str, Any]:
    return read_json(folder / name) or {}


def names(folder: Path) -> list[str]:
    plan = plan_from_json(recorded(folder, "plan.json"))
    return [problem.name for problem in asked_problems(plan, "standard")]


def test_a_result_becomes_evidence_that_the_record_reads(folder: Path) -> None:
    lines = [header(), validated(folder), compared(folder), timed(folder)]
    assert bring(folder, *lines).merged == [
        ("demo", NAME, method, "correct") for method in ("gpu-validated", "compared", "benchmarked")
    ]
    found = {evidence.method: evidence for evidence in Folder(folder).evidence()}
    assert list(found) == ["built", "compared", "gpu-validated", "benchmarked"]
    assert Folder(folder).damaged() == []
    verdict = found["gpu-validated"]
    assert (verdict.status, verdict.figures["ratio"], verdict.gpu) == ("correct", 0.75, GPU)
    assert verdict.judged_by == validated(folder)["judged_by"]
    assert sorted(verdict.figures["names"]) == sorted(names(folder))
    assert verdict.figures["asked"] == "standard"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"source_sha": "f" * 64}, "it is for source ffffffffffff, the local build has"),
        ({"cubin_sha": "f" * 64}, "it is for cubin ffffffffffff, the local build has"),
        ({"library_sha": "f" * 64}, "it is for library ffffffffffff, the local build has"),
        (
            {"arch": "sm_100a", "gpu": {**GPU, "gpu": "NVIDIA B200", "compute_capability": "10.0", "sms": 148}},
            "it is for arch sm_100a, the local",
        ),
        ({"variant": "gone-0123456789ab"}, "there is no build of it"),
        ({"status": "not_run", "diagnosis": "no torch"}, r"no verdict (not_run): no torch"),
    ],
)
def test_a_sound_result_that_is_not_for_here_costs_itself_alone(
    folder: Path, changes: dict[str, Any], why: str
) -> None:
    imported = bring(folder, validated(folder, **changes), timed(folder))
    assert [method for *_, method, _ in imported.merged] == ["benchmarked"]
    (refused,) = imported.refused
    assert f"results.jsonl:1: {changes.get('variant', NAME)}: " in refused
    assert why in refused
    assert not (folder / "gpu.json").exists()


def test_a_result_of_an_older_version_is_refused_alone(folder: Path) -> None:
    imported = bring(folder, {"method": "benchmarked", "protocol": 1, "variant": "a\x1b[2J"}, validated(folder))
    assert len(imported.merged) == 1
    assert imported.refused[0].endswith(
        r"'a\x1b[2J': benchmarked results of version 1 say nothing to version 2; run a new bundle"
    )


def without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda line: line.pop(key)


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(line: dict[str, Any]) -> None:
        *way, last = path.split(".")
        inner: Any = line
        for part in way:
            inner = inner[int(part) if isinstance(inner, list) else part]
        inner[int(last) if isinstance(inner, list) else last] = value

    return change


def recount(name: str, value: int) -> Callable[[dict[str, Any]], None]:
    """Changes a count of the first problem, and with it the sum that the figures tell."""

    def change(line: dict[str, Any]) -> None:
        line["problems"][0][name] = value
        line["figures"][name] = sum(problem[name] for problem in line["problems"])

    return change


def beside(folder: Path, **changes: Any) -> dict[str, Any]:
    """A time beside the vendor's way and a copy."""
    return timed(folder, copy="plain copy", **changes)


NONSENSE: list[tuple[Callable[[Path], dict[str, Any]], Callable[[dict[str, Any]], Any], str]] = [
    (validated, put("figures", {}), "figures.problems is missing"),
    (validated, put("figures", {"problems": 5}), "figures.correct is missing"),
    (validated, put("gpu", {}), "gpu.gpu is missing"),
    (validated, put("gpu", None), "gpu is None"),
    (validated, put("gpu.compute_capability", "8.0"), "a kernel for sm_90a runs on 9.0 alone"),
    (validated, put("protocol", 10**9), "protocol is 1000000000: of gpu-validated results, 1 or 2 can be read here"),
    (validated, put("protocol", 0), "protocol is 0"),
    (validated, put("status", "luck"), "status is 'luck'"),
    (validated, put("method", "guessed"), "method is 'guessed': it is one of gpu-validated, compared, benchmarked"),
    (validated, put("method", ["gpu-validated"]), "method is ['gpu-validated']"),
    (validated, put("variant", "../escape"), "variant is '../escape': it must be the plain name of a folder"),
    (validated, put("variant", ""), "variant is ''"),
    (validated, put("config", ".."), "config is '..': it must be the plain name of a folder"),
    (validated, put("config", "a\x00b"), "config is 'a\\x00b'"),
    (validated, put("time", "yesterday"), "time is 'yesterday': it must be a time as 2026-11-29T12:00:00Z"),
    (validated, put("time", "2026-13-29T12:00:00Z"), "time is '2026-13-29T12:00:00Z'"),
    (validated, put("time", "2999-01-01T00:00:00Z"), "time is '2999-01-01T00:00:00Z': it is yet to come"),
    (validated, put("gpu.gpu", "NVIDIA \u041d200"), "gpu.gpu is 'NVIDIA \u041d200': "),
    (validated, put("gpu.driver", "580\u202e"), "gpu.driver is "),
    (validated, recount("launches", 1), "problems.0.launches is 1: of this problem, asked for so, it is 3"),
    (validated, recount("launches", 4), "problems.0.launches is 4: of this problem, asked for so, it is 3"),
    (validated, recount("elements", 1), "problems.0.elements is 1: of this problem, asked for so, it is "),
    (compared, recount("elements", 1), "problems.0.elements is 1: of this problem, asked for so, it is "),
    (validated, put("source_sha", "F" * 64), "source_sha is 'FFFF"),
    (validated, without("library_sha"), "library_sha is missing"),
    (validated, without("judged_by"), "judged_by is None: it must name the code that judged"),
    (validated, put("extra", 1), "extra is 1: no result of its kind has such a key"),
    (validated, put("diagnosis", "all is well"), "diagnosis is 'all is well'"),
    (validated, lambda line: line["problems"].pop(), "figures.names is"),
    (validated, lambda line: line.update(problems=line["problems"][:1]), "figures.names is"),
    (validated, put("problems.0.name", "luck"), "figures.names"),
    (validated, put("problems.0.m", 77), "of that name, this was asked for: {'name': 'aligned'"),
    (validated, put("problems.0.fill", "ones"), "of that name, this was asked for"),
    (validated, put("problems.0.z", 1), "a problem has the extents k, l, m, n"),
    (validated, put("problems.0.ratio", 1.5), "problems.0.ratio is 1.5: of what is correct no error exceeds its bound"),
    (validated, put("problems.0.ratio", 0.7501), "figures.ratio is 0.75: the parts of the result come to 0.7501"),
    (validated, put("problems.0.status", "skipped"), "problems.0."),
    (validated, put("problems.0.faults", ["lost"]), "problems.0.faults is ['lost']: there are some unless"),
    (validated, put("problems.1.name", "aligned"), "problems.1.name is 'aligned': each problem is told once"),
    (validated, put("problems.0", 5), "problems.0 is 5"),
    (validated, put("figures.elements", 1), "figures.elements is 1: the parts of the result come to"),
    (validated, put("figures.seed", 2**65), "the integer 36893488147419103232 is beyond 64 bits"),
    (validated, put("figures.asked", [{"m": 1}]), "figures.asked.0 is {'m': 1}: a problem has k, l, m, n"),
    (compared, put("emulator", "new"), "emulator is 'new'"),
    (compared, put("figures.cases", {}), "figures.difference is"),
    (compared, put("problems.0.equal", 2.0), "problems.0.equal is 2.0"),
    (compared, put("problems.0.name", "luck"), "figures.cases"),
    (timed, put("figures", {}), "figures.problem is missing"),
    (timed, put("samples", {}), "samples is []"),
    (timed, put("samples.cold_us", []), "samples.cold_us is []: there is at least one"),
    (timed, put("samples.peer_cold_us", []), "samples.peer_cold_us is []: there is at least one"),
    (timed, put("samples.peer_again_us", []), "samples.peer_again_us is []: there is at least one"),
    (timed, put("samples.cold_us.0", -1.0), "samples.cold_us.0 is -1.0: it must be greater than 0"),
    (
        timed,
        put("samples.cold_us.0", 1e9),
        "figures.cold_us.median is 193.062: the parts of the result come to 193.188",
    ),
    (timed, put("figures.speed", 9999.0), "figures.speed is 9999.0: the parts of the result come to"),
    (timed, put("figures.peer.tie", True), "figures.peer.tie is True: the parts of the result come to False"),
    (beside, put("figures.further_peers.0.ratio", 2.0), "rs.0.ratio is 2.0: that of the medians is 0.4741"),
    (
        beside,
        put("figures.further_peers.0.speed", 9.0),
        "figures.further_peers.0.speed is 9.0: the parts of the result",
    ),
    (beside, put("figures.further_peers.0.name", "torch.mm(out=)"), "each is told once"),
    (beside, put("figures.further_peers", []), "figures.further_peers is []"),
    (beside, put("figures.further_peers.0", 5), "figures.further_peers.0 is 5"),
    (beside, put("samples.peer2_again_us", []), "samples.peer2_again_us is []: there is at least one"),
    (beside, put("samples", {}), "it has cold_us, peer2_again_us, peer2_cold_us, peer2_sustained_us, peer_again_us"),
    (timed, put("problem.m", 1), "figures.problem is {"),
    (timed, put("problem", {"z": 1}), "figures.problem is {"),
    (timed, put("status", "hang"), "diagnosis is ''"),
]


@pytest.mark.parametrize(("line", "change", "told"), NONSENSE, ids=range(len(NONSENSE)))
def test_what_no_run_wrote_is_refused_by_file_and_line_and_nothing_is_written(
    folder: Path, line: Callable[[Path], dict[str, Any]], change: Callable[[dict[str, Any]], Any], told: str
) -> None:
    wrong = line(folder)
    change(wrong)
    with pytest.raises(UserError) as raised:
        bring(folder, header(), validated(folder), timed(folder), wrong)
    assert "results.jsonl:4: " in str(raised.value)
    assert told in str(raised.value)
    assert str(raised.value).endswith("; nothing was imported; copy the file again from where run.py wrote it")
    assert "\n" not in str(raised.value)
    assert sorted(path.name for path in folder.iterdir()) == ["build.json", "kernel.so", "plan.json"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("null", "results.jsonl:2: a NoneType, not a result"),
        ("[]", "results.jsonl:2: a list, not a result"),
        ("hello", "results.jsonl:2: not JSON: expecting value at character 1"),
        ('{"method": NaN}', "results.jsonl:2: NaN is no number of JSON"),
        ('{"method": 1e400}', "results.jsonl:2: 1e400 is beyond every number"),
        ('{"method": -Infinity}', "results.jsonl:2: -Infinity is no number of JSON"),
        ('{"method": "a", "method": "b"}', "results.jsonl:2: the key 'method' is there twice"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "results.jsonl:2: nested more than 40 levels deep"),
        ('{"cut', "results.jsonl:2: not JSON: "),
        ('{"kind": "header"}', "results.jsonl:2: config is missing"),
        ("{}", "results.jsonl:2: method is None: it is one of"),
        ('{"a": "' + "b" * 2**24 + '"}', "results.jsonl:2: longer than 16777216 bytes"),
    ],
)
def test_a_line_that_is_no_result_refuses_the_file(folder: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as raised:
        bring(folder, validated(folder), text, timed(folder))
    assert told in str(raised.value)
    assert not (folder / "gpu.json").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no result is in it"),
        (b"\n\n", "no result is in it"),
        (json.dumps(header()).encode() + b"\n", "no result is in it"),
        (b'{"method": "\xff"}\n', "results.jsonl:1: not UTF-8 at byte 13"),
        ("{}".encode("utf-16"), "results.jsonl:1: not UTF-8 at byte 1"),
    ],
)
def test_a_file_without_results_is_an_error(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError) as raised:
        import_results([path], tmp_path)
    assert told in str(raised.value)


def test_a_file_that_cannot_be_read_is_a_user_error(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.jsonl", tmp_path, Path("/dev/zero")):
        with pytest.raises(UserError, match="cannot be read"):
            import_results([path], tmp_path)


def test_of_several_files_all_or_none_are_imported(folder: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(json.dumps(validated(folder)) + "\n")
    bad.write_text("{}\n")
    with pytest.raises(UserError, match=r"bad.jsonl:1: "):
        import_results([good, bad], folder.parents[1])
    assert not (folder / "gpu.json").exists()


def test_a_line_cut_off_by_a_kill_costs_only_itself(folder: Path) -> None:
    whole, cut = validated(folder), json.dumps(timed(folder))[:1000]
    for lines, end in (([whole, cut], ""), ([cut, header(), whole], "\n")):
        imported = bring(folder, *lines, end=end)
        assert len(imported.merged) == 1
        assert f"results.jsonl:{1 + lines.index(cut)}: cut off, as by a kill" in imported.refused[0]


def test_importing_twice_changes_nothing(folder: Path) -> None:
    bring(folder, validated(folder))
    before = (folder / "gpu.json").read_bytes()
    bring(folder, validated(folder), validated(folder))
    assert (folder / "gpu.json").read_bytes() == before


def test_the_worst_verdict_for_the_present_source_counts_and_every_run_is_kept(folder: Path) -> None:
    bring(folder, validated(folder, "incorrect", time="2026-11-29T10:00:00Z"))
    bring(folder, validated(folder, "correct", time="2026-11-29T11:00:00Z"))
    assert recorded(folder)["status"] == "incorrect"
    assert [run["status"] for run in recorded(folder)["runs"]] == ["incorrect", "correct"]
    bring(folder, validated(folder, "hang", time="2026-11-29T09:00:00Z"))
    assert recorded(folder)["status"] == "hang"
    assert len(recorded(folder)["runs"]) == 3


@pytest.mark.parametrize("order", [1, -1])
def test_of_equal_verdicts_the_latest_is_told(folder: Path, order: int) -> None:
    """Whichever file it came with."""
    times = [f"2026-11-29T{hour}:00:00Z" for hour in (10, 11, 12)]
    for time in times[::order]:
        bring(folder, validated(folder, "incorrect", diagnosis=f"seen at {time}", time=time))
    assert (recorded(folder)["time"], recorded(folder)["diagnosis"]) == (times[-1], f"seen at {times[-1]}")
    for time in times[::order]:
        bring(folder, compared(folder, time=time))
    assert (recorded(folder, "compared.json")["status"], recorded(folder, "compared.json")["time"]) == (
        "correct",
        times[-1],
    )
    for time in times[::order]:
        bring(folder, timed(folder, "hang", m=int(time[11:13]), diagnosis=f"hung at {time}", time=time))
    assert recorded(folder, "bench.json")["diagnosis"] == f"hung at {times[-1]}"


def older(line: dict[str, Any]) -> dict[str, Any]:
    """The same verdict as version 1 of the method wrote it."""
    old = copy.deepcopy(line) | {"protocol": 1}
    del old["judged_by"], old["figures"]["names"], old["figures"]["asked"]
    return old


def test_a_new_source_a_new_version_or_new_judges_overcome_old_verdicts(folder: Path) -> None:
    bring(folder, older(validated(folder, "incorrect", time="2026-11-29T13:00:00Z")))
    assert recorded(folder)["status"] == "incorrect"
    bring(folder, validated(folder, "hang", judged_by="0" * 16, time="2026-11-29T13:00:00Z"))
    assert (recorded(folder)["status"], recorded(folder)["judged_by"]) == ("hang", "0" * 16)
    bring(folder, validated(folder, "correct"))
    assert recorded(folder)["status"] == "correct"
    build = recorded(folder, "build.json")
    write_json(folder / "build.json", {**build, "source_sha": "a" * 64})
    bring(folder, validated(folder, "correct", time="2026-11-30T00:00:00Z"))
    assert recorded(folder)["source_sha"] == "a" * 64
    assert recorded(folder)["status"] == "correct"
    assert len(recorded(folder)["runs"]) == 4


def test_runs_that_together_cover_all_were_repeated_as_often_as_the_least_of_them(folder: Path) -> None:
    every = names(folder)
    parts = ((every[:-1], 1), (every[-1:], 2), (every[:1], 50))
    for number, (part, repeats) in enumerate(parts):
        bring(folder, validated(folder, names=part, repeats=repeats, time=f"2026-11-29T1{number}:00:00Z"))
    told = recorded(folder)
    assert (told["status"], told["figures"]["repeats"]) == ("correct", 1)
    bring(folder, validated(folder, repeats=3, time="2026-11-29T14:00:00Z"))
    assert recorded(folder)["figures"]["repeats"] == 3


def test_what_another_gpu_found_is_not_told_as_this_one_s(folder: Path) -> None:
    other, every = {**GPU, "gpu": "NVIDIA H100"}, names(folder)
    bring(folder, validated(folder, names=every[:-1]))
    bring(folder, validated(folder, names=every[-1:], gpu=other, time="2026-11-29T13:00:00Z"))
    assert recorded(folder)["status"] == "partial"
    bring(folder, validated(folder, names=every[-1:], time="2026-11-29T12:30:00Z"))
    assert (recorded(folder)["status"], recorded(folder)["gpu"]) == ("correct", GPU)
    bring(folder, validated(folder, "incorrect", gpu=other, time="2026-11-29T11:00:00Z"))
    assert (recorded(folder)["status"], recorded(folder)["gpu"]) == ("incorrect", other)


def test_times_of_two_gpus_do_not_stand_together(folder: Path) -> None:
    def told() -> tuple[str, list[tuple[int, float]]]:
        found = recorded(folder, "bench.json")
        return found["gpu"]["gpu"], [(f["problem"]["m"], f["cold_us"]["p5"] // 1) for f in found["figures"]["problems"]]

    other = {**GPU, "gpu": "NVIDIA H100"}
    bring(folder, timed(folder, m=512, cold=10.0, time="2026-11-29T10:00:00Z"))
    bring(folder, timed(folder, m=1024, cold=30.0, gpu=other, time="2026-11-29T11:00:00Z"))
    assert told() == ("NVIDIA H100", [(1024, 30.0)])  # of as many, the latest
    bring(folder, timed(folder, m=1024, cold=20.0, time="2026-11-29T10:30:00Z"))
    assert told() == ("NVIDIA H200", [(512, 10.0), (1024, 20.0)])
    bring(folder, timed(folder, "hang", m=1024, gpu=other, time="2026-11-29T12:00:00Z"))
    assert recorded(folder, "bench.json")["status"] == "hang"


@pytest.mark.parametrize("key", ["source_sha", "cubin_sha"])
def test_a_verdict_on_another_kernel_does_not_count_for_this_one(folder: Path, key: str) -> None:
    bring(folder, validated(folder, "hang"))
    build = recorded(folder, "build.json")
    write_json(folder / "build.json", {**build, key: "b" * 64})
    bring(folder, validated(folder))
    assert (recorded(folder)["status"], recorded(folder)[key]) == ("correct", "b" * 64)
    assert recorded(folder)["figures"]["runs"] == 1


def test_runs_of_some_of_the_problems_are_kept_and_no_verdict_until_they_cover_all(folder: Path) -> None:
    every = names(folder)
    for number, part in enumerate((every[:1], every[1:3], every[3:-1])):
        imported = bring(folder, validated(folder, names=part, time=f"2026-11-29T1{number}:00:00Z"))
        assert len(imported.merged) == 1
        missing = [name for name in every if name not in every[: every.index(part[-1]) + 1]]
        told = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        why = f"of the problems asked for, {len(missing)} were not run: {told}"
        assert imported.notes == [f"{NAME}: gpu-validated is partial: {why}"]
        assert (recorded(folder)["status"], recorded(folder)["diagnosis"]) == ("partial", why)
        evidence = Folder(folder).evidence()
        judged = judge(evidence[0].subject, evidence)
        assert (judged.evidence, judged.status) == ("built", "correct")
        assert [(found.method, because) for found, because in judged.stale] == [("gpu-validated", why)]
    assert bring(folder, validated(folder, names=every[-1:], time="2026-11-29T14:00:00Z")).notes == []
    assert recorded(folder)["status"] == "correct"
    figures = recorded(folder)["figures"]
    assert (figures["names"], figures["problems"], figures["runs"]) == (sorted(every), len(every), 4)
    assert figures["seconds"] == pytest.approx(4 * 4.84), "of all the runs that it rests on"
    assert Folder(folder).damaged() == []
    bring(folder, validated(folder, "incorrect", names=every[:1], time="2026-11-29T15:00:00Z"))
    assert recorded(folder)["status"] == "incorrect", "what was seen to fail needs no other problem"


def test_a_configuration_may_ask_for_problems_of_its_own(folder: Path) -> None:
    own = [{"m": 16, "n": 8, "k": 8, "l": 1}, {"m": 32, "n": 8, "k": 8, "l": 1}]
    bring(folder, validated(folder, asked=own, names=["16x8x8x1"]))
    assert recorded(folder)["diagnosis"].endswith("3 were not run: 16x8x8x1_integer, 32x8x8x1, 32x8x8x1_integer")
    bring(folder, validated(folder, asked=own, time="2026-11-29T13:00:00Z"))
    assert (recorded(folder)["status"], recorded(folder)["figures"]["asked"]) == ("correct", own)
    bring(folder, validated(folder, names=["tiny"], time="2026-11-29T14:00:00Z"))
    assert recorded(folder)["status"] == "correct", "a run more takes nothing away"


def test_what_was_right_once_stays_so_where_a_later_run_had_no_room_for_it(folder: Path) -> None:
    """Two runs of a part each, of which the later one skips what the earlier one has seen."""
    every = names(folder)
    first = [name for name in every if name != "tiny"]
    bring(folder, validated(folder, names=first, time="2026-11-29T10:00:00Z"))
    rest = {"names": ["tiny", "beyond_2_31"], "statuses": {"beyond_2_31": "skipped"}}
    bring(folder, validated(folder, **rest, time="2026-11-29T11:00:00Z"))
    figures = recorded(folder)["figures"]
    assert (recorded(folder)["status"], figures["names"], figures["skipped"]) == ("correct", sorted(every), [])


def test_a_problem_is_skipped_for_want_of_memory_alone(folder: Path) -> None:
    bring(folder, validated(folder, statuses={"beyond_2_31": "skipped"}))
    assert recorded(folder)["status"] == "correct"
    assert recorded(folder)["figures"]["skipped"] == ["beyond_2_31"]
    with pytest.raises(UserError, match=r"problems.7.status is .* memory does not hold what is skipped"):
        bring(folder, validated(folder, statuses={"tiny": "skipped"}))


def test_cases_of_the_emulator_are_compared_all_or_in_part(folder: Path) -> None:
    bring(folder, compared(folder, names=["ragged"]))
    assert recorded(folder, "compared.json")["status"] == "partial"
    bring(folder, compared(folder, time="2026-11-29T13:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "correct"
    assert recorded(folder, "compared.json")["figures"]["runs"] == 2


def test_times_beside_several_peers_are_read_and_kept(folder: Path) -> None:
    bring(folder, beside(folder, m=512), timed(folder, m=1024), timed(folder, m=2048, peer="", copy="plain copy"))
    found = {f["problem"]["m"]: f for f in recorded(folder, "bench.json")["figures"]["problems"]}
    assert [peer["name"] for peer in found[512]["further_peers"]] == ["plain copy"]
    assert found[512]["further_peers"][0]["ratio"] == pytest.approx(91.531 / 193.062, abs=1e-4)
    assert (found[512]["peer"]["name"], "further_peers" in found[1024]) == ("torch.mm(out=)", False)
    assert ("peer" in found[2048], found[2048]["further_peers"][0]["name"]) == (False, "plain copy")
    assert Folder(folder).damaged() == []


def test_timings_keep_the_latest_of_each_problem(folder: Path) -> None:
    bring(folder, timed(folder, m=512, cold=10.0, time="2026-11-29T10:00:00Z"), timed(folder, m=1024, cold=20.0))
    bring(folder, timed(folder, m=512, cold=11.0, peer="", time="2026-11-29T11:00:00Z"))
    figures = recorded(folder, "bench.json")["figures"]["problems"]
    assert sorted((f["problem"]["m"], f["cold_us"]["p5"] // 1) for f in figures) == [(512, 11.0), (1024, 20.0)]
    assert len(recorded(folder, "bench.json")["runs"]) == 3
    bring(folder, timed(folder, "hang", m=2048, time="2026-11-29T12:00:00Z"))
    assert recorded(folder, "bench.json")["status"] == "hang"
    assert len(recorded(folder, "bench.json")["figures"]["problems"]) == 2
    assert Folder(folder).damaged() == []


def test_a_tie_wants_the_peer_s_second_samples(folder: Path) -> None:
    """Without them a noise could be told in which any difference drowns."""
    line = timed(folder)
    line["figures"]["peer"] |= {"noise": 0.9, "tie": True}
    with pytest.raises(UserError, match=r"figures.peer.noise is 0.9: the parts of the result come to 0.0014"):
        bring(folder, line)
    del line["samples"]["peer_again_us"]
    with pytest.raises(UserError, match=r"samples is .*: it has cold_us, peer_again_us, peer_cold_us, "):
        bring(folder, line)


@pytest.mark.parametrize("name", ["cold_us", "peer_cold_us", "peer_again_us", "peer2_cold_us"])
def test_slow_samples_are_not_left_out(folder: Path, name: str) -> None:
    line = beside(folder)
    fast = sorted(line["samples"][name])[:40]
    samples = {**line["samples"], name: fast}
    plan, told = plan_from_json(stored(folder, "plan.json")), line["figures"]
    names = [told["peer"]["name"], told["further_peers"][0]["name"]]
    forged = bench.figures(plan, line["problem"], samples, told["clocks"], names)  # all else agrees
    with pytest.raises(UserError, match=rf"samples.{name} is '40 samples': everything is launched once in each round"):
        bring(folder, {**line, "samples": samples, "figures": forged})


def test_a_timing_that_was_alone_on_the_gpu_counts_before_a_later_one_that_was_not(folder: Path) -> None:
    def first() -> float:
        return recorded(folder, "bench.json")["figures"]["problems"][0]["cold_us"]["p5"] // 1

    shared = "1 other compute process seen"
    bring(folder, timed(folder, cold=10.0, shared=shared, time="2026-11-29T12:00:00Z"))
    assert first() == 10.0  # better than nothing, and marked
    assert recorded(folder, "bench.json")["figures"]["problems"][0]["shared"] == shared
    bring(folder, timed(folder, cold=20.0, time="2026-11-29T13:00:00Z"))
    bring(folder, timed(folder, cold=30.0, shared=shared, time="2026-11-29T14:00:00Z"))
    assert first() == 20.0
    bring(folder, timed(folder, cold=40.0, time="2026-11-29T15:00:00Z"))
    assert first() == 40.0
    assert len(recorded(folder, "bench.json")["runs"]) == 4


def test_a_comparison_counts_with_the_emulator_at_hand_or_else_the_latest(folder: Path) -> None:
    old, new = "0" * 16, "1" * 16
    bring(folder, compared(folder, "incorrect", emulator=old, time="2026-11-29T10:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "incorrect"
    bring(folder, compared(folder, "correct", emulator=new, time="2026-11-29T11:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "correct"
    assert recorded(folder, "compared.json")["emulator"] == new
    bring(folder, compared(folder, "incorrect", emulator=new, time="2026-11-29T09:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "incorrect"
    assert len(recorded(folder, "compared.json")["runs"]) == 3
    bring(folder, compared(folder, "correct", time="2026-11-29T08:00:00Z"))
    assert recorded(folder, "compared.json")["status"] == "correct"
    evidence = Folder(folder).evidence()
    assert [e.method for e in evidence] == ["built", "compared"]
    judged = judge(evidence[1].subject, evidence)
    assert (judged.evidence, judged.status) == ("built", "correct")


@pytest.mark.parametrize(
    "content",
    [
        '{"figures": {"problems": 5}, "status": "correct"}',
        "[]",
        "",
        "not JSON",
        None,  # a sound top over runs that are none
    ],
)
def test_a_damaged_file_is_kept_and_never_merged_into(folder: Path, content: str | None) -> None:
    bring(folder, validated(folder, "hang"))
    if content is None:
        content = json.dumps({**recorded(folder), "runs": [{"status": "correct"}]})
    (folder / "gpu.json").write_text(content)
    imported = bring(folder, validated(folder))
    assert len(imported.notes) == 1
    assert "it is kept as gpu.json.damaged" in imported.notes[0]
    assert (folder / "gpu.json.damaged").read_text() == content
    assert recorded(folder)["status"] == "correct"
    assert len(recorded(folder)["runs"]) == 1


def test_what_is_recorded_here_is_held_to_the_same(folder: Path) -> None:
    assert record_result(validated(folder), folder.parents[1]) == ""
    assert record_result(validated(folder) | {"gpu": {}}, folder.parents[1]).startswith("gpu.gpu is missing")
    assert "it is for source" in record_result(validated(folder, source_sha="f" * 64), folder.parents[1])
    assert len(recorded(folder)["runs"]) == 1


def test_what_was_imported_says_so_for_as_long_as_anything_rests_on_it(folder: Path) -> None:
    def imported() -> list[bool]:
        return [found.imported for found in Folder(folder).evidence() if found.method == "gpu-validated"]

    record_result(validated(folder), folder.parents[1])
    assert imported() == [False]
    bring(folder, validated(folder))  # the same run
    assert imported() == [False]
    bring(folder, validated(folder, time="2026-11-29T13:00:00Z"))
    assert imported() == [True]
    record_result(validated(folder, time="2026-11-29T14:00:00Z"), folder.parents[1])
    assert imported() == [True]
    assert len(recorded(folder)["here"]) == 2


def test_the_command_says_what_is_refused_what_is_partial_and_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    out, source = folder.parents[1], "x = 1\n"
    build = {**recorded(folder, "build.json"), "source_sha": digest(source), "toolchain": plain(current())}
    write_json(folder / "build.json", build)
    Folder(folder).write_source(source)
    results = tmp_path / "results.jsonl"
    results.write_text(json.dumps(validated(folder, names=["tiny"])) + "\n{}\n")
    wrong = invoke("import", results, "-o", out)
    assert wrong.exit_code == 2
    assert "results.jsonl:2: method is None" in " ".join(wrong.stderr.split())
    assert not (folder / "gpu.json").exists()
    results.write_text(json.dumps(validated(folder, names=["tiny"])) + "\n")
    part = invoke("import", results, "-o", out)
    assert part.exit_code == 0
    assert f"{NAME}: gpu-validated is partial: of the problems asked for" in " ".join(part.stderr.split())
    assert "gpu-validated: partial: of the problems asked for" in invoke("show", NAME, "-o", out).stdout
    results.write_text(json.dumps(validated(folder)) + "\n" + json.dumps(validated(folder, cubin_sha="f" * 64)) + "\n")
    some = invoke("import", results, "-o", out)
    assert some.exit_code == 1
    assert "it is for cubin ffffffffffff" in " ".join(some.stderr.split())
    assert "gpu-validated: correct on NVIDIA H200 (imported)" in invoke("show", NAME, "-o", out).stdout


def test_one_gpu_under_two_names_or_capabilities_is_believed_of_neither(folder: Path) -> None:
    mine = {**GPU, "uuid": "GPU-1c0ffee1"}
    imported = bring(folder, validated(folder, gpu=mine), timed(folder, gpu={**mine, "gpu": "NVIDIA H100"}))
    path = folder.parents[2] / "results.jsonl"
    assert imported.merged == []
    assert [line.partition(": ")[0] for line in imported.refused] == [f"{path}:1", f"{path}:2"]
    assert imported.refused[0].endswith(
        f"the GPU with the uuid GPU-1c0ffee1 is NVIDIA H200, of compute capability 9.0 here, and NVIDIA H100, of "
        f"compute capability 9.0 in {path}:2: one GPU is not both"
    )
    assert imported.refused[1].endswith(f"in {path}:1: one GPU is not both")
    assert not (folder / "gpu.json").exists()


def test_a_gpu_is_held_against_the_header_and_against_what_was_imported_before(folder: Path) -> None:
    mine = {**GPU, "uuid": "GPU-1c0ffee1"}
    other = {**mine, "gpu": "NVIDIA H100"}
    assert (
        "results.jsonl:1: one GPU is not both" in bring(folder, header(gpu=mine), timed(folder, gpu=other)).refused[0]
    )
    assert bring(folder, header(gpu=mine), validated(folder, gpu=mine)).refused == []
    (refused,) = bring(folder, timed(folder, gpu=other)).refused
    assert f"in {folder / 'gpu.json'}: one GPU is not both" in refused
    assert bring(folder, timed(folder, gpu=mine)).refused == []


def test_a_gpu_is_held_against_what_is_committed(folder: Path) -> None:
    ledger = folder.parents[1] / "ledger"
    (ledger / "raw").mkdir(parents=True)
    (ledger / "other.jsonl").touch()
    (ledger / "raw" / "other.jsonl").write_text(json.dumps({"gpu": {**GPU, "compute_capability": "10.0"}}) + "\n")
    (refused,) = bring(folder, validated(folder)).refused
    assert "132 SMs and 150109880320 B is of compute capability 9.0 here" in refused
    assert f"of compute capability 10.0 in {ledger / 'raw' / 'other.jsonl'}:1: one GPU is not both" in refused
