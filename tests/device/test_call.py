"""Every rule of the checked call: each violation names tensor, value and rule, and nothing is launched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.device.doubles import HostTensor
from tests.device.plans import make_plan
from warpwright.device.call import CallError, CheckedKernel, check_arguments
from warpwright.plan.types import Argument

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
