"""What of a launch's findings is a fault, and what is a note."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests.emulate.ptx_kit import module
from warpwright.checking.device_memory import PATTERN
from warpwright.checking.trials import Trials
from warpwright.emulate import GlobalMemory, Options
from warpwright.emulate.machine.launch import Launch
from warpwright.emulate.units import UNITS

#: Each thread reads the word %r2 of shared memory into %r3; its global word is at %rd2.
READ = """
 shl.b32 %r4, %r0, 2;
 add.s32 %r2, %r1, %r4;
 mul.wide.u32 %rd2, %r4, 1;
 add.s64 %rd2, %rd0, %rd2;
 ld.shared.b32 %r3, [%r2];
"""


def trials(body: str, data: np.ndarray, threads: int = 32) -> Trials:
    memory = GlobalMemory()
    address = memory.add("y", data, "inout")
    launch = Launch((1, 1, 1), (threads, 1, 1), (1, 1, 1), 1024, (struct.pack("<Q", address),), "kernel")
    return Trials(module(body, 1, threads=threads), launch, {}, memory, Options())


def judged(body: str, rules: frozenset[str] = UNITS.hooks.rules, seeds: int = 1) -> tuple[Trials, np.ndarray]:
    data = np.arange(32, dtype=np.uint32)
    made = trials(body, data)
    for seed in range(1, seeds + 1):
        assert made.judge(seed, rules)
    return made, data


def kinds(found: dict[tuple[str, tuple[int, ...]], object]) -> list[str]:
    return [kind for kind, _ in found]


@pytest.mark.parametrize(
    ("use", "matters"),
    [
        (" st.global.b32 [%rd2], %r0;\n", False),
        (" and.b32 %r3, %r3, 0;\n st.global.b32 [%rd2], %r3;\n", False),
        (" st.global.b32 [%rd2], %r3;\n", True),
        (" and.b32 %r3, %r3, 1;\n st.global.b32 [%rd2], %r3;\n", True),
    ],
)
def test_what_nobody_wrote_may_be_read_as_long_as_it_does_not_matter(use: str, matters: bool) -> None:
    made, data = judged(READ + use)
    assert kinds(made.found if matters else made.noted) == ["uninitialised-read"]
    assert not (made.noted if matters else made.found)
    if not matters:
        np.testing.assert_array_equal(data, np.zeros(32) if "and" in use else np.arange(32))


def test_all_rules_make_findings_of_notes() -> None:
    made, _ = judged(READ + " st.global.b32 [%rd2], %r0;\n", frozenset())
    assert kinds(made.found) == ["uninitialised-read"]
    assert not made.noted


def test_each_run_begins_with_the_same_memory() -> None:
    """One run adds one, and so do three: the last one's result stays."""
    add = READ.replace("ld.shared.b32 %r3, [%r2];", "ld.global.b32 %r3, [%rd2];\n add.s32 %r3, %r3, 1;")
    made, data = judged(add + " st.global.b32 [%rd2], %r3;\n", seeds=3)
    assert (made.runs, made.found, made.noted, made.varying()) == (3, {}, {}, {})
    np.testing.assert_array_equal(data, np.arange(32) + 1)


def test_what_depends_on_the_schedule_is_told() -> None:
    body = " shr.u32 %r5, %r0, 5;\n st.global.b32 [%rd0], %r5;\n"
    made = trials(body, np.zeros(4, np.uint32), threads=256)
    for seed in range(1, 9):
        made.judge(seed, UNITS.hooks.rules)
    assert made.varying() == {"y": 1}


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize(("use", "matters"), [("add.s32 %r3, %r3, 1;", True), ("mov.b32 %r3, 7;", False)])
def test_results_must_not_depend_on_global_memory_that_nobody_wrote(use: str, matters: bool, seeds: int) -> None:
    load = READ.replace("ld.shared.b32 %r3, [%r2];", f"ld.global.b32 %r3, [%rd2];\n {use}")
    data = np.full(64, PATTERN, np.uint32)
    made = trials(load + " st.global.b32 [%rd2], %r3;\n", data)
    for seed in range(1, seeds + 1):
        assert made.judge(seed, UNITS.hooks.rules)
    made.weigh_unwritten(1, UNITS.hooks.rules)
    assert kinds(made.found) == (["uninitialised-read"] if matters else [])
    if matters:
        ((finding, _),) = made.found.values()
        assert "128 bytes of 'y' depend on what 'y' held where nobody had written" in finding.message
    assert (data[32:] == PATTERN).all()
    assert made.runs == seeds + (matters or seeds == 1)
