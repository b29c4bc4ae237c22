"""From what a user names to a checked code object: files, members of containers, relocatable objects that get linked.

Owns the order: open, choose, link, load. It must not know any format.
"""

from __future__ import annotations

from pathlib import Path

from asmevo.backend.link import link
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.containers import Kind, Member, open_inputs, select, split_name


def load_input(source: Path | str | bytes, name: str | None = None, *, target: str | None = None) -> CodeObject:
    """Return the code object that a path, FILE!MEMBER or bytes called `name` lead to.

    `target` chooses among several members; for a lone object it is not looked at. Raises what `open_inputs`, `select`, `link`
    and `load` raise.
    """
    return load_member(choose_member(source, name, target=target))


def choose_member(source: Path | str | bytes, name: str | None = None, *, target: str | None = None) -> Member:
    """Return the member that `load_input` loads, with what stands beside it. Raises what `open_inputs` and `select` raise."""
    choice = None
    if not isinstance(source, bytes):
        source, choice = split_name(str(source))
        name = name or source
    name = name or "<bytes>"
    members = open_inputs(source, name)
    is_container = len(members) != 1 or members[0].path != name or members[0].kind is Kind.EMPTY_CONTAINER
    return select(members, name, choice, target) if is_container or choice is not None else members[0]


def load_member(member: Member) -> CodeObject:
    """Return the code object of a member, linked when it must be. Raises what `link` and `load` raise."""
    is_linked = member.kind is not Kind.RELOCATABLE
    return load(member.data if is_linked else link(member.data, member.path), member.path)


def usable_names(source: Path | str) -> tuple[str, ...]:
    """Return a name for `load_input` for each code object in a file or folder that can be used, in order."""
    return tuple(member.path for member in open_inputs(source) if member.is_usable)
