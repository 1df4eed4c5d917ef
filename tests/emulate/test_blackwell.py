"""A warp-specialised kernel for sm_100a, compiled from the CuTe DSL: its results against numpy, and its mutants."""

from __future__ import annotations

import pytest

from generator.emulate import Module, parse

from .blackwell import Kernel, Problem, build

PROBLEMS = {
    "aligned, a tile": Problem(128, 128, 64, 1),
    "aligned, tiles that share CTAs": Problem(384, 256, 320, 2),
    "ragged, K shorter than the ring": Problem(200, 136, 72, 1),
    "ragged, one CTA in flight": Problem(130, 300, 500, 3, clusters=1),
}


@pytest.fixture(scope="session")
def one_cta(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    return build(tmp_path_factory.mktemp("one_cta"))


@pytest.fixture(scope="session")
def module(one_cta: Kernel) -> Module:
    return parse(one_cta.ptx)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_the_result_is_numpys(one_cta: Kernel, module: Module, problem: Problem, seed: int) -> None:
    result, right = one_cta.run(module, problem, seed)
    assert [str(finding) for finding in result.findings] == []
    assert result.complete
    assert right
