"""Every rule of the checked call: each violation names tensor, value and rule, and nothing is launched."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostTensor
from tests.device.plans import make_plan
from warpwright.device.call import CallError, CheckedKernel, check_arguments
from warpwright.plan.types import Argument, Limit, Plan

PLAN = make_plan(epilogue=("alpha", "beta_c", {"op": "bias_n", "dtype": "f32"}))
M, N, K, L = 24, 40, 16, 2


class Recorder:
    """Stands in for the loaded function."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> None:
        self.calls.append(arguments)


def tensor(shape: tuple[int, ...], order: str = "C", dtype: str = "f16", offset: int = 0, pad: int = 0) -> HostTensor:
    """A dense tensor, or rows `pad` elements longer than needed, whose base is `offset` elements off 64 bytes."""
    kind = {"f16": np.int16, "bf16": np.int16, "f32": np.int32}[dtype]
    dims = list(shape if order == "C" else (*shape[:-2], shape[-1], shape[-2]))
    inner = dims[-1]
    dims[-1] += pad
    raw = np.zeros(int(np.prod(dims)) + 64, kind)
    start = (-raw.ctypes.data % 64) // raw.itemsize + offset
    bits = raw[start : start + int(np.prod(dims))].reshape(dims)[..., :inner]
    return HostTensor(bits if order == "C" else np.swapaxes(bits, -1, -2), dtype)


def arguments(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "a": tensor((L, M, K)),
        "b": tensor((L, K, N), "F"),
        "c": tensor((L, M, N)),
        "d": tensor((L, M, N)),
        "bias_n": tensor((N,), dtype="f32"),
        "alpha": 1.5,
        "beta": 0,
    }
    return {key: value for key, value in {**given, **changes}.items() if value is not None}


def call(**changes: Any) -> tuple[Any, ...]:
    recorder = Recorder()
    CheckedKernel(PLAN, recorder, 132, "host")(**arguments(**changes))
    (launched,) = recorder.calls
    return launched


def refusal(**changes: Any) -> CallError:
    recorder = Recorder()
    with pytest.raises(CallError) as caught:
        CheckedKernel(PLAN, recorder, 132, "host")(**arguments(**changes))
    assert recorder.calls == []
    return caught.value


def test_arguments_arrive_in_abi_order() -> None:
    given = arguments()
    launched = call(**given)
    names = [a.name for a in PLAN.arguments]
    assert names == ["a", "b", "c", "d", "bias_n", "alpha", "beta", "max_clusters"]
    assert all(launched[names.index(n)] is given[n] for n in ("a", "b", "c", "d", "bias_n"))
    assert launched[-3:] == (1.5, 0.0, 132)
    recorder = Recorder()
    CheckedKernel(PLAN, recorder, 132, "host")(*[given[n] for n in names[:-1]], max_clusters=3)
    assert recorder.calls[0][-1] == 3


def test_two_dimensional_tensors_are_taken_for_one_batch() -> None:
    launched = call(
        a=tensor((M, K)),
        b=tensor((K, N), "F"),
        c=tensor((M, N)),
        d=tensor((M, N), pad=8),
        bias_n=tensor((N,), dtype="f32"),
    )
    assert [tuple(t.shape) for t in launched[:4]] == [(1, M, K), (1, K, N), (1, M, N), (1, M, N)]
    assert launched[3].stride() == (M * (N + 8), N + 8, 1)


def test_strides_of_modes_of_extent_one_do_not_matter() -> None:
    a = tensor((1, 1, K))
    odd = a.as_strided((1, 1, K), (5, 3, 1))
    launched = call(
        a=odd, b=tensor((1, K, N), "F"), c=tensor((1, 1, N)), d=tensor((1, 1, N)), bias_n=tensor((N,), dtype="f32")
    )
    assert launched[0].stride() == (16, 16, 1)
    one_k = tensor((L, M, 1), pad=7).as_strided((L, M, 1), (M * 8, 8, 9))
    assert call(a=one_k, b=tensor((L, 1, N), "F", pad=7))[0].stride() == (M * 8, 8, 1)


@pytest.mark.parametrize(("m", "n", "k"), [(0, N, K), (M, 0, K), (M, N, 0)])
def test_empty_extents_are_launched(m: int, n: int, k: int) -> None:
    shapes = {"a": (L, m, k), "b": (L, k, n), "c": (L, m, n), "d": (L, m, n)}
    given = {name: tensor(shape, "F" if name == "b" else "C") for name, shape in shapes.items()}
    launched = call(**given, bias_n=tensor((n,), dtype="f32"))
    assert len(launched) > 4
    for operand in launched[:4]:
        assert all(stride == 1 or stride % 8 == 0 for stride in operand.stride())


@pytest.mark.parametrize(
    ("changes", "argument", "message"),
    [
        ({"a": tensor((L, M, K), pad=4)}, "a", "stride 20 in M; must be a positive multiple of 8 elements (16 bytes)"),
        ({"a": tensor((L, M, K), "F")}, "a", "stride 24 in K; this variant is K-major: it must be 1"),
        ({"b": tensor((L, K, N))}, "b", "stride 40 in K; this variant is K-major: it must be 1"),
        ({"d": tensor((L, M, N), offset=4)}, "d", "must be aligned to 16 bytes"),
        ({"bias_n": HostTensor(np.zeros(2 * N, np.int32)[::2], "f32")}, "bias_n", "stride 2 in N"),
        ({"a": tensor((L, M, K), dtype="bf16")}, "a", "dtype bfloat16; this variant takes float16"),
        ({"bias_n": tensor((N,), dtype="f16")}, "bias_n", "dtype float16; this variant takes float32"),
        ({"b": tensor((L, K + 8, N), "F")}, "b", "K = 24 in shape (2, 24, 40); 'a' has K = 16"),
        ({"d": tensor((1, M, N))}, "d", "L = 1 in shape (1, 24, 40); 'a' has L = 2"),
        ({"c": tensor((M, N))}, "c", "L = 1"),
        ({"a": tensor((K,))}, "a", "shape (16,); must have the modes (L, M, K) or, for L = 1, (M, K)"),
        ({"bias_n": tensor((1, N), dtype="f32")}, "bias_n", "must have the modes (N)"),
        ({"a": 3.0}, "a", "type float; must be a torch tensor"),
        ({"alpha": "2"}, "alpha", "'2' of type str; must be a number"),
        ({"alpha": True}, "alpha", "must be a number"),
        ({"alpha": tensor((N,))}, "alpha", "must be a number"),
        ({"alpha": None}, "alpha", "missing; the arguments are a, b, c, d, bias_n, alpha, beta"),
        ({"gamma": 1}, "gamma", "unknown argument"),
        ({"max_clusters": 133}, "max_clusters", "133; must be a whole number from 1 to 132"),
        ({"max_clusters": 0}, "max_clusters", "0; must be a whole number from 1 to 132"),
        ({"d": tensor((1, 1, 8)).as_strided((L, M, N), (8, 0, 1))}, "d", "stride 0 in M"),
        ({"d": tensor((L, 2 * M, N)).as_strided((L, M, N), (N * M, 32, 1))}, "d", "must be at least 40"),
        ({"d": tensor((L, 2 * M, N)).as_strided((L, M, N), (N, N, 1))}, "d", "must be at least"),
        ({"a": tensor((1, 8, K)).as_strided((2, M, K), (2**39, K, 1))}, "a", "must be below 2^40 bytes"),
    ],
)
def test_a_broken_rule_is_named(changes: dict[str, Any], argument: str, message: str) -> None:
    error = refusal(**changes)
    assert error.argument == argument
    assert message in str(error)
    assert str(error).startswith(f"{argument}: ")


def test_devices_must_agree() -> None:
    elsewhere = tensor((L, K, N), "F")
    elsewhere.device = "host:1"
    assert "device host:1; must be on host:0" in str(refusal(b=elsewhere))
    elsewhere.device = "cpu"
    assert "device cpu; must be on a host device" in str(refusal(b=elsewhere))


def test_an_output_may_not_share_memory_with_an_input() -> None:
    shared = tensor((L, M, N))
    error = refusal(c=shared, d=shared)
    assert "overlap those of 'c'" in str(error)
    assert error.argument == "d"
    shifted = tensor((L, M + 1, N))
    c, d = HostTensor(shifted.bits[:, :M], "f16"), HostTensor(shifted.bits[:, 1:], "f16")
    assert "overlap those of 'c'" in str(refusal(c=c, d=d))


def test_a_tensor_without_elements_overlaps_nothing() -> None:
    d = tensor((L, M, N))
    assert call(a=d.as_strided((L, M, 0), (M * 8, 8, 1)), b=tensor((L, 0, N), "F"), d=d)


def test_column_slices_of_one_matrix_do_not_overlap() -> None:
    both = tensor((L, M, 2 * N))
    left, right = HostTensor(both.bits[..., :N], "f16"), HostTensor(both.bits[..., N:], "f16")
    assert call(c=left, d=right)
    assert call(c=right, d=left)
    middle = HostTensor(both.bits[..., 8 : N + 8], "f16")
    assert "overlap" in str(refusal(c=left, d=middle))


def test_positional_arguments_are_counted_and_not_given_twice() -> None:
    kernel = CheckedKernel(PLAN, Recorder(), 132, "host")
    given = list(arguments().values())
    with pytest.raises(CallError, match="8 positional arguments"):
        kernel(*given, 1)
    with pytest.raises(CallError, match="a: given twice"):
        kernel(*given, a=given[0])


@pytest.mark.parametrize("most", [2**31 - 1, 2**33])
def test_the_largest_extent_is_the_argument_s_own(most: int) -> None:
    plan = replace(PLAN, arguments=(Argument("x", "vector", "f16", ("N",), "N", largest_extent=most),))
    few = tensor((8,))
    check_arguments(plan, [few.as_strided((most,), (1,))], {}, "host")
    with pytest.raises(CallError, match=f"N = {most + 1}; an extent must be at most {most}"):
        check_arguments(plan, [few.as_strided((most + 1,), (1,))], {}, "host")


IN_PLACE = replace(PLAN, arguments=tuple(replace(a, in_place="c") if a.output else a for a in PLAN.arguments))


def bound(plan: Plan, **changes: Any) -> dict[str, Any]:
    """What a call hands over, by name."""
    launched = CheckedKernel(plan, Recorder(), 132, "host").bind(**arguments(**changes))
    return dict(zip((a.name for a in plan.arguments), launched, strict=True))


def refused(plan: Plan, **changes: Any) -> str:
    with pytest.raises(CallError) as caught:
        bound(plan, **changes)
    return str(caught.value)


def test_an_output_may_be_an_input_exactly_where_the_plan_says_so() -> None:
    both = tensor((L, M, N), pad=8)
    assert "an output must not share memory" in refused(PLAN, c=both, d=both)
    launched = bound(IN_PLACE, c=both, d=both)
    assert launched["c"] is launched["d"] is both
    again = HostTensor(both.bits, "f16")  # another object, the same memory
    assert bound(IN_PLACE, c=both, d=again)["d"] is again
    row = tensor((1, 1, N), pad=8)  # of modes of extent 1, strides mean nothing
    one = {"a": tensor((1, 1, K)), "b": tensor((1, K, N), "F"), "bias_n": tensor((N,), dtype="f32")}
    assert bound(IN_PLACE, **one, c=row, d=row.as_strided((1, 1, N), (5, 3, 1)))


def test_an_output_that_is_an_input_in_part_is_refused() -> None:
    rule = "it may be 'c' itself, of the same address and strides, or else must not share memory with it"
    rows = tensor((L, M + 1, N))
    c, d = HostTensor(rows.bits[:, :M], "f16"), HostTensor(rows.bits[:, 1:], "f16")
    assert rule in refused(IN_PLACE, c=c, d=d)
    assert rule in refused(IN_PLACE, c=d, d=c)
    spread = tensor((L, M, 2 * N))
    near, far = HostTensor(spread.bits[..., :N], "f16"), HostTensor(spread.bits[..., 8 : N + 8], "f16")
    assert rule in refused(IN_PLACE, c=near, d=far)
    packed = near.as_strided((L, M, N), (M * N, N, 1))  # the same address, other strides
    assert rule in refused(IN_PLACE, c=near, d=packed)


@pytest.mark.parametrize("name", ["a", "b", "bias_n"])
def test_an_output_is_never_another_input(name: str) -> None:
    """Whatever the plan allows of C."""
    square = 24
    given = {
        "a": tensor((L, square, square)),
        "b": tensor((L, square, square), "F"),
        "c": tensor((L, square, square)),
        "d": tensor((L, square, square)),
        "bias_n": tensor((square,), dtype="f32"),
    }
    first = given[name].as_strided((1,), (1,)).bits.view(np.int16)
    given["d"] = HostTensor(first, "f16").as_strided((L, square, square), (square * square, square, 1))
    given["c"] = given["d"]
    assert f"overlap those of '{name}'; an output must not share memory with another argument" in refused(
        IN_PLACE, **given
    )


def test_what_cannot_be_counted_is_refused_with_the_limit() -> None:
    tiles = Limit("tiles of 16 x 8", (("M", 16), ("N", 8), ("L", 1)), 20)
    plan = replace(PLAN, limits=(Limit("along K", (("K", 1),), K), tiles))
    assert bound(plan)  # 2 * 5 * 2
    message = refused(replace(PLAN, limits=(replace(tiles, most=19),)))
    assert message.startswith("problem: 20 tiles of 16 x 8 (M = 24, N = 40, L = 2); the kernel counts at most 19; ")
    assert "problem: 16 along K (K = 16); the kernel counts at most 15" in refused(
        replace(PLAN, limits=(Limit("along K", (("K", 1),), K - 1),))
    )


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (1, 1.0),
        (-0.0, -0.0),
        (Fraction(1, 2), 0.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float16(2), 2.0),
        (np.float64(0.1), float(np.float32(0.1))),
        (np.int64(7), 7.0),
        (np.array(3), 3.0),
        (np.array(0.5, np.float32), 0.5),
        (float(np.finfo(np.float32).max), float(np.finfo(np.float32).max)),
        (3.4028235677973362e38, float(np.finfo(np.float32).max)),  # rounded down
        (1e-46, 0.0),
        (float("inf"), float("inf")),
        (-np.inf, float("-inf")),
    ],
)
def test_any_real_number_is_a_scalar(given: Any, value: float) -> None:
    found = bound(PLAN, alpha=given)["alpha"]
    assert type(found) is float
    assert (found, math.copysign(1, found)) == (value, math.copysign(1, value))


def test_nan_is_a_scalar() -> None:
    assert math.isnan(bound(PLAN, beta=math.nan)["beta"])
    assert math.isnan(bound(PLAN, beta=np.float32("nan"))["beta"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (10**400, "must be finite in float32: at most 3.4028234663852886e+38 in magnitude"),
        (10**5000, "must be finite in float32"),
        (1e300, "1e+300; must be finite in float32"),
        (-3.4028235677973366e38, "must be finite in float32"),
        (Fraction(10**400, 3), "must be finite in float32"),
        (np.float64(1e39), "must be finite in float32"),
        (1j, "must be a number"),
        (np.complex64(1), "must be a number"),
        (np.bool_(True), "must be a number"),
        (np.array([1.0]), "must be a number"),
        (np.array("1"), "must be a number"),
        (Decimal(1), "must be a number"),
        (None, "missing"),
    ],
    ids=lambda given: f"{type(given).__name__}",  # an integer of so many digits has no text
)
def test_what_no_float32_holds_is_refused_by_name(given: Any, message: str) -> None:
    text = refused(PLAN, beta=given)
    assert text.startswith("beta: ")
    assert message in text
    assert len(text) < 200


def test_a_number_on_the_device_is_not_waited_for() -> None:
    there = np.array(1.0).view(type("Device", (np.ndarray,), {"device": "cuda:0"}))
    assert "must be a number" in refused(PLAN, alpha=there)


def test_an_integer_has_its_width() -> None:
    plan = replace(PLAN, arguments=(Argument("n", "scalar", "i32"),))
    assert check_arguments(plan, [np.int64(-(2**31))], {})["n"] == -(2**31)
    for given, message in [
        (2**31, "must be within 32 bits"),
        (1.0, "must be an integer"),
        (True, "must be an integer"),
    ]:
        with pytest.raises(CallError, match=f"n: .*{message}"):
            check_arguments(plan, [given], {})


@pytest.mark.parametrize("given", [True, 1.0, "1", np.float32(1), 10**400])
def test_a_grid_limit_is_a_whole_number(given: Any) -> None:
    assert "must be a whole number from 1 to 132" in refused(PLAN, max_clusters=given)
    assert bound(PLAN, max_clusters=np.int32(7))["max_clusters"] == 7
