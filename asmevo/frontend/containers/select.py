"""Choosing the one member to work on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from asmevo.diagnostics import Span, fail
from asmevo.frontend.containers.member import SEPARATOR, Member

_SHOWN = 12


def split_name(name: str) -> tuple[str, str | None]:
    """Return the file and the member that FILE!MEMBER names; no member when the whole name is a file or holds no "!"."""
    if SEPARATOR not in name or _exists(name):
        return name, None
    parts = name.split(SEPARATOR)
    for count in range(1, len(parts)):
        # The file's own name can hold the separator.
        file = SEPARATOR.join(parts[:count])
        if _exists(file):
            return file, SEPARATOR.join(parts[count:])
    return parts[0], SEPARATOR.join(parts[1:])


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        # A name that is too long or holds a zero byte is no file's.
        return False


def select(members: Sequence[Member], name: str, choice: str | None = None, target: str | None = None) -> Member:
    """Return the usable member that `choice` and `target` leave.

    `choice` is a member's path without the file's name, its end, its target or chip, or a pattern with * and ? over the path.
    Raises E0152 when nothing in the input can be used, E0153 when several are left, E0154 when none is.
    """
    usable = [member for member in members if member.is_usable]
    if not usable and len(members) == 1 and choice is None:
        fail("E0152", f"no code object: {members[0].refusal}", Span(name))
    if not usable:
        fail("E0152", "the input holds no code object that can be used", Span(name), _listing(members, name))
    left = [member for member in usable if target is None or target in (member.chip, member.target)]
    if choice is not None:
        left = _matching(left, name, choice)
    if len(left) == 1:
        return left[0]
    asked = " and ".join(filter(None, (f"'{choice}'" if choice else "", f"target {target}" if target else "")))
    if not left:
        refused = next((m for m in _matching(members, name, choice or target or "") if m.refusal), None)
        why = f": {refused.refusal}" if refused else ""
        fail("E0154", f"no member fits {asked}{why}", Span(name), _listing(members, name))
    what = f"the input holds {len(left)} code objects" + (f" that fit {asked}" if asked else "")
    example = _short(left[0], name)
    fail(
        "E0153",
        f"{what}: choose one",
        Span(name),
        f"write {shlex.quote(f'{name}{SEPARATOR}{example}')}; the choice is: {_listing(left, name)}",
    )


def _matching(members: Sequence[Member], name: str, choice: str) -> list[Member]:
    tests: tuple[Callable[[Member, str], bool], ...] = (
        lambda member, short: choice in (short, member.path),
        lambda member, short: short.endswith(SEPARATOR + choice),
        lambda member, short: choice in (member.target, member.chip),
        lambda member, short: fnmatchcase(short, choice),
    )
    for is_match in tests:
        if found := [member for member in members if is_match(member, _short(member, name))]:
            return found
    return []


def _short(member: Member, name: str) -> str:
    return member.path.removeprefix(name + SEPARATOR)


def _listing(members: Sequence[Member], name: str) -> str:
    lines = [f"{_short(m, name)}: {m.refusal or f'{m.kind.value} for {m.target}'}" for m in members[:_SHOWN]]
    if len(members) > _SHOWN:
        lines.append(f"and {len(members) - _SHOWN} more")
    return "; ".join(lines)
