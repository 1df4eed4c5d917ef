"""Packs a sample of mutants for a GPU host: python3 -m tests.emulate.on_device.prepare CONFIG -o DIR

Of a few kernels, each a different way to synchronise: the kernels themselves, alterations that change nothing that
matters, every mutant that the emulator lets pass, and of those it catches one of each kind of alteration and finding,
few of them expected to hang, since a hang takes the watchdog's time. On the GPU host, which needs python3 and numpy:
python3 DIR/mutants.py
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.emulate.on_device.mutants import CONTROL, HARMLESS
from warpwright import pipeline
from warpwright.build.launch_capture import link
from warpwright.build.ptx_census import kernel_parameters
from warpwright.build.ptx_values import statements
from warpwright.bundle.pack import copy_generator
from warpwright.emulate.mutants.edits import Mutant, apply
from warpwright.emulate.mutants.trials import Trial, mutants_of, trials
from warpwright.emulate.variant import harness

HERE = Path(__file__).resolve().parent
#: Kernels of gemm_sm90: cooperative in a cluster, pingpong, pingpong that reads C, one consumer.
KERNELS = ("*-c2x1-*-coop2-n4-*", "bf16.f32-kkn-*-ping2-*", "*-ping2-alpha+beta_c+relu-c.f16*", "*64x64x64-*-coop1-*")
#: Findings whose cause is likely to stop the device as well: a wait that nothing ends.
HANGS = ("deadlock", "livelock", "named-barrier", "convergence", "mbarrier")


@dataclass(frozen=True)
class Chosen:
    """A mutant, or the kernel itself, with the emulator's verdict: `unaltered`, `harmless` or a kind of finding."""

    source: Path
    mutant: Mutant
    verdict: str
    caught: str = ""
    case: str = ""


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    exploration = pipeline.plan(options.config, options.out)
    pipeline.advance(exploration, ("render",))
    built = [v.folder.path for v in exploration.legal if any(e.method == "built" for e in v.judgement.valid)]
    folders = [_one(built, pattern) for pattern in options.kernels or KERNELS]
    chosen: list[Chosen] = []
    seen: Counter[tuple[str, str]] = Counter()
    left = options.hangs
    for number, folder in enumerate(folders):
        found = list(emulated(folder))
        print(f"{folder.name}: {len(found)} alterations emulated", flush=True)
        share = left // (len(folders) - number)
        picked = choose(found, seen, options.mutants // len(folders), share)
        left -= sum(each.verdict in HANGS for each in picked)
        chosen += picked
    chosen.sort(key=lambda c: (c.verdict != CONTROL, c.verdict != HARMLESS, c.verdict in HANGS))
    pack(chosen, options.output, options.ptxas)
    print(f"{options.output}: {Counter(c.verdict for c in chosen)}")
    return 0


def emulated(folder: Path) -> Iterator[Chosen]:
    """The kernel, what is harmless to it, and its mutants, each with the emulator's verdict."""
    subject = harness.load(folder)
    extra = list(harmless(subject.ptx))
    of_ptx = [mutant for mutant in mutants_of(subject) if mutant.launch is None]  # the device's launches are its own
    listed = [Mutant(CONTROL, 1, "", ()), *extra, *of_ptx]
    for trial in trials(subject, listed):
        if trial.mutant.name == CONTROL or trial.mutant in extra:
            if not trial.survived:
                raise SystemExit(f"{folder.name}: {trial.mutant.name} should be harmless: {trial.caught}")
            yield Chosen(folder, trial.mutant, CONTROL if trial.mutant.name == CONTROL else HARMLESS)
        else:
            yield Chosen(folder, trial.mutant, verdict_of(trial), trial.caught, trial.case)


def verdict_of(trial: Trial) -> str:
    """The kind of the finding that caught a mutant."""
    return trial.caught.partition(":")[0] if trial.caught else HARMLESS


def harmless(ptx: str) -> Iterator[Mutant]:
    """Stricter than need be: a fence twice, a wait for every group; one of each kind."""
    lines, done = ptx.split("\n"), set()
    for s in statements(ptx):
        text = lines[s.line - 1]
        if s.opcode in done:
            continue
        if s.opcode.startswith("fence.proxy.async"):
            yield Mutant(f"twice {s.opcode}", s.line, text.strip(), ((s.line, f"{text} {s.opcode};"),))
        elif "wait_group" in s.opcode and s.operands[-1] != "0":
            yield Mutant(f"wait for all in {s.opcode}", s.line, text.strip(), ((s.line, f"{s.opcode} 0;"),))
        else:
            continue
        done.add(s.opcode)


def choose(found: Sequence[Chosen], seen: Counter[tuple[str, str]], most: int, hangs: int) -> list[Chosen]:
    """Take what must be taken, then the mutants whose kind of alteration and of finding was taken least, in turn."""
    taken = [each for each in found if each.verdict in (CONTROL, HARMLESS)]
    rest = [each for each in found if each not in taken]

    def rarest(among: list[Chosen]) -> Chosen:
        return min(among, key=lambda c: (seen[_kind(c), c.verdict], seen[_kind(c), ""], seen["", c.verdict]))

    for stuck, count in ((True, min(hangs, most)), (False, most - min(hangs, most))):
        among = [each for each in rest if (each.verdict in HANGS) == stuck]
        for _ in range(min(count, len(among))):
            each = rarest(among)
            among.remove(each)
            taken.append(each)
            for key in ((_kind(each), each.verdict), (_kind(each), ""), ("", each.verdict)):
                seen[key] += 1
    return taken


def _kind(chosen: Chosen) -> str:
    """What was altered and how, without the count and the instruction's modifiers."""
    return re.sub(r"(\.shared|\.release|\.sync|\.parity).*| #\d+$", "", chosen.mutant.name)


def pack(chosen: Sequence[Chosen], target: Path, ptxas: str) -> None:
    """Write the folder that travels, in place of what was there."""
    if target.exists() and not (target / "mutants.json").is_file():
        raise SystemExit(f"{target} exists and holds no mutants; name another folder or remove it")
    shutil.rmtree(target, ignore_errors=True)
    copy_generator(target / "lib", "build/launch_capture.py")
    for name in ("mutants.py", "cubin_backend.py"):
        shutil.copy(HERE / name, target / name)
    listed = []
    for number, each in enumerate(chosen):
        folder = target / "variants" / f"{number:03d}"
        try:
            said = _pack_one(each, folder, ptxas)
        except subprocess.CalledProcessError as error:
            print(f"left out {each.source.name}: {each.mutant.name}: ptxas: {error.stderr.strip()}")
            shutil.rmtree(folder)
            continue
        listed.append(
            {
                "folder": folder.name,
                "kernel": each.source.name,
                "mutant": each.mutant.name,
                "line": each.mutant.line,
                "instruction": each.mutant.instruction,
                "verdict": each.verdict,
                "caught": each.caught,
                "case": each.case,
                "ptxas": said,
            }
        )
    (target / "mutants.json").write_text(json.dumps(listed, indent=1))


def _pack_one(chosen: Chosen, folder: Path, ptxas: str) -> str:
    """Return what the assembler says: it mends some mutants, and waits where a wgmma's registers are not safe."""
    folder.mkdir(parents=True)
    ptx = apply((chosen.source / "kernel.ptx").read_text(), chosen.mutant)
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "kernel.ptx").write_text(ptx)
        command = [ptxas, "-arch=sm_90a", "kernel.ptx", "-o", str(folder.resolve() / "kernel.cubin")]
        done = subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True)
    shutil.copy(chosen.source / "plan.json", folder)
    library = folder.parents[1] / "hosts" / f"{chosen.source.name}.so"
    if not library.exists():
        library.parent.mkdir(exist_ok=True)
        link(chosen.source / "kernel.o", library)
    (folder / "kernel.so").symlink_to(os.path.relpath(library, folder))
    (folder / "launch.json").write_text(json.dumps(kernel_parameters(ptx)))
    built: dict[str, Any] = json.loads((chosen.source / "build.json").read_text())
    origin = {
        "config": chosen.source.parent.name,
        "variant": chosen.source.name,
        "source_sha": built["source_sha"],
        "cubin_sha": hashlib.sha256((folder / "kernel.cubin").read_bytes()).hexdigest(),
        "library_sha": hashlib.sha256((folder / "kernel.so").read_bytes()).hexdigest(),
        "arch": built["arch"],
        "toolchain": built["toolchain"],
        "plan_sha": built["plan_sha"],
    }
    (folder / "variant.json").write_text(json.dumps(origin))
    return done.stderr.strip()


def _one(built: Sequence[Path], pattern: str) -> Path:
    found = [folder for folder in built if fnmatchcase(folder.name, pattern)]
    if not found:
        raise SystemExit(f"no variant is built that is called {pattern}; `warpwright run CONFIG` first")
    return found[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="prepare", description=__doc__)
    parser.add_argument("config", nargs="?", default="gemm_sm90", help="configuration (default: gemm_sm90)")
    out = Path(os.environ.get("WARPWRIGHT_OUT", "out"))
    parser.add_argument("--out", type=Path, default=out, help="where its variants are (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to be made")
    parser.add_argument("--kernels", nargs="+", metavar="GLOB", help="variants by name (default: four of gemm_sm90)")
    parser.add_argument("--mutants", type=int, default=36, help="how many, besides harmless ones (default: 36)")
    parser.add_argument("--hangs", type=int, default=8, help="at most so many that may hang (default: 8)")
    parser.add_argument("--ptxas", default="ptxas", help="the assembler (default: that in PATH)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
