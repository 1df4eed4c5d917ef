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
    from warpwright.checking.limits import Limits
    from warpwright.checking.session import CheckError, emulated

    marker = request.node.get_closest_marker("emulated_gpu")
    args, kwargs = (marker.args, marker.kwargs) if marker else ((), {})
    try:
        Limits.of(args[0] if args else kwargs.get("arch", "sm_90a"), 1)
    except CheckError as error:
        pytest.fail(f"@pytest.mark.emulated_gpu: {error}", pytrace=False)
    with emulated(*args, **kwargs) as gpu:
        yield gpu


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail in the test itself, not in what comes after it. Where it fails by itself, its report has findings too."""
    gpu = getattr(item, "funcargs", {}).get("emulated_gpu")
    try:
        result = yield
    except BaseException:
        if gpu is not None and gpu.findings:
            item.add_report_section("call", "emulated_gpu", "\n".join(map(str, gpu.findings)))
        raise
    if gpu is not None:
        gpu.raise_for_findings()
    return result
