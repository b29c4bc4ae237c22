"""Commands about what holds code objects: members, repack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, read_stdin
from asmevo.diagnostics import Span, fail, printable

if TYPE_CHECKING:
    from asmevo.frontend.codeobject import CodeObject
    from asmevo.frontend.containers import Member

Trace = Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (members, repack):
        app.command()(command)


def members(
    input: Annotated[
        Path,
        typer.Argument(help="Bundle, host program or library, archive, folder such as Triton's cache; - is standard input."),
    ],
    output: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.full,
    traceback: Trace = False,
) -> None:
    """List what a container holds, and the name by which every command takes each member.

    Exits with 1 when nothing in it can be used.

    Example: asmevo members libfoo.so
    """

    def body() -> int:
        from asmevo.frontend.containers import open_inputs

        found = open_inputs(read_stdin(), "<stdin>") if str(input) == "-" else open_inputs(input)
        if output is Format.json:
            print(json.dumps([_plain(member) for member in found], indent=2))
        else:
            for member in found:
                if member.is_usable or output is Format.full:
                    _show(member)
        return Exit.DONE if any(member.is_usable for member in found) else Exit.NO

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _plain(member: Member) -> dict[str, Any]:
    triton = member.triton
    return {
        "name": member.path,
        "target": member.target,
        "kind": member.kind.value,
        "bytes": len(member.data),
        "refusal": member.refusal,
        "note": member.note,
        "triton": None
        if triton is None
        else {"name": triton.name, "shared_bytes": triton.shared_bytes, "num_warps": triton.warp_count},
    }


def _show(member: Member) -> None:
    what = f"not usable: {member.refusal}" if member.refusal else f"{member.kind.value} for {member.target}"
    print(f"{printable(member.path)}: {printable(what)}, {len(member.data)} bytes")
    if member.triton:
        found = member.triton
        print(f"  Triton: {printable(found.name)}, {found.warp_count} waves, {found.shared_bytes} B of LDS given at launch")
    if member.note:
        print(f"  note: {printable(member.note)}")


def repack(
    member: Annotated[str, typer.Argument(help="The container and its member: FILE!MEMBER.")],
    new: Annotated[Path, typer.Argument(help="The code object that takes the member's place.")],
    output_file: Annotated[Path, typer.Option("--output", "-o", help="Where the new container is written.")],
    traceback: Trace = False,
) -> None:
    """Put a code object back into a copy of the container it came from.

    Its target and kernels must be the member's. All else stays; the container keeps its size where others depend on it, and
    what does not fit is refused.

    Example: asmevo repack 'libfoo.so!*gfx942' best.co -o libfoo.new.so
    """

    def body() -> int:
        from asmevo.atomic import write_atomically
        from asmevo.backend.inputs import load_input, load_member
        from asmevo.frontend.containers import Kind, open_inputs, replace_member, select, split_name
        from asmevo.frontend.containers.opener import read_file

        check_output(output_file, may_be_stdout=False)
        file, choice = split_name(member)
        container = read_file(Path(file))
        found = open_inputs(container, file)
        old = select(found, file, choice)
        if old.kind is not Kind.CODE_OBJECT:
            fail("E0158", "the member is a relocatable object: a linked one cannot take its place", Span(old.path))
        replacement = load_input(new)
        _check_same_face(load_member(old), replacement)
        data = replace_member(container, file, old, replacement.data)
        wanted = [replacement.data if m.path == old.path else m.data for m in found]
        assert [m.data for m in open_inputs(data, file)] == wanted, "another member changed"
        write_atomically(output_file, data)
        print(f"{printable(str(output_file))}: {printable(old.path)} replaced, {len(data)} bytes")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _check_same_face(old: CodeObject, new: CodeObject) -> None:
    """Refuse an object that the container's host program would not find its kernels in. Raises E0112, E0159."""
    if (new.target, new.xnack, new.sramecc) != (old.target, old.xnack, old.sramecc):
        what = f"the object is for {new.target} (xnack {new.xnack}, sramecc {new.sramecc}), the member for"
        fail("E0112", f"{what} {old.target} (xnack {old.xnack}, sramecc {old.sramecc})", Span(new.name))
    missing = sorted({k.symbol for k in old.kernels} - {k.symbol for k in new.kernels})
    if missing:
        fail("E0159", f"the object lacks the member's kernel '{missing[0]}'", Span(new.name))
