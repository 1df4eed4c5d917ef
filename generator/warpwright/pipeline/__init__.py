"""The way through, from a YAML file to recorded variants: the one owner of the loop.

    exploration = plan("configs/quickstart.yaml", Path("out"))
    advance(exploration, ("render", "build", "emulate"), observer)
    for variant in exploration.variants: print(variant.name, variant.status)

Each step is one arrow of the chain for a list of variants; a variant that fails one keeps its status and is left out
of the next, and never touches its neighbours. Imports that cost time are made where they are needed: a run that finds
all its work done must start at once.
"""

from warpwright.pipeline.advance import STEPS, Observer, Silent, advance
from warpwright.pipeline.exploration import Exploration, Variant, chosen, exit_code, load, plan
from warpwright.pipeline.judging import HEAD, judge_folder, ledger_files, ledger_lines, ledgers, subject_of

__all__ = [
    "HEAD",
    "STEPS",
    "Exploration",
    "Observer",
    "Silent",
    "Variant",
    "advance",
    "chosen",
    "exit_code",
    "judge_folder",
    "ledger_files",
    "ledger_lines",
    "ledgers",
    "load",
    "plan",
    "subject_of",
]
