"""Records: one folder per variant, what each method proved, and the committed ledger. Knows no kernel family."""

from warpwright.record.atomic import read_json, write_json, write_text
from warpwright.record.current import note_current, obsolete_in, origins
from warpwright.record.damage import damage, obstacles
from warpwright.record.evidence import (
    LEVELS,
    METHODS,
    PLANNED,
    STATUSES,
    Evidence,
    Judgement,
    Standard,
    Subject,
    judge,
    stale_because,
)
from warpwright.record.folder import Damage, Folder, adopt, by_identity, configurations_in, folders_in
from warpwright.record.ledger import LedgerError, LedgerLine, ledger_text, merge, read_ledger, write_ledger
from warpwright.record.manifest import rebuild

__all__ = [
    "LEVELS",
    "METHODS",
    "PLANNED",
    "STATUSES",
    "Damage",
    "Evidence",
    "Folder",
    "Judgement",
    "LedgerError",
    "LedgerLine",
    "Standard",
    "Subject",
    "adopt",
    "by_identity",
    "configurations_in",
    "damage",
    "folders_in",
    "judge",
    "ledger_text",
    "merge",
    "note_current",
    "obsolete_in",
    "obstacles",
    "origins",
    "read_json",
    "read_ledger",
    "rebuild",
    "stale_because",
    "write_json",
    "write_ledger",
    "write_text",
]
