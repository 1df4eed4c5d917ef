"""Two variants whose identities begin alike are never taken for one: a folder's results would be said of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import warpwright.plan
from tests.cli.conftest import SMALL
from warpwright import pipeline
from warpwright.errors import UserError


@pytest.mark.parametrize("alike", [8, 12])
def test_identities_that_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alike: int) -> None:
    plan = warpwright.plan.plan
    config = tmp_path / "small.yaml"
    config.write_text(SMALL)
    assert len(pipeline.plan(str(config), tmp_path).legal) == 2

    def colliding(point: Any) -> Any:
        found = plan(point)
        return replace(found, label="one", identity="0" * alike + found.identity[alike:])

    monkeypatch.setattr(warpwright.plan, "plan", colliding)
    with pytest.raises(UserError, match=r"small.yaml: two variants, one and one, have identities that cannot be told"):
        pipeline.plan(str(config), tmp_path)
