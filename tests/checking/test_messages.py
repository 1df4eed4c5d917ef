"""What of several findings is told first, and what is said of one that others explain."""

from __future__ import annotations

from warpwright.checking.launching import _messages
from warpwright.checking.report import Message, status_of
from warpwright.emulate import Finding
from warpwright.emulate.variant.places import Place, Places

PLACES = Places({line: Place(line, "text", file="k.py") for line in (1, 2, 3)})
EXIT = Finding("exit", "CTA (0, 0, 0) may end", (1,))
UNWRITTEN = Finding("uninitialised-read", "offset 0 is read but was never written", (2,))
AFTER = Finding("race", "write\n  is not ordered after the generic proxy read", (1, 2))
EARLY = Finding("race", "read\n  is not ordered after the async proxy write", (2, 1))
BOUNDS = Finding("global-bounds", "far away", (3,))


def told(*findings: Finding) -> list[tuple[str, tuple[str, ...]]]:
    found = {(each.kind, each.lines): (each, 1) for each in findings}
    return [(message.kind, message.lines) for message in _messages(found, PLACES)]


def test_the_cause_comes_before_what_follows_from_it() -> None:
    assert told(EXIT, UNWRITTEN, AFTER, EARLY) == [
        ("race", ("k.py:2", "k.py:1")),
        ("uninitialised-read", ("k.py:2",)),
        ("race", ("k.py:1", "k.py:2")),
        ("exit", ("k.py:1",)),
    ]
    assert told(EARLY, BOUNDS)[0][0] == "global-bounds"


def test_what_is_written_later_is_not_called_never_written() -> None:
    found = {(each.kind, each.lines): (each, 1) for each in (UNWRITTEN, AFTER)}
    text = next(m.text for m in _messages(found, PLACES) if m.kind == "uninitialised-read")
    assert "not yet written" in text
    assert "what writes it later:\n    k.py:1 (PTX line 1)" in text
    (alone,) = _messages({(UNWRITTEN.kind, UNWRITTEN.lines): (UNWRITTEN, 1)}, PLACES)
    assert "never written" in alone.text


def test_the_status_is_that_of_the_gravest() -> None:
    hang, crash, race = (Message(kind, "") for kind in ("deadlock", "global-bounds", "race"))
    assert status_of([race, crash]) == status_of([crash, race]) == "crash"
    assert status_of([crash, hang, race]) == "hang"
    assert (status_of([race]), status_of([])) == ("incorrect", "correct")
