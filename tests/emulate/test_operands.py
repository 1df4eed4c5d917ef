"""Operands and tensor maps: no byte to spare, gaps poisoned, strides of single elements legal whatever they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.device.plans import problem
from tests.device.scale import register, scale_plan
from tests.emulate.map_kit import encoded
from tests.emulate.plans import tile_plan
from warpwright.device.problem import Problem
from warpwright.device.xp import NumpyXp
from warpwright.dtypes import dtype
from warpwright.emulate import EmulatorError, TensorMap
from warpwright.emulate.variant.host_lines import HostLines
from warpwright.emulate.variant.operands import place
from warpwright.emulate.variant.tensor_maps import Given, map_parameters, read_maps
from warpwright.families import workload
from warpwright.plan.types import Plan


@pytest.fixture
def plan() -> Plan:
    return tile_plan()


def test_gaps_between_rows_are_poison_and_elements_are_not(plan: Plan) -> None:
    a = place(plan, problem("p", 5, 9, 11, 2, padding=2), 1).tensors["a"]
    # 11 f16 are two units of 16 bytes, to which two are added, and ten that are a's own; to five rows the same.
    assert a.strides == (82 * 8, 14 * 8, 1)
    assert a.raw.size == 656 + 4 * 112 + 11
    assert np.count_nonzero(a.raw == dtype("f16").poison) == a.raw.size - 2 * 5 * 11
    assert np.isfinite(NumpyXp().decode(np.ascontiguousarray(a.view), "f16")).all()


def test_bases_have_no_alignment_to_spare_and_memory_ends_with_the_tensor(plan: Plan) -> None:
    operands = place(plan, problem("p", 5, 9, 11), 1)
    assert {"a", "b", "d"} <= set(operands.tensors)
    for operand in operands.tensors.values():
        assert operand.address % (2 * operand.argument.alignment) == operand.argument.alignment
        end = operand.address + operand.raw.nbytes
        assert operands.memory.at(operand.address, operand.raw.nbytes) is not None
        assert operands.memory.at(end - 1, 2) is None
        assert operands.memory.at(operand.address - 1, 1) is None


def test_an_operand_that_must_not_be_read_is_nan(plan: Plan) -> None:
    operands = place(plan, problem("p", 5, 9, 11, zero=("beta",)), 1)
    assert operands.scalars["beta"] == 0
    assert np.isnan(NumpyXp().decode(operands.tensors["c"].view.copy(), "f32")).all()


def test_writes_tell_elements_from_the_gaps_between_them(plan: Plan) -> None:
    operands = place(plan, problem("p", 3, 5, 8), 1)
    buffer = operands.memory.buffers["d"]
    buffer.writes[:10] = 1  # the first row of five f16
    d = operands.tensors["d"]
    counts = operands.writes(d)
    assert counts.shape == (1, 3, 5, 2)
    assert (int(counts.sum()), operands.touched(d)) == (10, 10)
    buffer.writes[10:13] = 1
    assert (int(operands.writes(d).sum()), operands.touched(d)) == (10, 13)


def test_values_follow_the_plan(plan: Plan) -> None:
    operands = place(plan, problem("p", 3, 5, 8, fill="integer"), 1)
    values = operands.values(plan, 7)
    assert len(values) == len(plan.arguments)
    assert values[-1] == 7
    assert values[[a.name for a in plan.arguments].index("alpha")] == 2.0


def maps_of(plan: Plan, given: Problem) -> dict[str, tuple[str, ...]]:
    """What differs, by tensor, where each map is made of the operand as it is."""
    operands = place(plan, given, 1)
    found = {}
    extents = workload("gemm").launched(plan, given, 1)[0].maps
    tensors = {name: Given(operand.argument, operand.value) for name, operand in operands.tensors.items()}
    for copy in plan.main.copies:
        operand = operands.tensors[copy.tensor]
        strides = dict(zip(operand.argument.shape, operand.strides, strict=True))
        sizes = dict(zip(copy.modes, extents[copy.tensor], strict=True))
        modes = sorted(copy.modes, key=lambda mode: mode != operand.argument.contiguous)
        size = dtype(copy.dtype).bytes
        raw = encoded(
            TensorMap(
                operand.address,
                tuple(sizes[mode] for mode in modes),
                tuple(strides[mode] * size if sizes[mode] > 1 else 16 for mode in modes[1:]),
                copy.box,
                size,
                copy.swizzle,
                type=copy.dtype,
            )
        )
        values = [raw if each is copy else b"" for each in plan.main.copies]
        single = replace(plan.main, copies=(copy,))
        index = plan.main.copies.index(copy)
        maps = read_maps(single, [index], tensors, extents, values, HostLines("", ""))
        found[copy.tensor] = tuple(finding.about for finding in maps.findings)
    return found


@pytest.mark.parametrize(
    "given",
    [
        problem("p", 130, 70, 65, 2, padding=1),
        # Strides of single elements mean nothing, and an empty K is one column.
        problem("p", 1, 9, 0, odd_strides=True),
        problem("p", 1, 1, 1, padding=1, odd_strides=True),
    ],
)
def test_maps_of_the_operands_are_as_planned(plan: Plan, given: Problem) -> None:
    assert maps_of(plan, given) == {"a": (), "b": (), "c": (), "d": ()}


def test_maps_have_the_contiguous_mode_first_and_end_with_whole_vectors(plan: Plan) -> None:
    given = problem("p", 130, 70, 65, 2)
    extents = workload("gemm").launched(plan, given, 1)[0].maps
    assert extents == {"a": (130, 65, 2), "b": (70, 65, 2), "c": (130, 70, 2), "d": (130, 64, 2)}
    small = workload("gemm").launched(plan, problem("p", 1, 7, 0), 1)[0].maps
    assert small == {"a": (1, 1, 1), "b": (7, 1, 1), "c": (1, 7, 1), "d": (1, 8, 1)}


def test_a_plan_with_other_copies_than_the_kernel_is_refused(plan: Plan) -> None:
    assert map_parameters(plan.main, [128, 12, 128, 128, 4, 128]) == [0, 2, 3, 5]
    with pytest.raises(EmulatorError, match=r"3 tensor maps, its plan has 4 copies through one \(a, b, c, d\)"):
        map_parameters(plan.main, [128, 128, 128])


def test_copies_in_bulk_need_no_map(plan: Plan) -> None:
    kernel = replace(plan.main, copies=tuple(replace(copy, kind="bulk") for copy in plan.main.copies))
    assert map_parameters(kernel, [8, 4, 4]) == []
    with pytest.raises(EmulatorError, match=r"1 tensor maps, its plan has 0 copies through one \(none\)"):
        map_parameters(kernel, [128, 8])


def test_vectors_and_workspaces_have_no_byte_to_spare_either(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    operands = place(scale_plan(), Problem("p", (("N", 37),)), 1)
    assert {name: operand.raw.size for name, operand in operands.tensors.items()} == {
        "x": 37, "y": 37, "total": 4, "partial": 40 + 37
    }  # fmt: skip
    assert operands.values(scale_plan(), 5)[-2:] == [2.0, 5]
    assert operands.memory.buffers["x"].access == "in"
    assert {operands.memory.buffers[name].access for name in ("y", "partial")} == {"inout"}  # of two kernels
    partial = operands.tensors["partial"]
    operands.memory.buffers["partial"].writes[4 * 37] = 1
    assert (operands.writes(partial).any(), operands.touched(partial)) == (False, 1)
    partial.raw[...] = 0
    operands.poison()
    assert operands.touched(partial) == 0
    assert (partial.raw == dtype("f32").poison).all()
