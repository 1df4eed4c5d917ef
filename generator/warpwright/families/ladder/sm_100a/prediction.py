"""Predicts a rung's time on B200 by the clock model of the GEMM; no Blackwell device has confirmed one.

Published times of six such kernels are met in order, and from the third on within a seventh. The first two are not the
published kernels: those take 120 us for a step of 128 x 128 x 64 with all SMs at work, 0.9 us for each of a thread's
elements, as if they came one by one; here threads load 16 bytes at a time.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import B200, Device
from warpwright.families.gemm.sm_100a import prediction as gemm
from warpwright.families.gemm.sm_100a.clocks import Shape
from warpwright.families.ladder.sm_100a.rungs import FIRST_OF_ROLES, FIRST_TMA
from warpwright.families.ladder.workload.design import TensorLadderDesign
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["predict", "shape_of"]


def shape_of(plan: Plan) -> Shape:
    """Return a legal plan in plain numbers. Raises ValueError for an illegal one."""
    d: TensorLadderDesign = plan.design
    found = gemm.shape_of(plan)
    return found._replace(by_threads=d.rung < FIRST_TMA, in_turn=d.rung < FIRST_OF_ROLES, one_cta=d.one_cta)


def predict(plan: Plan, extents: Mapping[str, int], device: Device = B200) -> Prediction:
    """Predict a legal plan's time for D (L, M, N) and depth K. Raises ValueError for an illegal plan."""
    return gemm.of_shape(shape_of(plan), extents, device)
