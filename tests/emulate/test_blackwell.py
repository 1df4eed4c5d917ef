"""Warp-specialised kernels for sm_100a, compiled from the CuTe DSL: their results against numpy, and their mutants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.once import Once
from warpwright.emulate import Module, parse
from warpwright.emulate.mutants.edits import apply, mutants

from .blackwell import Kernel, Problem, build

PERMIT = "relinquish_alloc_permit"
ONE_CTA = {
    "aligned, a tile": Problem(128, 128, 64, 1),
    "aligned, tiles that share CTAs": Problem(384, 256, 320, 2),
    "ragged, K shorter than the ring": Problem(200, 136, 72, 1),
    "ragged, one CTA in flight": Problem(130, 300, 500, 3, clusters=1),
}
PAIR = {
    "aligned, a tile": Problem(256, 128, 64, 1),
    "aligned, tiles that share a pair": Problem(512, 256, 320, 1),
    "ragged, K shorter than the ring": Problem(300, 136, 72, 1),
    "ragged, two pairs": Problem(130, 500, 500, 2),
}


def built(once: Once, name: str) -> Path:
    def make(top: Path) -> dict[str, Path]:
        build(top, name)
        return {name: top}

    return once(f"sm_100a-{name}", make)[name]


@pytest.fixture(scope="session")
def one_cta(once: Once) -> Kernel:
    return Kernel(built(once, "gemm"), 128)


@pytest.fixture(scope="session")
def pair(once: Once) -> Kernel:
    return Kernel(built(once, "gemm_pair"), 64)


@pytest.fixture(scope="session")
def one_cta_module(one_cta: Kernel) -> Module:
    return parse(one_cta.ptx)


@pytest.fixture(scope="session")
def pair_module(pair: Kernel) -> Module:
    return parse(pair.ptx)


def check(kernel: Kernel, module: Module, problem: Problem, seed: int) -> None:
    result, right = kernel.run(module, problem, seed)
    assert [str(finding) for finding in result.findings] == []
    assert result.complete
    assert right


def survivors(kernel: Kernel, problems: Mapping[str, Problem]) -> list[str]:
    """The mutants of tcgen05 instructions that no problem and seed shows."""
    chosen = [each for each in mutants(kernel.ptx, (3, 2)) if "tcgen05" in each.name]
    altered = {each.name.split(".")[1].split("::")[0] for each in chosen}
    assert altered == {"fence", "commit", "wait", "dealloc", "alloc", "mma", PERMIT}
    found = []
    for mutant in chosen:
        if PERMIT in mutant.name:  # nobody else ever allocates here; it is the plan of a variant that has it
            continue
        mutated = parse(apply(kernel.ptx, mutant))
        runs = (kernel.run(mutated, p, s, budget=400_000, limit=1) for p in problems.values() for s in (1, 2, 3))
        if not any(result.findings or not right for result, right in runs):
            found.append(mutant.name)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("problem", ONE_CTA.values(), ids=list(ONE_CTA))
def test_one_cta(one_cta: Kernel, one_cta_module: Module, problem: Problem, seed: int) -> None:
    check(one_cta, one_cta_module, problem, seed)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("problem", PAIR.values(), ids=list(PAIR))
def test_a_pair(pair: Kernel, pair_module: Module, problem: Problem, seed: int) -> None:
    check(pair, pair_module, problem, seed)


def test_every_tcgen05_instruction_is_needed_as_it_is(one_cta: Kernel, pair: Kernel) -> None:
    assert survivors(one_cta, ONE_CTA) == []
    assert survivors(pair, PAIR) == []
