"""Fills a family's template with a plan. Jinja2 is strict and sandboxed; nothing of a YAML value is evaluated.

Text in a comment or a docstring goes through the filter `line`, or a table's cells do: whatever a label, an operation's
summary or a note holds, it ends neither, and nothing of it is ever executed.
"""

from __future__ import annotations

import functools
import importlib.metadata

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from warpwright.device.marks import STEPS, is_twin, layout_of
from warpwright.families import target
from warpwright.plan import tables
from warpwright.plan.types import Plan
from warpwright.render.kept import KeptTemplates
from warpwright.resources import cache_root, templates
from warpwright.text import source_line

__all__ = ["render"]


@functools.cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(templates()),
        undefined=StrictUndefined,
        autoescape=False,  # Python source, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=KeptTemplates(cache_root() / "templates"),
    )
    environment.filters["line"] = source_line
    environment.globals |= {name: getattr(tables, name) for name in tables.__all__}
    return environment


@functools.cache
def dsl_version() -> str:
    """Return the installed version of the DSL, which every rendered source names."""
    return f"nvidia-cutlass-dsl {importlib.metadata.version('nvidia-cutlass-dsl')}"


def render(plan: Plan) -> str:
    """Return the source of a legal plan's kernels: the same bytes whichever configuration asks for them.

    A twin's plan (device/marks.py) gives the source of an instrumented kernel, where the family has one.
    Raises ValueError for an illegal plan: there is nothing to render.
    """
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    family = target(plan.family, plan.arch)
    return (
        _environment()
        .get_template(family.template)
        .render(
            plan=plan,
            arch=family.arch,
            identity=plan.identity,
            toolchain=dsl_version(),
            instrument=is_twin(plan),
            marks=layout_of(plan),
            marks_line=STEPS,
            twin_parameters="notes: cute.Tensor, stamps: cute.Tensor",
            **family.words(plan),
        )
    )
