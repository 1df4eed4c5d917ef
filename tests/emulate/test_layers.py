"""The house of the emulator: packages in one order with no arrow upwards, and a core that names no unit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

import warpwright.emulate
from warpwright.emulate.translate.unit import Opcode, Unit, Units
from warpwright.emulate.units import UNITS
from warpwright.emulate.variant.verdict import STATUS_OF
from warpwright.record import STATUSES

PACKAGE = "warpwright.emulate"
HOME = Path(warpwright.emulate.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
#: Each may import those before it; "" is the package itself, which puts the core and the units together.
ORDER = ("numbers", "ptx", "machine", "translate", "units", "", "variant", "mutants")
CORE = ORDER[:4]
#: All that core and units use of the rest of the project: the limits of launches, a launch as it is captured, and the
#: statements of a PTX text.
OUTSIDE = ("warpwright.archs", "warpwright.build.launch_capture", "warpwright.build.ptx_values")
#: What the core may say of a unit's opcodes: that accesses have two proxies is its own, and reports name the fence.
NAMED = {"fence.proxy.async"}


def modules(*packages: str) -> Iterator[tuple[str, str]]:
    """(dotted name, source) of the emulator's modules, or of those of `packages` alone."""
    for path in sorted(HOME.rglob("*.py")):
        parts = path.relative_to(HOME).with_suffix("").parts
        inside = parts[0] if len(parts) > 1 else ""
        if not packages or inside in packages:
            yield ".".join([PACKAGE, *parts]), path.read_text(encoding="utf-8")


def imports(name: str, source: str) -> set[str]:
    """Dotted names that a module imports anywhere: inside functions, and for types alone, as well."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")[: -node.level] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return {each for each in found if each.startswith("warpwright")}


def package(name: str) -> str:
    """Which package of the emulator a dotted name is in."""
    first = name.removeprefix(PACKAGE).strip(".").partition(".")[0]
    return first if first in ORDER else ""


def upward(name: str, source: str) -> set[str]:
    floor = ORDER.index(package(name))
    inside = {each for each in imports(name, source) if each.startswith(PACKAGE)}
    return {each for each in inside if ORDER.index(package(each)) > floor}


def test_no_arrow_leads_upwards() -> None:
    found = {name: upward(name, source) for name, source in modules()}
    assert len(found) > 40
    assert {name: arrows for name, arrows in found.items() if arrows} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "from warpwright.emulate.units import UNITS",
        "from warpwright.emulate.units.tma import bulk",
        "from warpwright.emulate import run",
        "from ..units.barriers import mbarriers",
        "from .. import units",
        "import warpwright.emulate.variant.harness",
        "def late():\n    from warpwright.emulate.translate.unit import Unit",
        "if TYPE_CHECKING:\n    from warpwright.emulate.translate.writer import BlockWriter",
    ],
)
def test_an_arrow_upwards_is_seen(planted: str) -> None:
    assert upward(f"{PACKAGE}.machine.order", planted)


def test_what_core_and_units_use_of_the_project() -> None:
    used = {each for name, source in modules(*CORE, "units") for each in imports(name, source)}
    assert {each for each in used if not each.startswith((PACKAGE, *OUTSIDE))} == set()


def test_units_use_those_before_them() -> None:
    names = [unit.name for unit in UNITS]
    arrows = set()
    for name, source in modules("units"):
        own = name.removeprefix(f"{PACKAGE}.units.").partition(".")[0]
        for each in imports(name, source):
            other = each.removeprefix(f"{PACKAGE}.units.").partition(".")[0]
            if own in names and each.startswith(f"{PACKAGE}.units.") and other in names and other != own:
                arrows.add((own, other))
    assert ("tma", "barriers") in arrows
    assert {(own, other) for own, other in arrows if names.index(own) < names.index(other)} == set()


def named_opcodes(source: str) -> set[str]:
    """Opcodes of units that a text mentions; of one part, like `ld`, they are too short to tell."""
    long = [opcode for unit in UNITS for opcode in unit.opcodes if "." in opcode]
    words = ("wgmma", "tcgen05", "mbarrier", "cp.async", "setmaxnreg", "stmatrix", "ldmatrix")
    return {each for each in (*long, *words) if re.search(rf"(?<![\w.]){re.escape(each)}(?!\w)", source)}


def test_the_core_names_no_unit() -> None:
    found = {each for _, source in modules(*CORE) for each in named_opcodes(source)}
    assert found <= NAMED
    assert named_opcodes('if opcode.startswith("wgmma"):') == {"wgmma"}
    assert named_opcodes("SUSPENDING = ('bar.sync',)") == {"bar.sync"}


def test_a_unit_for_each_folder() -> None:
    folders = {path.name for path in (HOME / "units").iterdir() if (path / "__init__.py").is_file()}
    assert {unit.name for unit in UNITS} == folders


def test_every_wait_is_explained_and_every_status_known() -> None:
    given = {kind for _, source in modules("units") for kind in re.findall(r'\.block\(\w+, "([\w-]+)"', source)}
    assert given == set(UNITS.hooks.waits)
    assert {kind.status for kind in UNITS.kinds.values()} <= set(STATUSES)
    reported = {
        k for _, s in modules("units", "machine") for k in re.findall(r'(?:fault|report\.add)\(\s*"([\w-]+)"', s)
    }
    assert reported <= set(UNITS.kinds)
    assert len(reported) > 15


def test_two_units_cannot_have_one_name() -> None:
    first = next(iter(UNITS))
    with pytest.raises(ValueError, match=r"opcode .*elect\.sync.*two units bring it"):
        Units((first, replace(first, name="again")))
    with pytest.raises(ValueError, match="function"):
        Units((first, replace(first, name="again", opcodes={})))
    with pytest.raises(ValueError, match=r"opcode elect\.sync: two units bring it"):
        Units((first, Unit("again", {"elect.sync": first.opcodes["elect.sync"]}, ())))


def test_the_table_of_findings_is_complete() -> None:
    page = (DOCS / "emulator.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \|[^|]*\| `(\w+)` \|$", page, re.M)
    told = {kind: status for kinds, status in rows for kind in re.findall(r"`([\w-]+)`", kinds)}
    assert told == STATUS_OF


def test_the_page_on_instructions_names_what_there_is() -> None:
    page = (DOCS / "add_an_instruction.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:units|numbers|translate|machine)/[\w/]+(?:\.py)?)`", page)
    assert len(paths) > 12
    assert [path for path in paths if not (HOME / path).exists()] == []
    options = set(re.findall(r"^\| `(\w+)(?:=[^`]*)?` \|", page, re.M))
    assert options == {each.name for each in fields(Opcode)} - {"emit"}
    told = set(re.findall(r"^- `([\w`, ]+)`:", page, re.M))
    hooks = {name for names in told for name in names.replace("`", "").split(", ")}
    assert hooks == {each.name for each in fields(Unit)} - {"name", "opcodes", "calls"}
