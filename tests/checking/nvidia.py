"""NVIDIA's Blackwell examples, run in the emulator and compared with numpy: a table of them all.

    WARPWRIGHT_CUTLASS_EXAMPLES=.../examples/python/CuTeDSL python -m tests.checking.nvidia [WORD ...]

WORDs choose cases by their titles. Nothing is fetched. An example draws its own operands and makes its own comparison;
here they are read at its launch, the product is computed anew in float64, and the result must be that, rounded to its
type: the operands are small integers, so that every order of summation gives the same.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np

from tests.checking.foreign import EXAMPLES, VARIABLE
from tests.checking.nvidia_operands import Scaled, grouped, values_of

_ROOT = Path(__file__).parents[2]
DENSE, TUTORIAL = "blackwell/kernel/dense_gemm/", "blackwell/tutorial/tutorial_gemm/"
Operands = Mapping[str, Any]


def product(modes: str) -> Callable[[Operands], Any]:
    return lambda o: np.einsum(modes, o["a"], o["b"], optimize=True)


def _scaled(o: Operands) -> Any:
    return o["alpha"] * np.einsum("mkl,nkl->mnl", o["a"], o["b"]) + o["beta"] * o["c"]


def _dequantized(o: Operands) -> Any:
    b = (o["b_quantized"].astype(np.float32) * np.float32(o["scale_factor"])).astype(np.float16)
    return np.einsum("mk,nk->mn", o["a"], b.astype(np.float64))


def _signed(o: Operands) -> Any:
    """Of bytes that the DSL (4.8.1) calls unsigned, and whose instruction descriptor says that they are signed."""
    a, b = (o[name].astype(np.uint8).view(np.int8).astype(np.float64) for name in "ab")
    return np.einsum("lmk,lkn->lmn", a, b, optimize=True)


MKL, LMK, MK = product("mkl,nkl->mnl"), product("lmk,lkn->lmn"), product("mk,nk->mn")


@dataclass(frozen=True)
class Case:
    """An example with options. reference: the result, of its operands in float64; out: the name of the result.

    exact: whether the result is that, rounded; else within one unit of its last place. findings: their kinds, where the
    example breaks a rule (EARLY). operands: "scaled" are drawn anew, "grouped" read by their addresses.
    """

    program: str
    options: str
    reference: Callable[[Operands], Any] = MKL
    out: str = "c"
    exact: bool = True
    findings: tuple[str, ...] = ()
    operands: Literal["named", "scaled", "grouped"] = "named"

    @property
    def title(self) -> str:
        return f"{Path(self.program).stem} {self.options}"


def _case(name: str, size: str, options: str, reference: Callable[[Operands], Any] = MKL, out: str = "c",
          findings: tuple[str, ...] = ()) -> Case:  # fmt: skip
    return Case(f"{DENSE}{name}.py", f"--mnkl {size} {options}", reference, out, findings=findings)


#: Without a TMA store the DSL's epilogue (cutlass/utils/gemm/sm100.py of 4.8.1) gives an accumulator back before
#: anything has waited for the last tcgen05.ld of it, neither tcgen05.wait::ld nor a use of its registers: where CTAs go
#: from tile to tile, the next MMAs into these columns are not ordered behind it.
EARLY = ("race",)


_F16, _BF16 = "--ab_dtype Float16 --c_dtype Float16", "--ab_dtype BFloat16 --c_dtype BFloat16"
_I8 = "--acc_dtype Int32 --c_dtype Int32"
_MX, _F8 = "--sf_dtype Float8E8M0FNU --sf_vec_size 32", "--a_dtype Float8E4M3FN --b_dtype Float8E4M3FN"
SCALED = "blackwell/kernel/blockscaled_gemm/dense_blockscaled_gemm_persistent.py"
_PAIR, _STORE = "--use_2cta_instrs --cluster_shape_mn", "--use_tma_store"

CASES = [
    *(Case(f"{TUTORIAL}fp16_gemm_{step}.py", f"--mnk {size}", MK)
      for step, size in (("0", "256,512,256"), ("1", "512,512,256"), ("2", "512,512,320"), ("3", "1024,1024,192"),
                         ("3_1", "1024,1024,192"), ("4", "512,512,256"), ("5", "1024,512,192"))),
    Case(f"{TUTORIAL}fp16_gemm_6.py", "--mnk 256,512,128", _dequantized, exact=False),
    _case("dense_gemm", "256,256,128,2", "--mma_tiler_mn 128,128"),
    _case("dense_gemm", "264,136,72,1", f"--mma_tiler_mn 64,64 {_STORE} {_F16} --a_major m --b_major n --c_major m"),
    _case("dense_gemm", "512,264,200,1", f"--mma_tiler_mn 256,128 {_PAIR} 2,1 {_STORE} {_F16}"),
    _case("dense_gemm", "256,256,160,1",
          f"--mma_tiler_mn 128,128 --cluster_shape_mn 1,2 {_STORE} --ab_dtype Float8E4M3FN --c_dtype Float16"),
    _case("dense_gemm", "256,256,160,1", f"--mma_tiler_mn 128,128 --ab_dtype Int8 {_I8}"),
    _case("dense_gemm_software_pipeline", "512,264,200,1", f"--mma_tiler_mn 128,128 {_STORE} {_F16}"),
    _case("dense_gemm_software_pipeline", "512,256,200,1", f"--mma_tiler_mn 256,128 {_PAIR} 2,1 {_BF16}"),
    _case("dense_gemm_software_pipeline", "256,256,72,1", "--mma_tiler_mn 128,64 --cluster_shape_mn 2,1"),
    _case("dense_gemm_persistent", "640,1032,200,1", f"--mma_tiler_mn 128,256 {_STORE} {_F16}", LMK),
    _case("dense_gemm_persistent", "640,520,72,2", f"--mma_tiler_mn 128,128 --cluster_shape_mn 2,1 {_STORE}", LMK),
    _case("dense_gemm_persistent", "1024,1024,200,1", f"--mma_tiler_mn 256,256 {_PAIR} 2,1 {_STORE} {_BF16}", LMK),
    _case("dense_gemm_persistent", "1024,512,136,1",
          f"--mma_tiler_mn 128,64 {_PAIR} 4,2 {_STORE} {_F16} --acc_dtype Float16 --a_major m --b_major n --c_major m",
          LMK),
    _case("dense_gemm_persistent", "512,512,160,1",
          f"--mma_tiler_mn 128,128 {_PAIR} 2,2 --ab_dtype Float8E5M2 --c_dtype Float8E4M3FN --a_major m --b_major n",
          LMK, findings=EARLY),
    _case("dense_gemm_persistent", "512,512,160,1", f"--mma_tiler_mn 128,128 --ab_dtype Uint8 {_I8}", _signed),
    _case("dense_gemm_persistent", "1024,512,160,1",
          f"--mma_tiler_mn 256,128 {_PAIR} 2,1 {_STORE} --ab_dtype Int8 {_I8}", LMK),
    _case("dense_gemm_persistent_prefetch", "512,1032,520,1", f"--mma_tiler_mn 128,128 {_STORE} {_F16}", LMK),
    _case("dense_gemm_persistent_dynamic", "640,1032,200,1", f"--mma_tiler_mn 128,128 {_STORE} {_F16}", LMK),
    _case("dense_gemm_persistent_dynamic", "2048,1024,200,1",
          f"--mma_tiler_mn 256,128 {_PAIR} 2,2 {_STORE} {_F16} --swizzle_size 2 --raster_order n", LMK),
    _case("dense_gemm_persistent_dynamic", "512,512,72,2", "--mma_tiler_mn 128,64 --cluster_shape_mn 1,2", LMK),
    _case("dense_gemm_persistent_dynamic", "512,512,512,1",
          f"--mma_tiler_mn 128,128 --cluster_split_k 2 {_F16}", LMK),
    _case("dense_gemm_alpha_beta_persistent", "512,520,200,1",
          f"--mma_tiler_mn 128,128 {_F16} --d_dtype Float16 --alpha 2 --beta 0.5", _scaled, "d"),
    _case("dense_gemm_alpha_beta_persistent", "1024,512,200,1",
          f"--mma_tiler_mn 256,128 {_PAIR} 2,1 {_BF16} --d_dtype Float32 --alpha 0.5 --beta 2", _scaled, "d"),
]  # fmt: skip
CASES += [
    *(Case("blackwell/kernel/grouped_gemm/grouped_gemm.py", f"--num_groups {n} --problem_sizes_mnkl {sizes} {options}",
           operands="grouped") for n, sizes, options in (
        (2, "(256,128,128,1),(128,136,64,1)", "--mma_tiler_mn 128,128 --cluster_shape_mn 1,1"),
        (3, "(512,256,128,1),(128,136,64,1),(264,520,200,1)",
         f"--mma_tiler_mn 256,128 {_PAIR} 2,1 --tensormap_update_mode GMEM"),
    )),
    *(Case(f"{TUTORIAL}nvfp4_gemm_{step}.py", f"--mnkl {size}", operands="scaled")
      for step, size in (("0", "256,512,256,1"), ("1", "512,512,512,2"))),
    *(Case(SCALED, f"--mnkl {size} {options}", operands="scaled") for size, options in (
        ("384,256,512,1", "--mma_tiler_mn 128,128"),
        ("512,512,320,2", "--mma_tiler_mn 256,256 --cluster_shape_mn 2,1 --c_dtype Float32"),
        ("512,384,256,1", f"--mma_tiler_mn 128,192 {_MX} --c_dtype BFloat16"),
        ("512,512,256,1", f"--mma_tiler_mn 256,128 --cluster_shape_mn 2,2 {_MX} --c_dtype Float32 --c_major m"),
        ("512,512,320,1", f"--mma_tiler_mn 128,128 --cluster_shape_mn 1,2 {_MX} {_F8} --a_major m --b_major n"),
        ("1024,512,384,1", f"--mma_tiler_mn 256,256 --cluster_shape_mn 4,1 {_MX} {_F8} --c_dtype BFloat16"),
    )),
]  # fmt: skip


def check(case: Case, program: Path | None = None, seeds: int = 2) -> dict[str, Any]:
    """Run a case in a process of its own; `program`: another text of it. What `_observe` tells, and `wall` seconds."""
    command = [sys.executable, "-m", "tests.checking.nvidia", "--one", CASES.index(case), program or "", seeds]
    started = time.perf_counter()
    paths = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, VARIABLE: str(EXAMPLES), "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
    words = [str(each) for each in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, env=environment)
    last = done.stdout.rstrip().rpartition("\n")[2]
    if done.returncode:
        raise RuntimeError(f"{case.title}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return {**json.loads(last), "wall": time.perf_counter() - started}


def _observe(case: Case, program: str, seeds: int) -> dict[str, Any]:
    """Kinds of findings and notes, what the example's own comparison said (""), seconds of a core and warp instructions
    of all launches, and how many elements of the result are wrong (-1: there is none)."""
    from warpwright.checking import FindingsError, session

    path = program or str(EXAMPLES / "cute" / case.program)
    sys.argv = [path, *case.options.split()]
    sys.path.insert(0, str((EXAMPLES / "cute" / case.program).parent))
    given: dict[str, Any] = {}
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    with session.emulated("sm_100a", seeds=seeds) as gpu:
        known, run = gpu.called, session.run_launch
        spent, instructions = [0.0], [0]

        def launch(*arguments: Any) -> Any:
            began = time.process_time()
            result = run(*arguments)
            spent[0] += time.process_time() - began
            instructions[0] += result[0].warp_instructions
            return result

        def called(signature: Any, args: Any, kwargs: Any) -> None:
            given.clear()
            before.clear()
            given.update({**dict(zip(signature.parameters, args, strict=False)), **kwargs})
            known(signature, args, kwargs)

        def launched(*arguments: Any) -> Any:
            if case.operands == "grouped" and "problem_shape_mnkl" in given:
                result = launch(*arguments)
                pairs = [*grouped(given)]
                after["out"] = np.concatenate([found.reshape(-1) for _, found in pairs])
                after["wrong"] = sum(_differences(expected, found, True) for expected, found in pairs)
                return result
            if case.operands == "scaled" and "sfa_ptr" in given:
                pointers = {name: value for name, value in given.items() if name.endswith("_ptr")}
                drawn = Scaled(pointers, case.options, seed=1)
                result = launch(*arguments)
                after["out"] = drawn.result()
                after["wrong"] = _differences(drawn.product, after["out"], True)
                return result
            if case.out not in given:
                return launch(*arguments)
            before.update({n: _values(v) for n, v in given.items() if _is_operand(v) and n not in before})
            result = launch(*arguments)
            after["out"] = _values(given[case.out])
            after["wrong"] = _wrong(case, before, after["out"])
            return result

        gpu.called, session.run_launch = called, launched  # type: ignore[method-assign]
        said = ""
        try:
            runpy.run_path(path, run_name="__main__")
        except (AssertionError, FindingsError, ValueError) as error:  # its own comparison, or a finding that ends it
            if not after or case.operands != "scaled":
                said = str(error)
        notes = sorted({note.kind for each in gpu.launches for note in each.notes})
        return {
            "said": said, "findings": sorted({f.kind for f in gpu.findings}), "notes": notes,
            "seconds": spent[0], "warp_instructions": instructions[0],
            "wrong": after.get("wrong", -1), "elements": after["out"].size if after else 0,
        }  # fmt: skip


def _is_operand(value: Any) -> bool:
    return hasattr(value, "element_type") or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _values(value: Any) -> Any:
    """A scalar as it is, a tensor of the DSL as a numpy array of its type: a copy of what lies in device memory."""
    return values_of(value) if hasattr(value, "element_type") else value


def _wrong(case: Case, operands: Operands, found: Any) -> int:
    """How many elements of the result are not those of the reference."""
    wide = {n: v.astype(np.float64) if isinstance(v, np.ndarray) else v for n, v in operands.items()}
    return _differences(case.reference(wide), found, case.exact)


def _differences(expected: Any, found: Any, exact: bool) -> int:
    if np.issubdtype(found.dtype, np.integer):
        limits = np.iinfo(found.dtype)
        return int((found != np.clip(np.rint(expected), limits.min, limits.max)).sum())
    most = float(ml_dtypes.finfo(found.dtype).max)
    rounded = np.clip(expected, -most, most).astype(found.dtype)
    if exact:
        return int((found != rounded).sum())
    unit = np.abs(rounded.astype(np.float64)) * float(ml_dtypes.finfo(found.dtype).eps)
    return int((~(np.abs(found.astype(np.float64) - expected) <= unit)).sum())


def _table(words: list[str]) -> None:
    for case in CASES:
        if not all(word in case.title for word in words):
            continue
        try:
            seen = check(case)
        except RuntimeError as error:
            print(f"| {Path(case.program).stem} | `{case.options}` | failed | |\n{error}", flush=True)
            continue
        verdict = "equal" if not seen["wrong"] else f"{seen['wrong']} of {seen['elements']} wrong"
        verdict = ", ".join([verdict, *seen["findings"]])
        row = f"| {Path(case.program).stem} | `{case.options}` | {verdict} | {seen['seconds']:.1f} |"
        rate = seen["warp_instructions"] / max(seen["seconds"], 1e-9)
        print(f"{row} {', '.join(seen['notes'])}; {rate:,.0f}/s, {seen['wall']:.0f} s in all", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _, _, number, text, runs = sys.argv
        told = json.dumps(_observe(CASES[int(number)], text, int(runs)))
        print(f"\n{told}")
        sys.stdout.flush()
        os._exit(0)
    _table(sys.argv[1:])
