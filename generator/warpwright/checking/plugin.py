"""A pytest plug-in: the fixture `emulated_gpu`, a GPU in the emulator for tests of CuTe-DSL kernels.

    def test_softmax(emulated_gpu):
        softmax(x, y)                                   # compiled and launched as on a GPU
        emulated_gpu.check("y", y, expected, rtol=1e-3)

A test fails where anything was found, by the kernels' execution or by `check`. `@pytest.mark.emulated_gpu("sm_100a",
seeds=3)` has the arguments of `warpwright.checking.emulated_gpu`. Nothing is imported for tests without the fixture.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

__all__ = ["emulated_gpu"]


def pytest_configure(config: pytest.Config) -> None:
    text = "emulated_gpu(arch, seeds, multiprocessors, strict): how the fixture of this name is made (warpwright)"
    config.addinivalue_line("markers", text)


@pytest.fixture
def emulated_gpu(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A `warpwright.checking.Gpu`, attached to the DSL while the test runs."""
    from warpwright.checking.session import emulated_gpu as emulated

    marker = request.node.get_closest_marker("emulated_gpu")
    with emulated(*(marker.args if marker else ()), **(marker.kwargs if marker else {})) as gpu:
        yield gpu


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail in the test itself, not in what comes after it."""
    result = yield
    gpu = getattr(item, "funcargs", {}).get("emulated_gpu")
    if gpu is not None:
        gpu.raise_for_findings()
    return result
