"""Which passes there are: the ones shipped here and those of installed packages (entry-point group `asmevo.passes`)."""

from __future__ import annotations

import difflib
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from asmevo.diagnostics import Span, fail
from asmevo.passes.base import KernelPass
from asmevo.passes.presets import PRESETS

ENTRY_POINT_GROUP = "asmevo.passes"
_SHIPPED = (
    "waitcnt_relax:WaitcntRelax",
    "waitcnt_insert:WaitcntInsert",
    "nop_trim:NopTrim",
    "dce:Dce",
    "copy_elim:CopyElim",
    "unpack_f32:UnpackF32",
    "pack_f32:PackF32",
    "list_schedule:ListSchedule",
    "encode_compact:EncodeCompact",
    "loop_align:LoopAlign",
    "resource_trim:ResourceTrim",
    "waitcnt_hoist:WaitcntHoist",
    "load_hoist:LoadHoist",
    "unroll_prefetch:UnrollPrefetch",
)

P = TypeVar("P", bound=type[Any])


def register_pass(pass_type: P) -> P:
    """Checks that a class is a pass: a name in kebab case, a docstring with Rewrite and Legality, and a `run`."""
    name = getattr(pass_type, "name", None)
    if not isinstance(name, str) or name != name.lower() or "_" in name:
        raise TypeError(f"{getattr(pass_type, '__name__', pass_type)}: a pass needs a kebab-case class attribute `name`")
    document = pass_type.__doc__ or ""
    for section in ("Rewrite:", "Legality:", "Preserves:"):
        if section not in document:
            raise TypeError(f"{pass_type.__name__}: the docstring lacks the section '{section}'")
    if not callable(getattr(pass_type, "run", None)):
        raise TypeError(f"{pass_type.__name__}: a pass needs a `run` method")
    return pass_type


@lru_cache(maxsize=1)
def available_passes() -> dict[str, type[KernelPass]]:
    """Every pass by name, shipped ones first. Raises E0204 when a plugin takes a shipped name, is no pass or does not load."""
    found: dict[str, type[KernelPass]] = {}
    for target in _SHIPPED:
        module, _, attribute = target.partition(":")
        pass_type: type[KernelPass] = getattr(import_module(f"asmevo.passes.{module}"), attribute)
        found[pass_type.name] = pass_type
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name):
        if point.name in found or point.name in PRESETS:
            fail("E0204", f"pass plugin '{point.name}' from '{point.value}' takes a name that is not its own")
        try:
            plugin = register_pass(point.load())
        except Exception as error:
            # A plugin is someone else's code: whatever stops it from loading is theirs to mend, and not our bug.
            fail("E0204", f"pass plugin '{point.name}' from '{point.value}' cannot be used: {type(error).__name__}: {error}")
        if plugin.name != point.name:
            fail("E0204", f"pass plugin '{point.name}' from '{point.value}' takes a name that is not its own")
        found[point.name] = plugin
    return found


def find_pass(name: str, span: Span | None = None) -> type[KernelPass]:
    """The pass class called `name`. Raises E0203 with the nearest name when there is none."""
    passes = available_passes()
    if name in passes:
        return passes[name]
    near = difflib.get_close_matches(name, (*passes, *PRESETS), n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    fail("E0203", f"unknown pass '{name}'", span, f"{hint}`asmevo passes` lists all")
