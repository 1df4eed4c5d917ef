"""From a stored result to evidence, and only from one that says everything that a result must say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpwright.record.evidence import Evidence, Subject
from warpwright.record.strict import check_depth
from warpwright.record.wrong import PARTIAL, SchemaError

__all__ = ["ON_DEVICE", "read_evidence"]

#: Methods whose results say which GPU they were obtained on.
ON_DEVICE = ("compared", "gpu-validated", "benchmarked")


def read_evidence(method: str, value: Mapping[str, Any], origin: str = "here") -> Evidence:
    """Read one result as its stage or the ledger wrote it. Raises SchemaError where it is none.

    Only a folder's build writes null for "nothing speaks against it", which is what `correct` means as far as a build
    goes; elsewhere a status is a word. Of build.json, which says much more than evidence needs, the rest is not judged.
    """
    # Here, since a schema takes a tenth of a second to import, and who only asks for help reads no result.
    from warpwright.record.forms import Built, Envelope
    from warpwright.record.schema import check_figures, check_form, check_gpu, check_protocol

    try:
        check_depth(value)
    except ValueError as error:
        raise SchemaError("the result", {}, str(error)) from None
    told = check_form(Envelope, value, "")
    stored_build = method == "built" and "figures" not in value
    figures: Any = value.get("figures")
    if stored_build:
        figures = {name: value[name] for name in Built.model_fields if name in value}
    status: Any = value.get("status")
    if stored_build and status is None and "status" in value:
        status = "correct"
    check_figures(method, "correct" if status == PARTIAL and method in ON_DEVICE else status, figures)
    check_protocol(method, value.get("protocol"))
    if method in ON_DEVICE:
        check_gpu(value.get("gpu"), told.arch)
    return Evidence(
        method=method,
        status=status,
        subject=Subject(told.source_sha, told.arch, dict(told.toolchain), told.cubin_sha or ""),
        figures=value if stored_build else figures,
        gpu=value.get("gpu") or {},
        origin=origin,
        diagnosis=told.diagnosis or "",
        protocol=value.get("protocol"),
        judged_by=value.get("judged_by") or value.get("emulator") or "",
        imported=value.get("imported") is True,
    )
