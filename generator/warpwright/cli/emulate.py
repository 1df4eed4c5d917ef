"""The command that executes built kernels on the CPU: emulate, with its timeline and its mutants."""

from __future__ import annotations

import shlex
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright.cli import completion
from warpwright.cli.app import TIMELINE, JobsOption, JsonOption, OnlyOption, OutOption, app, file_to_write
from warpwright.cli.terminal import print_json, print_table, progress, say, status_style
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.emulate.mutants.edits import Mutant
    from warpwright.emulate.mutants.trials import Trial
    from warpwright.record import Folder

__all__: list[str] = []

_COLUMNS = ["variant", "runs", "ways taken", "warp instructions", "per second", "error / bound", "seconds", "status"]


@app.command()
def emulate(
    target: Annotated[
        str,
        typer.Argument(
            metavar="POINT|CONFIG",
            autocompletion=completion.variants,
            help="A recorded variant, CONFIG:INDEX, or all of CONFIG.",
        ),
    ],
    case: Annotated[
        str, typer.Option("--case", metavar="NAME", help="Run this case alone, as a finding names it; records nothing.")
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=2**32 - 1, metavar="N", help="With --case: in the schedule of this seed."),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write a timeline of one CTA (Chrome trace JSON).")
    ] = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Run the kernel's mutants instead: is each fault in it noticed?")
    ] = False,
    explained: Annotated[
        Path | None,
        typer.Option("--explained", metavar="DIR", help="With --mutate: LABEL.yaml there gives survivors' reasons."),
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Also list the branches and guards of which no case took both ways.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Also what has a valid result already.")] = False,
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Execute built kernels on the CPU, instruction by instruction.

    Small problems and several schedules, against the float64 reference: wrong results, deadlocks, data races,
    accesses out of bounds, and whatever differs from the plan. Needs no GPU.
    What was built is executed: where kernel.py has changed since, nothing is said of it.
    Exit code: 0 all are correct (with --mutate: no fault goes unnoticed without a reason), 1 some is not, or not built.
    """
    given = {"--mutate": mutate, "--trace": trace is not None, "--case": bool(case)}
    alone = [option for option, is_given in given.items() if is_given]
    _refuse_contradictions(alone, {"--seed": seed is not None, "--explained": explained is not None,
                                   "--coverage": coverage, "--again": again})  # fmt: skip
    folders = _folders(target, out, only)
    if alone and len(folders) > 1:
        raise UserError(f"{target}: {len(folders)} variants; {alone[0]} is for one: name it, or choose with --only")
    if trace is not None:
        raise typer.Exit(_trace(folders[0], file_to_write(trace, TIMELINE), case))
    if case:
        raise typer.Exit(_repeat(folders[0], case, seed, as_json))
    if mutate:
        raise typer.Exit(_mutate(folders[0], explained, as_json))
    raise typer.Exit(_emulate(folders, again, jobs, as_json, coverage))


def _refuse_contradictions(alone: list[str], others: dict[str, bool]) -> None:
    """Refuse options that would be passed over. UserError names both."""
    belongs = {"--seed": ("--case",), "--explained": ("--mutate",)}
    if len(alone) > 1 and set(alone) != {"--trace", "--case"}:
        raise UserError(f"{alone[0]} and {alone[1]} are two different things to do: give one of them")
    for option in (option for option, is_given in others.items() if is_given):
        wanted = belongs.get(option)
        if wanted and alone != list(wanted):
            raise UserError(f"{option} is for {wanted[0]} alone")
        if not wanted and alone:
            raise UserError(f"{option} is for whole verdicts, not for {alone[0]}: leave one of them out")


def _folders(target: str, out: Path, only: list[str] | None) -> list[Folder]:
    """Return the variants that `target` means, some of them built. UserError where none is."""
    from warpwright.cli.find import find_variants

    found = find_variants(target, out, only)
    if not any(map(_built, found)):
        if not found:
            raise UserError(f"{target}: no point is legal; `warpwright plan {target}` says why")
        what = f"{found[0].path}: {_unbuilt(found[0])}"
        raise UserError(f"{target}: {what}; `warpwright run {target}` builds and emulates")
    return found


def _built(folder: Folder) -> bool:
    """Whether there is something to execute, or a build that was damaged, which is to be told."""
    build = folder.path / "build.json"
    return build.exists() and not (folder.read("build.json") or {}).get("failure")


def _unbuilt(folder: Folder) -> str:
    """Say why a folder has nothing that could be executed."""
    failure = (folder.read("build.json") or {}).get("failure")
    if not isinstance(failure, dict):
        return "not built"
    lines = str(failure.get("detail")).strip().splitlines()
    return f"it does not compile: {failure.get('reason')}: {lines[0] if lines else 'no reason was given'}"


def _emulate(folders: list[Folder], again: bool, jobs: int | None, as_json: bool, coverage: bool) -> int:
    from warpwright.emulate.variant.parallel import Answer, each
    from warpwright.pipeline import emulating

    built = [folder for folder in folders if _built(folder)]
    known = {} if again else {folder.path: emulating.recorded(folder.path) for folder in built}
    rest = [folder.path for folder in built if known.get(folder.path) is None]
    with progress("emulating", len(rest)) as step:
        fresh = dict(zip(rest, each(emulating.emulate_folder, rest, jobs, step), strict=True)) if rest else {}
    found = {path: Answer(dict(value)) for path, value in known.items() if value is not None} | fresh
    answers = [(folder, found.get(folder.path) or Answer(error=_unbuilt(folder))) for folder in folders]
    if as_json:
        print_json([{"variant": f.path.name, **(a.value or {}), "error": a.error} for f, a in answers])
    else:
        _print(answers)
        if coverage:
            _print_missed(answers)
    return 0 if all(a.value and a.value["status"] == "correct" for _, a in answers) else 1


def _print(answers: list[tuple[Folder, Any]]) -> None:
    rows = []
    for folder, answer in answers:
        value = answer.value
        figures = value["figures"] if value else {}
        rows.append(
            [
                folder.path.name,
                str(figures.get("runs", "")),
                _ways(figures.get("coverage")),
                f"{figures['warp_instructions']:,}" if value else "",
                f"{value['rate']:,}" if value else "",
                str(figures.get("ratio", "")),
                f"{value['seconds']:.2f}" if value else "",
                value["status"] if value else "not emulated",
            ]
        )
    print_table(_COLUMNS, rows, right=_COLUMNS[1:-1], styles="status")
    for folder, answer in answers:
        if answer.error:
            say(f"not emulated: {folder.path.name}: {answer.error}", style="red")
        elif answer.value["status"] != "correct":
            status = answer.value["status"]
            say(f"{status}: {folder.path.name}", style=status_style(status))
            for reason in _reasons(answer.value):
                say(indent(reason, "  "))
            for defect in answer.value["figures"]["defects"][:1]:
                again = f"--case {shlex.quote(defect['case'])} --seed {defect['seed']}"
                say(f"  see it again: warpwright emulate {shlex.quote(str(folder.path))} {again}")
    seconds = sorted(answer.value["seconds"] for _, answer in answers if answer.value)
    if seconds:
        say(f"{len(seconds)} emulated; seconds on one core: median {seconds[len(seconds) // 2]}, most {seconds[-1]}")


def _ways(coverage: dict[str, Any] | None) -> str:
    return f"{coverage['taken']}/{coverage['total']}" if coverage else ""


def _print_missed(answers: list[tuple[Folder, Any]]) -> None:
    """Say which ways no case took, in lines of kernel.py: a kernel with any is compiled once more for that."""
    from warpwright.emulate.variant.coverage import Missed
    from warpwright.emulate.variant.places import find_places

    for folder, answer in answers:
        coverage = answer.value["figures"].get("coverage") if answer.value else None
        if coverage is None:
            continue
        say(f"{folder.path.name}: {coverage['taken']} of {coverage['total']} ways of branches and guards were taken")
        places = find_places(folder.path) if coverage["missed"] else None
        for missed in coverage["missed"]:
            text = str(Missed(**missed))
            say(indent(places.explain(text) if places else text, "  "))


def _reasons(value: dict[str, Any]) -> list[str]:
    defects = [
        f"{d['kind']}: {d['message']}\n  in case {d['case']}, schedule seed {d['seed']}"
        for d in value["figures"]["defects"]
    ]
    differences = [f"{d['rule']}: expected {d['expected']}, found {d['found']}" for d in value["figures"]["findings"]]
    return defects + differences


def _repeat(folder: Folder, case: str, seed: int | None, as_json: bool) -> int:
    """Run one case alone and say what it shows; returns the exit code."""
    from warpwright.emulate.variant import harness
    from warpwright.emulate.variant.parallel import Answer
    from warpwright.emulate.variant.places import find_places
    from warpwright.emulate.variant.repeat import repeat

    verdict = repeat(harness.load(folder.path), case, seed)
    if verdict.defects:
        verdict = verdict.located(find_places(folder.path))
    value = {"status": verdict.status, "figures": verdict.figures, "seconds": round(verdict.seconds, 3),
             "rate": round(verdict.rate)}  # fmt: skip
    if as_json:
        print_json({"variant": folder.path.name, "case": case, "seed": seed, **value})
    else:
        _print([(folder, Answer(value))])
        say("one case says nothing of the others, so nothing was recorded")
    return 0 if verdict.status == "correct" else 1


def _trace(folder: Folder, path: Path, case: str) -> int:
    """Write a timeline and say what its one run showed: 0 where nothing, else 1."""
    from warpwright.emulate.variant import harness
    from warpwright.emulate.variant.places import find_places
    from warpwright.emulate.variant.repeat import case_names
    from warpwright.emulate.variant.trace import write_trace

    subject = harness.load(folder.path)
    if case and case not in case_names(subject):
        raise UserError(f"--case {case}: there is no such case; there are {', '.join(case_names(subject))}")
    traced = write_trace(subject, path, case)
    told = ", ".join(f"{count} of kind {kind}" for kind, count in traced.events.items() if count)
    say(f"{path}: {told or 'no event'}; open it in ui.perfetto.dev or chrome://tracing")
    if traced.verdict.status == "correct":
        say(f"case {traced.case}, run once: nothing found; all cases: warpwright emulate {folder.path.name}")
        return 0
    verdict = traced.verdict.located(find_places(folder.path)) if traced.verdict.defects else traced.verdict
    say(f"{verdict.status}: {folder.path.name}", style=status_style(verdict.status))
    differences = [f"{d.rule}: expected {d.expected}, found {d.found}" for d in verdict.differences]
    for reason in (*map(str, verdict.defects), *differences):
        say(indent(reason, "  "))
    return 1


def _mutate(folder: Folder, explained: Path | None, as_json: bool) -> int:
    from warpwright.emulate.mutants.trials import mutants_of, read_reasons, trials
    from warpwright.emulate.variant import harness

    subject = harness.load(folder.path)
    chosen = mutants_of(subject)
    reasons = read_reasons(explained, folder.label) if explained else {}
    done: list[Trial] = []
    with progress("mutants", len(chosen)) as step:
        for trial in trials(subject, chosen):
            done.append(trial)
            step()
    survivors = [trial for trial in done if trial.survived]
    if as_json:
        print_json([_trial(trial, reasons) for trial in done])
    else:
        rows = [[t.mutant.name, str(t.mutant.line), t.case, t.caught.splitlines()[0] if t.caught else ""] for t in done]
        print_table(["mutant", "line", "case", "caught by"], rows, right=["line"], fold="caught by")
        for trial in survivors:
            reason = reasons.get(trial.mutant.name, "")
            say(
                f"survived: {trial.mutant.name}, {_where(trial.mutant)}\n"
                f"  {f'explained: {reason}' if reason else 'no reason is given for it'}",
                style="" if reason else "red",
            )
        say(f"{len(done)} mutants of {folder.label}: {len(done) - len(survivors)} caught, {len(survivors)} survived")
    return 1 if any(trial.mutant.name not in reasons for trial in survivors) else 0


def _where(mutant: Mutant) -> str:
    return f"PTX line {mutant.line}: {mutant.instruction}" if mutant.launch is None else mutant.instruction


def _trial(trial: Trial, reasons: dict[str, str]) -> dict[str, Any]:
    return {
        "mutant": trial.mutant.name,
        "line": trial.mutant.line,
        "instruction": trial.mutant.instruction,
        "survived": trial.survived,
        "caught": trial.caught,
        "case": trial.case,
        "seed": trial.seed,
        "reason": reasons.get(trial.mutant.name, ""),
    }
