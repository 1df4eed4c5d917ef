"""Bringing results home: each is checked against the local build and merged into its variant's folder.

A variant's gpu.json, compared.json and bench.json keep every run ever imported, each with the hashes it was obtained
with, and say at the top what counts: of the runs for the present source, toolchain and cubin, obtained with the newest
protocol, the worst verdict, and of equal ones the latest. A race that showed once is a race, however often the kernel
was right before or after; a verdict is only overcome by a new source, or by a new protocol of the check. Timings are
taken from the latest run of each problem that was alone on the GPU, where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpwright.canonical import digest
from warpwright.device import bench, compare, validate
from warpwright.errors import UserError
from warpwright.record import METHODS, STATUSES, read_json, write_json

__all__ = ["Imported", "import_results", "record_result"]

_ORIGIN = ("config", "variant", "source_sha", "cubin_sha", "arch", "toolchain")
#: What of a run stands at the top of the file beside status and figures.
_TOP = (
    *("method", "protocol", "source_sha", "cubin_sha", "arch", "toolchain"),
    *("gpu", "time", "diagnosis", "emulator", "judged_by"),
)


@dataclass
class Imported:
    """What an import did: (config, variant, method, status) per result merged, and each refusal in words."""

    merged: list[tuple[str, str, str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def import_results(path: Path, out_root: Path) -> Imported:
    """Merge a results file of a bundle's run.py into out/<config>/<variant>/.

    A result for another source or cubin than the local build's is refused, with the reason; a line that was cut off,
    as by a kill, and results without a verdict likewise. Raises UserError when the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error
    imported = Imported()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path.name}:{number}"
        try:
            result = json.loads(line)
            if result.get("kind") == "header":
                continue
            missing = [key for key in (*_ORIGIN, "method", "status", "protocol") if key not in result]
        except (ValueError, AttributeError):
            imported.refused.append(f"{where}: not a result (cut off?); run the bundle again for it")
            continue
        if missing:
            imported.refused.append(f"{where}: lacks {', '.join(missing)}; it was not written by a bundle's run.py")
            continue
        why = record_result(result, out_root)
        if why:
            imported.refused.append(f"{where}: {result['variant']}: {why}")
        else:
            imported.merged.append((result["config"], result["variant"], result["method"], result["status"]))
    return imported


def record_result(result: Mapping[str, Any], out_root: Path) -> str:
    """Merge one result into its variant's folder; returns "" or why it is refused."""
    method, name = result["method"], METHODS.get(result["method"])
    if method not in (validate.METHOD, bench.METHOD, compare.METHOD) or name is None:
        return f"method {method!r} is not known"
    if result["status"] not in STATUSES:
        return f"no verdict ({result['status']}): {result.get('diagnosis') or 'no reason given'}"
    if any(Path(result[key]).name != result[key] or result[key] in ("", "..") for key in ("config", "variant")):
        return f"config {result['config']!r} and variant {result['variant']!r} must be plain folder names"
    folder = out_root / result["config"] / result["variant"]
    build = read_json(folder / "build.json")
    if build is None:
        return f"there is no build of it below {out_root}; run `warpwright build` for {result['config']} first"
    for key, what in (("source_sha", "source"), ("cubin_sha", "cubin"), ("arch", "arch")):
        if build.get(key) != result[key]:
            had, now = str(result[key])[:12], str(build.get(key))[:12]
            return f"it is for {what} {had}, the local build has {now}; make and run a new bundle"
    known = read_json(folder / name) or {}
    runs = {digest(run): run for run in [*known.get("runs", ()), dict(result)]}
    ordered = sorted(runs.values(), key=lambda run: (run.get("time", ""), digest(run)))
    write_json(folder / name, {**_counting(ordered, build), "runs": ordered})
    return ""


def _counting(runs: list[dict[str, Any]], build: Mapping[str, Any]) -> dict[str, Any]:
    """What the runs say together about the present build; there is at least one run for it."""
    present = [run for run in runs if all(run[key] == build.get(key) for key in ("source_sha", "cubin_sha", "arch"))]
    newest = max(run["protocol"] for run in present)
    present = [run for run in present if run["protocol"] == newest]
    # A comparison is with one emulator: what an older one got wrong says nothing of this one.
    present = [run for run in present if run.get("emulator") == present[-1].get("emulator")]
    if present[0]["method"] == bench.METHOD:
        return _timings(present)
    counting = min(reversed(present), key=lambda run: STATUSES.index(run["status"]))
    return {**_top(counting), "figures": {**counting["figures"], "runs": len(present)}}


def _timings(present: Iterable[dict[str, Any]]) -> dict[str, Any]:
    # What was not alone first, so that it gives way; otherwise by time, as before.
    runs = sorted(present, key=lambda run: not run["figures"].get("shared"))
    latest = {json.dumps(run["problem"], sort_keys=True): run for run in runs}
    counting = min(reversed(list(latest.values())), key=lambda run: STATUSES.index(run["status"]))
    return {**_top(counting), "figures": {"problems": [run["figures"] for run in latest.values() if run["figures"]]}}


def _top(run: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": run["status"], **{key: run[key] for key in _TOP if key in run}}
