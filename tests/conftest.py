"""No test reads or fills the user's own cache, nor follows the user's settings; what tests build, they share."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.once import Once, once_below

# Before numpy is imported: the emulator's matrix products are small, and threads for them only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if TYPE_CHECKING:
    from tests.emulate.planting import Planter
    from warpwright.build.pool import Pool


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """What a shell starts in the background ignores SIGINT, and so would all children that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all workers of a session, below pytest's own temporary folder."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("WARPWRIGHT_")]:
            patch.delenv(name)
        # Some hundred child processes import the package: it is compiled by the first of them, not by each.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        # Child processes of a test find its doubles (tests.device.doubles) beside the installed package.
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]), prepend=os.pathsep)
        patch.setenv("WARPWRIGHT_CACHE", str(shared / "warpwright-cache"))
        yield


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Makes what is dear to build once for all workers."""
    base = tmp_path_factory.getbasetemp()
    return once_below((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once")


@pytest.fixture(scope="session")
def small_kernels(once: Once) -> Callable[[str], Mapping[str, Path]]:
    """The folders of a family's small kernels by form, built when they are asked for, to be left as they are."""

    def built(family: str) -> Mapping[str, Path]:
        from tests import small as kernels  # not before they are needed

        return once(family, functools.partial(kernels.built, family))

    return built


@pytest.fixture(scope="session")
def service() -> Iterator[Pool]:
    """A compile service for all tests of a worker: it takes a second to start."""
    from warpwright.build.builder import TIMEOUT_SECONDS
    from warpwright.build.pool import Pool

    with Pool("sm_90a", 1, TIMEOUT_SECONDS) as pool:
        yield pool


@pytest.fixture(scope="session")
def plant(service: Pool, tmp_path_factory: pytest.TempPathFactory) -> Planter:
    """Plants bugs in rendered kernels."""
    from tests.emulate.planting import Planter

    return Planter(service, tmp_path_factory.mktemp("planted"))
