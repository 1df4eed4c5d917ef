"""Nsight Compute's table, and a profiler that does what it likes: counters, or one sentence.

`data/ncu_gemm_h200.csv` is what ncu 2025.3.1 wrote on an H200 (driver 580.159.04) of quickstart's 128x256x64 kernel in
clusters of two at 4096^3, with the options of `profiled`; of its 378 columns 39 are kept, as they were.
"""

from __future__ import annotations

import json
import stat
import sys
import time
from pathlib import Path

import pytest

from tests.emulate.plans import gemm_plan
from warpwright.diagnosis.counters import METRICS, Counters, CountersError, read_counters
from warpwright.diagnosis.diagnose import counted
from warpwright.diagnosis.profiled import find_profiler, profiled
from warpwright.diagnosis.report import Report

TABLE = Path(__file__).with_name("data") / "ncu_gemm_h200.csv"
SIZES = (("M", 64), ("N", 64))


def test_a_real_table() -> None:
    found = read_counters(TABLE.read_text())
    assert found.microseconds == pytest.approx(179.776)
    assert found.pipes["tensor cores"] == pytest.approx(0.9411)
    assert (found.pipes["FMA"], found.pipes["ALU"], found.pipes["TMA"]) == pytest.approx((0.0088, 0.0497, 0.0023))
    assert (found.memory["DRAM"], found.memory["L2"]) == pytest.approx((0.2037, 0.5443))
    assert found.issue == pytest.approx(0.1279)
    assert sum(found.stalls.values()) == pytest.approx(1)
    worst = sorted(found.stalls, key=lambda reason: -found.stalls[reason])
    assert worst[:4] == ["barrier", "long_scoreboard", "wait", "mio_throttle"]
    assert found.stalls["long_scoreboard"] == pytest.approx(3.25 / 17.65, abs=0.001)
    report = Report("v", "p", "measured", "ended", counters=found)
    assert json.loads(json.dumps(report.data()))["counters"]["pipes"]["tensor cores"] == found.pipes["tensor cores"]
    text = "\n".join(report.lines())
    assert "of the kernel itself (179.8 us under it)" in text
    assert "tensor cores 94%" in text
    assert (
        "38% barrier (other threads), 18% long_scoreboard (memory, or an mbarrier), 15% wait (a fixed latency)" in text
    )


def test_units_and_the_last_launch() -> None:
    head = '"Kernel Name","gpu__time_duration.sum"\n"","us"\n"k","1,000.5"\n'
    assert read_counters(head).microseconds == 1000.5
    assert read_counters(head + '"k","7"\n').microseconds == 7
    assert read_counters(head.replace('"us"', '"ms"')).microseconds == 1000500


def test_what_the_launched_program_says_is_no_row() -> None:
    table, said = TABLE.read_text().splitlines(), "/usr/lib/torch/x.py:3: UserWarning: no NumPy, maybe\n  import x"
    for at in range(len(table) + 1):
        assert read_counters("\n".join([*table[:at], said, *table[at:]])) == read_counters(TABLE.read_text())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "==ERROR== nothing\n",
        '"a","b"\n"",""\n',
        '"a","b"\n"","us"\n"1"\n',
        '"gpu__time_duration.sum"\n"us"\n"n/a"\n',
        '"gpu__time_duration.sum"\n"parsec"\n"1"\n',
    ],
)
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(CountersError):
        read_counters(text)


@pytest.fixture
def profiler(tmp_path: Path) -> Path:
    """A file to be made an ncu."""
    return tmp_path / "ncu"


def _acts(path: Path, body: str) -> str:
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_what_it_counts_is_read(profiler: Path, tmp_path: Path) -> None:
    body = f"print(open({str(TABLE)!r}).read()); open({str(tmp_path / 'asked')!r}, 'w').write('\\n'.join(sys.argv))"
    found = profiled(tmp_path, "gemm_kernel", SIZES, _acts(profiler, body))
    assert isinstance(found, Counters)
    asked = (tmp_path / "asked").read_text().split("\n")
    assert asked[asked.index("--kernel-name") + 1] == "regex:gemm_kernel"
    assert asked[asked.index("--metrics") + 1] == ",".join(METRICS)
    assert asked[asked.index("--launch-skip") + 1] == "2"  # of three launches
    assert asked[-4:] == ["warpwright.device.solo", str(tmp_path), "M=64", "N=64"]


def test_counters_that_are_forbidden(profiler: Path, tmp_path: Path) -> None:
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters"
    told = profiled(tmp_path, "k", SIZES, _acts(profiler, f"print({said!r}); sys.exit(1)"))
    assert isinstance(told, str)
    assert "may not read this GPU's counters (ERR_NVGPUCTRPERM)" in told
    assert "NVreg_RestrictProfilingToAdminUsers=0" in told


def test_a_profiler_that_fails_hangs_or_is_none(profiler: Path, tmp_path: Path) -> None:
    told = profiled(tmp_path, "k", SIZES, _acts(profiler, "print('No kernels were profiled'); sys.exit(9)"))
    assert told == (
        "Nsight Compute counted nothing: no launch of the kernel is in its table"
        " (exit code 9; its last words: No kernels were profiled)"
    )
    told = profiled(tmp_path, "k", SIZES, _acts(profiler, "time.sleep(60)"), seconds=0.3)
    assert told == "Nsight Compute said nothing for 0.3 s and was ended"
    told = profiled(tmp_path, "k", SIZES, str(tmp_path / "none"))
    assert isinstance(told, str)
    assert told.startswith("Nsight Compute cannot be run: ")


def test_who_says_nothing_is_ended_with_what_it_has_started(profiler: Path, tmp_path: Path) -> None:
    """A profiler's child holds the GPU, and its output open."""
    child = f"import subprocess; p = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(60)'])"
    body = f"{child}; open({str(tmp_path / 'child')!r}, 'w').write(str(p.pid)); time.sleep(60)"
    began = time.monotonic()
    told = profiled(tmp_path, "k", SIZES, _acts(profiler, body), seconds=2.0)
    assert told == "Nsight Compute said nothing for 2 s and was ended"
    assert time.monotonic() - began < 30
    state = Path(f"/proc/{(tmp_path / 'child').read_text()}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("its child goes on")


def test_a_report_has_counters_or_a_sentence(profiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, plan = Report("v", "p", "measured", "ended", remarks=("before",)), gemm_plan({})
    monkeypatch.setattr("warpwright.diagnosis.diagnose.find_profiler", lambda: "")
    told = counted(report, plan, tmp_path, SIZES)
    assert (told.counters, told.remarks) == (None, ("before", "no ncu on this host: no counters"))
    path = _acts(profiler, f"print(open({str(TABLE)!r}).read())")
    monkeypatch.setattr("warpwright.diagnosis.diagnose.find_profiler", lambda: path)
    told = counted(report, plan, tmp_path, SIZES)
    assert told.counters == read_counters(TABLE.read_text())
    assert told.remarks == ("before",)


def test_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_profiler(tmp_path) == ""
    place = tmp_path / "opt" / "nvidia" / "nsight-compute" / "2025.3.1"
    place.mkdir(parents=True)
    (place / "ncu").touch()
    assert find_profiler(tmp_path) == str(place / "ncu")
    assert find_profiler(Path(_acts(tmp_path / "ncu", "")).parent) == str(tmp_path / "ncu")
