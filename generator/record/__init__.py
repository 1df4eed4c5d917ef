"""Records: one folder per variant, what each method proved, and the committed ledger. Knows no kernel family."""

from generator.record.atomic import read_json, write_json, write_text
from generator.record.current import note_current, obsolete_in
from generator.record.evidence import (
    LEVELS,
    METHODS,
    PLANNED,
    STATUSES,
    Evidence,
    Judgement,
    Subject,
    judge,
    stale_because,
)
from generator.record.folder import Folder, folders_in
from generator.record.ledger import LedgerError, LedgerLine, merge, read_ledger, write_ledger
from generator.record.manifest import rebuild

__all__ = [
    "LEVELS",
    "METHODS",
    "PLANNED",
    "STATUSES",
    "Evidence",
    "Folder",
    "Judgement",
    "LedgerError",
    "LedgerLine",
    "Subject",
    "folders_in",
    "judge",
    "merge",
    "note_current",
    "obsolete_in",
    "read_json",
    "read_ledger",
    "rebuild",
    "stale_because",
    "write_json",
    "write_ledger",
    "write_text",
]
