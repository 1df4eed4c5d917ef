"""No test reads or fills the user's own cache, nor follows the user's settings; what tests build, they share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
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
