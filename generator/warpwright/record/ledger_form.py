"""The form of a ledger's line, field by field: what must be there, what may not, and how each is spelled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warpwright.record.evidence import DECISIVE, METHODS, STATUSES, Evidence
from warpwright.record.reading import ON_DEVICE, read_evidence
from warpwright.record.strict import parse_json
from warpwright.record.wrong import SchemaError, shown

__all__ = ["LedgerError", "WrongLineError", "evidence_of", "objects_in"]

#: Methods whose verdict is some code's, which the line names.
JUDGED = ("emulated", "compared", "gpu-validated")
_TEXT, _SHA, _HEX = re.compile(r"\S(.*\S)?"), re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{12}")
_CODE = re.compile("[0-9a-f]{16}")
#: Fields that are text, and how each is spelled.
_SPELLED = {
    "label": _TEXT,
    "identity": _HEX,
    "method": _TEXT,
    "status": _TEXT,
    "source_sha": _SHA,
    "cubin_sha": _SHA,
    "arch": _TEXT,
    "diagnosis": re.compile(r"(?s)\S.*"),
    "judged_by": _CODE,
}
_ALWAYS = ("label", "identity", "method", "status", "source_sha", "arch", "toolchain", "figures")


class WrongLineError(Exception):
    """What is wrong with a line, in one sentence."""


class LedgerError(Exception):
    """A ledger file that cannot be believed; the text names file, line and what is wrong."""

    def __init__(self, path: Path, number: int, wrong: str) -> None:
        place = f"{path}:{number}" if number else str(path)
        super().__init__(
            f"{place}: not a line of evidence: {wrong}; restore the file with git, or remove it and renew it: "
            f"warpwright run {path.stem} && warpwright ledger {path.stem}"
        )


def objects_in(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file, one a line, with their numbers; none when there is no file.

    Each of their keys is there once, and every number is finite. Raises LedgerError.
    """
    try:
        text = (
            path.read_bytes().decode()
        )  # as it is: a carriage return alone, which hides what is before it, ends no line
    except FileNotFoundError:
        return
    except UnicodeDecodeError as error:
        raise LedgerError(path, 0, f"not UTF-8 ({error})") from None
    # Not splitlines(): JSON text may hold U+2028.
    for number, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            value: Any = parse_json(content)
        except ValueError as error:
            raise LedgerError(path, number, str(error)) from None
        if not isinstance(value, dict):
            raise LedgerError(path, number, f"a JSON object is expected, not {content[:40]}")
        yield number, value


def evidence_of(value: Mapping[str, Any]) -> Evidence:
    """Return what a line says, toolchain and GPU in full. Raises WrongLineError where it has not a line's form."""
    _check_fields(value)
    method, status = value["method"], value["status"]
    needed = {*_ALWAYS}
    needed |= {"protocol"} if method != "built" else set()
    needed |= {"gpu"} if method in ON_DEVICE else set()
    needed |= {"judged_by"} if method in JUDGED else set()
    needed |= {"cubin_sha"} if method != "built" or status in ("correct", "degraded") else set()
    missing = sorted(needed - value.keys())
    # A build that failed has no cubin; of what went well there is no diagnosis.
    allowed = needed | {"cubin_sha"} | ({"diagnosis"} if status != "correct" else set())
    surplus = sorted(value.keys() - allowed)
    if missing or surplus:
        lacks = [f"lacks {', '.join(missing)}"] if missing else []
        raise WrongLineError(
            f"a {method} line that says {status} "
            + " and ".join([*lacks, *([f"may not have {', '.join(surplus)}"] if surplus else [])])
        )
    try:
        return read_evidence(method, value, "ledger")
    except SchemaError as error:
        raise WrongLineError(str(error)) from None


def _check_fields(value: Mapping[str, Any]) -> None:
    """Hold each field that is there against its kind; `method` and `status` must be there and known."""
    for name, known in (("method", METHODS), ("status", STATUSES)):
        if not isinstance(value.get(name), str) or value[name] not in known:
            raise WrongLineError(f"{name} is {value.get(name)!r}; there are {', '.join(known)}")
    for name, spelling in _SPELLED.items():
        if name in value and not (isinstance(value[name], str) and spelling.fullmatch(value[name])):
            raise WrongLineError(f"{name} is {shown(value[name])}, and not {spelling.pattern}")
    for name in ("toolchain", "figures", "gpu"):
        if name in value and not (isinstance(value[name], dict) and value[name]):
            raise WrongLineError(f"{name} is {shown(value[name])}, and not an object with something in it")
    toolchain = value.get("toolchain", {})
    if "toolchain" in value and not all(isinstance(each, str) and each for each in toolchain.values()):
        raise WrongLineError("toolchain has versions that are no text")
    if "toolchain" in value and not set(DECISIVE) <= toolchain.keys():
        raise WrongLineError(f"toolchain lacks one of {', '.join(DECISIVE)}")
