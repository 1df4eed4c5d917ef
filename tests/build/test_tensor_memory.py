"""What the build says of kernels with tensor memory: nothing where plan, PTX and SASS agree, one rule each where not.

The kernels are the emulator's own for sm_100a (tests/emulate/blackwell), with plans that are written down by hand.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.once import Once
from warpwright.build import Artifact, BuildJob, build
from warpwright.build.cache import Cache
from warpwright.build.check import check
from warpwright.build.mma_descriptor import differing, planned_bits, words
from warpwright.build.ptx_census import ptx_census
from warpwright.build.ptx_tensor_memory import launch_control, tensor_memory
from warpwright.build.ptx_values import Values, statements
from warpwright.plan.types import Argument, Barrier, Buffer, Copy, KernelPlan, Mma, Plan, Role, TensorMemory

SOURCES = Path(__file__).parents[1] / "emulate" / "blackwell"
MMA = "tcgen05.mma.cta_group::{}.kind::f16.collector::a::discard"
ONE_128X128, PAIR_256X128 = 0x8200010, 0x10200010
Facts = dict[str, Any]


def make_plan(ctas: int) -> Plan:
    """The plan of gemm.py (ctas 1), or of gemm_pair.py (2)."""
    b_bytes = 49_152 // ctas
    at = 49_152 + b_bytes  # of the mbarriers
    tile = 128, 64
    kernel = KernelPlan(
        name="kernel",
        threads=192,
        cluster=(ctas, 1, 1),
        shared_bytes=at + 1024,  # whole units of the alignment
        entry_registers=255,
        buffers=(
            Buffer("a", 0, 49_152, 1024, "f16", (*tile, 3), "128B", ""),
            Buffer("b", 49_152, b_bytes, 1024, "f16", (128 // ctas, 64, 3), "128B", ""),
            Buffer("loaded", at, 24, 8, "i64", (3,), "none", ""),
            Buffer("consumed", at + 24, 24, 8, "i64", (3,), "none", ""),
            Buffer("accumulated", at + 48, 16, 8, "i64", (2,), "none", ""),
            Buffer("drained", at + 64, 16, 8, "i64", (2,), "none", ""),
            Buffer("columns", at + 80, 4, 4, "i32", (1,), "none", ""),
            Buffer("accumulators", 0, 256, 1, "f32", (128, 128, 2), "none", "", "tensor"),
        ),
        barriers=(
            Barrier("loaded", "mbarrier", 3, 1, 32_768 if ctas == 1 else 49_152, "MMA", "TMA", buffer="loaded",
                    pair=ctas == 2),
            Barrier("consumed", "mbarrier", 3, 1, 0, "TMA", "MMA", buffer="consumed"),
            Barrier("accumulated", "mbarrier", 2, 1, 0, "epilogue", "MMA", buffer="accumulated"),
            Barrier("drained", "mbarrier", 2, 4 * ctas, 0, "MMA", "epilogue", buffer="drained", pair=ctas == 2),
        ),
        copies=(
            Copy("a", "load", "f16", tile[::-1], "128B", 1, 1, "a"),
            Copy("b", "load", "f16", (64, 128 // ctas), "128B", 1, 1, "b"),
        ),
        mmas=(
            Mma(MMA.format(ctas), "UTCHMMA" if ctas == 1 else "UTCHMMA.2CTA", 128 * ctas, 128, 16, per_stage=4,
                descriptor=ONE_128X128 if ctas == 1 else PAIR_256X128),
        ),
        tensor_memory=TensorMemory(256, ctas, "MMA", "MMA"),
    )  # fmt: skip
    arguments = (
        Argument("a", "tensor", "f16", ("M", "K"), "K"),
        Argument("b", "tensor", "f16", ("N", "K"), "K"),
        Argument("d", "tensor", "f16", ("M", "N"), "N", role="output"),
        Argument("blocks", "scalar", "i32", role="grid_limit"),
    )
    return Plan(
        family="gemm", arch="sm_100a", label="small", kernel={}, design={}, entry="gemm", symbol=f"small_{ctas}",
        kernels=(kernel,), arguments=arguments,
    )  # fmt: skip


@pytest.fixture(scope="session")
def compiled(once: Once) -> dict[int, Path]:
    """Folders of caches with both kernels, by CTAs."""

    def make(top: Path) -> dict[str, Path]:
        jobs = [
            BuildJob(SOURCES / f"{name}.py", make_plan(ctas), top / name)
            for ctas, name in ((1, "gemm"), (2, "gemm_pair"))
        ]
        build(jobs, 2, cache=Cache(top / "cache"))
        return {"cache": top}

    top = once("built-sm_100a", make)["cache"]
    return {1: top / "gemm", 2: top / "gemm_pair"}


@pytest.fixture(scope="session")
def facts_of(compiled: dict[int, Path]) -> dict[int, Facts]:
    from warpwright.build import read_artifact

    found = {}
    for ctas, folder in compiled.items():
        artifact = read_artifact(folder)
        assert isinstance(artifact, Artifact)
        assert artifact.failure is None, artifact.failure
        entry = Cache(folder.parent / "cache").get(artifact.key)
        assert entry
        found[ctas] = dict(entry.facts)
    return found


def findings(ctas: int, facts_of: dict[int, Facts], spoil: Callable[[Facts], Any] | None = None) -> list[str]:
    facts = copy.deepcopy(facts_of[ctas])
    if spoil:
        spoil(facts["kernels"][0])
    return [str(finding) for finding in check(make_plan(ctas), facts)]


def rules(plan: Plan, facts: Facts) -> list[str]:
    return [finding.rule for finding in check(plan, facts)]


def main(plan: Plan, **changes: Any) -> Plan:
    return dataclasses.replace(plan, kernels=(dataclasses.replace(plan.main, **changes),))


@pytest.mark.parametrize("ctas", [1, 2])
def test_nothing_to_object(ctas: int, facts_of: dict[int, Facts]) -> None:
    assert findings(ctas, facts_of) == []


def test_the_census_of_a_pair(facts_of: dict[int, Facts]) -> None:
    ptx = facts_of[2]["kernels"][0]["ptx"]
    found = ptx["tensor_memory"]
    assert [(one["group"], one["descriptor"]) for one in found["mmas"]] == [(2, PAIR_256X128)] * 4
    assert found["allocations"] == [{"group": 2, "columns": 256, "offset": 73_808}]
    assert found["permits"] == [{"group": 2}]
    assert found["frees"] == [{"group": 2, "columns": 256}]
    assert [(one["offset"], one["multicast"], one["mask"]) for one in found["commits"]] == [
        (73_752, True, 3),
        (73_776, True, 3),
    ]
    assert found["moves"] == {"ld.32x32b.x32": 4}
    assert found["fences"] == {"after_thread_sync": 2, "before_thread_sync": 1}
    assert found["waits"] == {"ld": 4}
    # Behind a mask of the address that leaves the CTA of even rank.
    assert [(one["mbarrier"], one["group"]) for one in ptx["copies"]] == [(73_728, 2)] * 2


def tensor(kernel: Facts) -> Facts:
    found: Facts = kernel["ptx"]["tensor_memory"]
    return found


def rename(counts: dict[str, int], old: str, new: str) -> None:
    counts[new] = counts.get(new, 0) + counts.pop(old)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            lambda k: tensor(k)["mmas"][1].update(descriptor=0x10400010),
            "mma.descriptor: expected N 128, found N 256",
        ),
        (
            lambda k: tensor(k)["mmas"][3].update(descriptor=0x10210490),
            "mma.descriptor: expected A f16 K-major, B f16 K-major, found A bf16 K-major, B bf16 MN-major",
        ),
        (
            lambda k: tensor(k)["allocations"][0].update(columns=512),
            "tensor_memory.allocated: expected 256 columns, cta_group::2, found 512 columns, cta_group::2",
        ),
        (
            lambda k: tensor(k)["allocations"][0].update(group=1),
            "tensor_memory.allocated: expected 256 columns, cta_group::2, found 256 columns, cta_group::1",
        ),
        (
            lambda k: tensor(k)["allocations"].clear(),
            "tensor_memory.allocated: expected 256 columns, cta_group::2, found none",
        ),
        (
            lambda k: tensor(k)["allocations"][0].update(offset=73_812),
            "tensor_memory.address: expected told in a buffer of the plan, found at offset 73812",
        ),
        (
            lambda k: tensor(k)["frees"][0].update(columns=128),
            "tensor_memory.freed: expected 256 columns, cta_group::2, found 128 columns, cta_group::2",
        ),
        (
            lambda k: tensor(k)["frees"].append(tensor(k)["frees"][0]),
            "tensor_memory.freed: expected 256 columns, cta_group::2,"
            " found 256 columns, cta_group::2, 256 columns, cta_group::2",
        ),
        (
            lambda k: tensor(k)["permits"].clear(),
            "tensor_memory.permit: expected given up once, cta_group::2, found kept",
        ),
        (
            lambda k: tensor(k)["mmas"][0].update(group=1),
            "tensor_memory.mmas: expected cta_group::2, as allocated, found cta_group::1",
        ),
        (
            lambda k: tensor(k)["commits"][0].update(offset=73_728),
            "commit.barrier: expected accumulated, consumed, found loaded",
        ),
        (
            lambda k: tensor(k)["commits"][1].update(offset=90_000),
            "commit.barrier: expected accumulated, consumed, found one at offset 90000",
        ),
        (
            lambda k: tensor(k)["commits"].pop(1),
            "commit.barrier[accumulated]: expected a commit, found none",
        ),
        (
            lambda k: tensor(k)["commits"][1].update(mask=1),
            "commit.mask[accumulated]: expected 2 CTAs, found 1 CTAs",
        ),
        (
            lambda k: tensor(k)["commits"][0].update(multicast=False),
            "commit.multicast[consumed]: expected several CTAs, found its own CTA alone",
        ),
        (
            lambda k: k["ptx"]["copies"][1].update(group=0),
            "copy.group[loaded]: expected cta_group::2, on the leader's barrier,"
            " found on the barrier of the CTA that loads",
        ),
        (
            lambda k: k["ptx"]["arrives"][0].update(remote=False),
            "arrive[drained]: expected at the leader's barrier, found at each CTA's own",
        ),
        (
            lambda k: k["ptx"]["expect_tx"][0].update(bytes=24_576),
            "expect_tx.bytes[loaded]: expected 49152, found 24576",
        ),
        (
            lambda k: k["sass"]["opcodes"].pop("UTCBAR.2CTA.MULTICAST"),
            "sass.kept[UTCBAR.2CTA.MULTICAST]: expected at least 2, as in the PTX, found 0",
        ),
        (
            lambda k: rename(k["sass"]["opcodes"], "LDTM.x32", "LDTM.x16"),
            "sass.kept[LDTM.x16]: expected none, as in the PTX, found 4",
        ),
        (
            lambda k: k["sass"]["opcodes"].update({"LDTM.x32": 3}),
            "sass.kept[LDTM.x32]: expected at least 4, as in the PTX, found 3",
        ),
        (
            lambda k: k["sass"]["opcodes"].update({"UTCHMMA.2CTA": 3}),
            "sass.kept[UTCHMMA.2CTA]: expected at least 4, as in the PTX, found 3",
        ),
        (
            lambda k: k["sass"]["opcodes"].pop("UTCATOMSWS.AND"),
            "sass.kept[UTCATOMSWS.AND]: expected at least 1, as in the PTX, found 0",
        ),
        (
            lambda k: rename(k["sass"]["mmas"], "UTCHMMA.2CTA", "UTCHMMA"),
            "mma.sass: expected UTCHMMA.2CTA, found UTCHMMA",
        ),
    ],
)
def test_each_contradiction_in_a_pair_is_told(
    spoil: Callable[[Facts], Any], told: str, facts_of: dict[int, Facts]
) -> None:
    assert told in findings(2, facts_of, spoil)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            lambda k: tensor(k)["commits"][1].update(multicast=True),
            "commit.multicast[accumulated]: expected its own CTA alone, found several CTAs",
        ),
        (
            lambda k: k["ptx"]["copies"][0].update(group=2),
            "copy.group[loaded]: expected on the barrier of the CTA that loads,"
            " found cta_group::2, on the leader's barrier",
        ),
        (
            lambda k: rename(k["sass"]["opcodes"], "UTMALDG.2D", "UTMALDG.2D.2CTA"),
            "sass.kept[UTMALDG.2CTA]: expected none, as in the PTX, found 2",
        ),
        (
            lambda k: k["ptx"]["launch_control"].append({"response": 0, "offset": 98_304, "multicast": False}),
            "launch_control.barrier: expected a barrier of 16 B, found loaded, of 32768 B",
        ),
    ],
)
def test_each_contradiction_in_one_cta_is_told(
    spoil: Callable[[Facts], Any], told: str, facts_of: dict[int, Facts]
) -> None:
    assert told in findings(1, facts_of, spoil)


def test_what_is_not_followed_is_not_held_against_a_kernel(facts_of: dict[int, Facts]) -> None:
    """Descriptors of which bits are set while it runs, and addresses that are no constants."""

    def spoil(kernel: Facts) -> None:
        tensor(kernel)["mmas"][0]["descriptor"] = None
        tensor(kernel)["commits"][0]["offset"] = None
        kernel["ptx"]["copies"][0]["mbarrier"] = None

    assert findings(2, facts_of, spoil) == []


def test_a_descriptor_of_the_plan_that_no_mma_has(facts_of: dict[int, Facts]) -> None:
    plan = make_plan(1)
    (mma,) = plan.main.mmas
    both = main(plan, mmas=(mma, dataclasses.replace(mma, n=256, descriptor=0x8400010)))
    (found,) = check(both, facts_of[1])
    assert str(found) == "mma.descriptor: expected one MMA at least with 0x8400010, found none"
    assert rules(main(plan, mmas=(dataclasses.replace(mma, descriptor=None),)), facts_of[1]) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda k: {"mmas": (dataclasses.replace(k.mmas[0], n=256),)},
            "mma.shape: expected 256 x 256, found 256 x 128",
        ),
        (
            lambda k: {"mmas": (dataclasses.replace(k.mmas[0], m=128),)},
            "mma.shape: expected 128 x 128, found 256 x 128",
        ),
        (
            lambda k: {"buffers": (*k.buffers[:-1], dataclasses.replace(k.buffers[-1], bytes=257))},
            "tensor_memory[accumulators]: expected within 256 columns, found columns 0 to 256",
        ),
        (
            lambda k: {"buffers": (*k.buffers[:-1], dataclasses.replace(k.buffers[-1], offset=32))},
            "tensor_memory[accumulators]: expected within 256 columns, found columns 32 to 287",
        ),
    ],
)
def test_a_plan_that_contradicts_itself(
    change: Callable[[KernelPlan], dict[str, Any]], told: str, facts_of: dict[int, Facts]
) -> None:
    plan = make_plan(2)
    assert [str(found) for found in check(main(plan, **change(plan.main)), facts_of[2])] == [told]


def test_a_kernel_without_tensor_memory_in_its_plan_uses_none(facts_of: dict[int, Facts]) -> None:
    (first, *rest) = check(main(make_plan(1), tensor_memory=None), facts_of[1])
    assert first.rule == "tensor_memory"
    assert first.wrong
    assert first.found.startswith("20 instructions: tcgen05.alloc, tcgen05.commit, tcgen05.dealloc, tcgen05.fence")
    assert not rest


def test_requests_for_another_cluster(facts_of: dict[int, Facts]) -> None:
    """A dynamic scheduler: asks on a barrier of 16 bytes, answered in a buffer, in every CTA of a cluster."""
    plan, facts = make_plan(2), copy.deepcopy(facts_of[2])
    at = plan.main.shared_bytes
    answered = Barrier("answered", "mbarrier", 1, 1, 16, "all", "scheduler", buffer="answered")
    asking = main(
        plan,
        shared_bytes=at + 32,
        buffers=(*plan.main.buffers, Buffer("answered", at, 8, 8, "i64", (1,), "none", ""),
                 Buffer("answer", at + 16, 16, 16, "i32", (4,), "none", "")),
        barriers=(*plan.main.barriers, answered),
    )  # fmt: skip
    kernel = facts["kernels"][0]
    kernel["ptx"]["mbarriers"].append({"offset": at, "exact": True, "arrivals": 1})
    kernel["ptx"]["expect_tx"].append({"offset": at, "exact": True, "bytes": 16})
    facts["launch"]["launches"][0]["shared_bytes"] = at + 32
    request = {"response": at + 16, "offset": at, "multicast": True}
    kernel["ptx"]["launch_control"] = [request]
    kernel["sass"]["opcodes"]["UGETNEXTWORKID.BROADCAST"] = 1
    assert rules(asking, facts) == []
    for change, rule in (
        ({"response": at + 32}, "launch_control.response"),
        ({"offset": plan.main.buffers[2].offset}, "launch_control.barrier"),
        ({"multicast": False}, "launch_control.multicast"),
    ):
        kernel["ptx"]["launch_control"] = [request | change]
        assert rule in rules(asking, facts), rule
    kernel["ptx"]["launch_control"] = []
    assert rules(asking, facts) == ["sass.kept[UGETNEXTWORKID.BROADCAST]"]


BODY = """
    mov.b32 %r1, smem;
    mov.b32 %r9, 136314896;
    tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r2], %rd1, %rd2, %r9, [%r3], [%r4], %p1;
    tcgen05.mma.cta_group::1.kind::f16 [%r2], [%r5], %rd2, %r8, %p1;
    tcgen05.cp.cta_group::2.32x128b.warpx4 [%r2], %rd1;
    tcgen05.shift.cta_group::1.down [%r2];
    tcgen05.ld.sync.aligned.16x32bx2.x8.pack::16b.b32 {%r10, %r11}, [%r2], 16;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r10};
    tcgen05.wait::st.sync.aligned;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 \
[%r1+64], [%r1+8];
"""


def test_the_census_of_hand_written_ptx() -> None:
    text = ".extern .shared .align 1024 .b8 smem[];\n.entry k(\n)\n{" + BODY + "}"
    body = statements(text)
    found = tensor_memory(body, Values(text, body))
    assert [(one["group"], one["descriptor"]) for one in found["mmas"]] == [(1, 136_314_896), (1, None)]
    assert found["others"] == {"cp.cta_group::2.32x128b": 1, "shift.cta_group::1": 1}
    assert found["moves"] == {"ld.16x32bx2.x8.pack": 1, "st.32x32b.x1": 1}
    assert found["waits"] == {"st": 1}
    assert launch_control(body, Values(text, body)) == [{"response": 64, "offset": 8, "multicast": True}]
    (census,) = ptx_census(text).values()
    assert census["tensor_memory"] == found


@pytest.mark.parametrize(
    ("descriptor", "opcode", "said"),
    [
        (0x08400010, "kind::f16", "M 128, N 256, A f16 K-major, B f16 K-major, D f32"),
        (0x08218490, ".kind::f16", "M 128, N 128, A bf16 MN-major, B bf16 MN-major, D f32"),
        (0x04200910, ".kind::tf32", "M 64, N 128, A tf32 K-major, B tf32 K-major, D f32"),
        (0x082004A0, ".kind::i8", "M 128, N 128, A s8 K-major, B s8 K-major, D s32"),
        (0x08202090, ".kind::f8f6f4", "M 128, N 128, A e5m2 K-major, negated, B e4m3 K-major, D f32"),
        (0x48A00480, ".kind::mxf4.block_scale", "M 128, N 128, A e2m1 K-major, B e2m1 K-major, scales ue8m0,"
         " scale ids 2, 0"),
        (0x08200014, ".kind::f16", "M 128, N 128, A f16 K-major, B f16 K-major, D f32, others 0x4"),
        (0x08200390, ".kind::f16", "M 128, N 128, A type 7 K-major, B f16 K-major, D f32"),
    ],
)  # fmt: skip
def test_descriptors_in_words(descriptor: int, opcode: str, said: str) -> None:
    told = words(descriptor, opcode if opcode.startswith(".") else f"tcgen05.mma.{opcode}")
    assert ", ".join(f"{name} {value}" for name, value in told.items()) == said


def test_which_scale_factors_an_mma_takes_is_no_part_of_the_plan(facts_of: dict[int, Facts]) -> None:
    """Their ids change along K; the same bits are the type of sums where there are no scales."""
    scaled = "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32"
    assert planned_bits(0x68A00030, scaled) == 0x08A00000
    assert planned_bits(0x08200010, MMA.format(1)) == 0x08200010
    plan, facts = make_plan(1), copy.deepcopy(facts_of[1])
    (mma,) = plan.main.mmas
    ptx = facts["kernels"][0]["ptx"]
    for number, each in enumerate(ptx["tensor_memory"]["mmas"]):
        each |= {"opcode": scaled, "descriptor": 0x08A00000 | number << 4 | number << 29}
    ptx["mmas"] = {scaled: 4}
    told = dataclasses.replace(mma, instruction=scaled, descriptor=0x08A00000, n=256)
    assert rules(main(plan, mmas=(dataclasses.replace(told, n=128),)), facts) == []
    assert rules(main(plan, mmas=(told,)), facts) == ["mma.shape"]
    wrong = dataclasses.replace(told, n=128, descriptor=0x08200000)
    (found,) = check(main(plan, mmas=(wrong,)), facts)
    assert str(found) == "mma.descriptor: expected scales ue4m3, found scales ue8m0"


def test_what_two_descriptors_differ_in() -> None:
    assert differing(0x08400010, 0x04400010, ".kind::f16") == ("M 128", "M 64")
    assert differing(0x08400010, 0x08400018, ".kind::f16") == ("others none", "others 0x8")


def test_commits_of_several_consumers_may_be_to_any_of_their_barriers(facts_of: dict[int, Facts]) -> None:
    """The stage's address has the number of the warp in it: the constant part lies in another barrier."""
    plan, facts = make_plan(1), copy.deepcopy(facts_of[1])
    roles = tuple(Role(f"consumer {number}", 8 + number, 1, None, "") for number in (0, 1))
    two = main(plan, roles=roles)
    commits = tensor(facts["kernels"][0])["commits"]
    commits[1]["offset"] = plan.main.buffers[2].offset  # that of `loaded`
    assert rules(plan, facts) == ["commit.barrier", "commit.barrier[accumulated]"]
    assert rules(two, facts) == []
    commits[1]["multicast"] = True
    assert rules(two, facts) == ["commit.multicast", "sass.kept[UTCBAR.MULTICAST]"]
    del commits[1]
    assert rules(two, facts) == ["commit.barrier"]


#: What a census says that no rule holds against a plan: which fences and waits there are is for the emulator to judge,
#: whether an address is all of it is no contradiction, and more of a kind of move than before may be an unrolled loop.
NOT_HELD = re.compile(
    r"exact|reduce|expect_tx\[\d\]\.offset|arrives\[\d\]\.(offset|count|remote)|copies\[\d\]\.mbarrier"
    r"|\.(fences|waits)\.|commits\[0\]\.mask"
)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Every number and truth of plain data: its path, the container, the key, and another value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        where = f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]"
        if isinstance(inner, dict | list):
            yield from leaves(inner, where)
        elif isinstance(inner, bool):
            yield where, value, key, not inner
        elif key == "group":
            yield where, value, key, 1 if inner == 2 else 2
        elif isinstance(inner, int):  # beyond the other stages of a barrier or buffer
            yield where, value, key, inner + (1 << 20 if key in ("offset", "mbarrier") else 8)


@pytest.mark.parametrize("ctas", [1, 2])
def test_whatever_else_a_census_says_is_a_contradiction(ctas: int, facts_of: dict[int, Facts]) -> None:
    plan, facts = make_plan(ctas), copy.deepcopy(facts_of[ctas])
    kernel, silent, tried = facts["kernels"][0], [], 0
    ptx = {name: kernel["ptx"][name] for name in ("mbarriers", "expect_tx", "arrives", "copies", "tensor_memory")}
    for path, held, key, other in [*leaves(ptx)]:
        before, held[key] = held[key], other
        tried += 1
        if not check(plan, facts) and not NOT_HELD.search(path):
            silent.append(f"{path}: {before} -> {other}")
        held[key] = before
    assert silent == [], "; ".join(silent)
    assert tried > 60
    assert check(plan, facts) == ()


#: Changes of the pair's source, and what is said of the kernel that it makes.
EDITS = {
    ("alloc_tmem(COLUMNS", "alloc_tmem(2 * COLUMNS"): "tensor_memory.allocated",
    ("dealloc_tmem(base, COLUMNS", "dealloc_tmem(base, COLUMNS // 2"): "tensor_memory.freed",
    ("        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)\n", ""): "tensor_memory.permit",
    ("commit(computed + into.index, BOTH", "commit(computed + into.index, 1"): "commit.mask[accumulated]",
    ("commit(computed + into.index, BOTH", "commit(full + into.index, BOTH"): "commit.barrier",
    ("expect_tx(bar, STAGE_BYTES)", "expect_tx(bar, STAGE_BYTES // 2)"): "expect_tx.bytes[loaded]",
    ("mbarrier_arrive(stored + read.index, 0)", "mbarrier_arrive(stored + read.index)"): "arrive[drained]",
}


@pytest.mark.slow
def test_a_kernel_that_does_otherwise_is_found_out(tmp_path: Path) -> None:
    source = (SOURCES / "gemm_pair.py").read_text()
    assert [source.count(old) for old, _ in EDITS] == [1] * len(EDITS)
    jobs = [
        BuildJob(source.replace(old, new), make_plan(2), tmp_path / str(number))
        for number, (old, new) in enumerate(EDITS)
    ]
    found = build(jobs, 2, cache=Cache(tmp_path / "cache"))
    told = [outcome.findings[0].rule if isinstance(outcome, Artifact) else str(outcome) for outcome in found]
    assert told == list(EDITS.values())
    assert {outcome.status for outcome in found if isinstance(outcome, Artifact)} == {"incorrect"}
