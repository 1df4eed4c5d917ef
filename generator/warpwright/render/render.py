"""Fills a family's template with a plan. Jinja2 is strict and sandboxed; nothing of a YAML value is evaluated."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from warpwright.plan import identity, tables
from warpwright.plan.types import Plan
from warpwright.resources import templates

__all__ = ["render"]


@functools.cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(templates()),
        undefined=StrictUndefined,
        autoescape=False,  # Python source, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@functools.cache
def dsl_version() -> str:
    """Return the installed version of the DSL, which every rendered source names."""
    return f"nvidia-cutlass-dsl {importlib.metadata.version('nvidia-cutlass-dsl')}"


def render(plan: Plan, config: str) -> str:
    """Return the source of a legal plan's kernel; `config` is the file name that its header gives.

    Raises ValueError for an illegal plan: there is nothing to render.
    """
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    family: Callable[[Plan], dict[str, Any]] = importlib.import_module(
        f"warpwright.render.{plan.family}_{plan.arch}"
    ).context
    text = (
        _environment()
        .get_template(f"{plan.family}/{plan.arch}/kernel.py.j2")
        .render(
            plan=plan,
            config=config,
            identity=identity(plan),
            toolchain=dsl_version(),
            roles_table=tables.roles_table(plan),
            memory_table=tables.memory_table(plan),
            barrier_table=tables.barrier_table(plan),
            constants_block=tables.constants_block(plan),
            **family(plan),
        )
    )
    return text
