"""What a hostile or unlucky world does, by the thousand: `make attack`, minutes, and no part of `make test`.

Every case is drawn from ATTACK_SEED (0 without it), so that what a message names can be repeated.
"""

from __future__ import annotations

import os
import random

import pytest


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("ATTACK_SEED", "0"))


@pytest.fixture
def rng(seed: int) -> random.Random:
    return random.Random(seed)
