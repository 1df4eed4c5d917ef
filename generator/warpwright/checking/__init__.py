"""`warpwright check`: any CuTe-DSL program, run with the emulator in the place of a GPU.

    from warpwright.checking import emulated_gpu

    with emulated_gpu("sm_90a") as gpu:
        compiled = cute.compile(function, a, b, c)
        compiled(a, b, c)          # executed on the CPU, instruction by instruction; c has its values afterwards
    gpu.raise_for_findings()

How it works, in the order of what happens:

    dsl            the DSL is told to keep PTX and cubin, and where its host code finds the CUDA runtime
    runtime        that runtime: a small library whose functions end in Python
    driver         the same for programs that speak to CUDA through cuda-python
    device_memory  which bytes a kernel may touch: arrays that were handed over, and what was allocated
    mirrors        where arrays lie in it: far from each other
    kernels        what was compiled: PTX, its kernels, registers
    launching      one launch in the emulator, over several schedules
    places         PTX lines to lines of the user's files
    report         launches, findings and notes, as text and as data

It verifies kernels that are meant for NVIDIA GPUs; it is no way to run them elsewhere.
"""

from __future__ import annotations

__all__ = ["CheckError", "FindingsError", "Gpu", "emulated_gpu"]


def __getattr__(name: str) -> object:
    """Import what is asked for only now: a program that uses none of it pays nothing."""
    if name in __all__:
        from warpwright.checking import session

        return getattr(session, name)
    raise AttributeError(name)
