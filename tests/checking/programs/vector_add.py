"""A program as its author would write it: c = a + b, one element a thread. `--bound` and `--drop` put a mistake in."""

import argparse

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

THREADS = 128


@cute.kernel
def vector_add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, bound: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < bound:
        c[i] = a[i] + b[i]


@cute.jit
def vector_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, extra: cutlass.Constexpr):
    bound = cute.size(c) + extra
    vector_add_kernel(a, b, c, bound).launch(grid=[cute.ceil_div(bound, THREADS), 1, 1], block=[THREADS, 1, 1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=300)
    parser.add_argument("--extra", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(asked.elements).astype(np.float32) for _ in range(2))
    c = np.zeros_like(a)
    tensors = [from_dlpack(each).mark_layout_dynamic() for each in (a, b, c)]
    compiled = cute.compile(vector_add, *tensors, asked.extra)
    compiled(*tensors)
    np.testing.assert_array_equal(c, a + b)
    print("PASS")


if __name__ == "__main__":
    main()
