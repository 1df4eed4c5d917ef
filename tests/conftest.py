"""No test reads or fills the user's own cache, nor follows the user's settings; what tests build, they share."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest


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
def small_kernels(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Mapping[str, Path]]:
    """Builds the small kernels of a family, once for all workers: folders by form, to be left as they are."""
    base = tmp_path_factory.getbasetemp()
    top = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "small-kernels"
    top.mkdir(exist_ok=True)

    @functools.cache
    def built(family: str) -> Mapping[str, Path]:
        from tests import small as kernels  # not before they are needed

        with (top / f"{family}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = top / f"{family}.json"
            if not done.exists():
                (top / family).mkdir()
                folders = kernels.built(family, top / family)
                done.write_text(json.dumps({form: str(folder) for form, folder in folders.items()}))
            return {form: Path(folder) for form, folder in json.loads(done.read_text()).items()}

    return built
