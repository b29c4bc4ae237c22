"""Commands between code objects and assembly text: disasm, asm."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asmevo.cli.common import Exit, guarded, load_object
from asmevo.diagnostics import Span, fail

Trace = Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (disasm, asm):
        app.command()(command)


def disasm(
    input: Annotated[Path, typer.Argument(help="Code object (.co, .hsaco), or FILE!MEMBER; - is standard input.")],
    kernel: Annotated[str | None, typer.Option("--kernel", help="Print only this kernel's code and descriptor.")] = None,
    comments: Annotated[
        bool, typer.Option("--comments/--no-comments", help="Say where control comes from, loops, arguments.")
    ] = True,
    offsets: Annotated[bool, typer.Option("--offsets", help="Add each instruction's offset in .text as a comment.")] = False,
    encoding: Annotated[bool, typer.Option("--encoding", help="Add each instruction's bytes as a comment.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write; standard output if not given.")] = None,
    traceback: Trace = False,
) -> None:
    """Print a code object as labelled assembly that `asmevo asm` makes the same object of.

    Example: asmevo disasm kernel.co -o kernel.s
    """

    def body() -> int:
        from asmevo.backend.listing import Options, print_object

        text = print_object(load_object(input), Options(kernel, comments, offsets, encoding))
        if output is None:
            sys.stdout.write(text)
        else:
            from asmevo.atomic import write_atomically

            write_atomically(output, text.encode())
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def asm(
    input: Annotated[Path, typer.Argument(help="Assembly text (.s); - is standard input.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the code object.")],
    like: Annotated[
        Path | None,
        typer.Option("--like", help="The object that the text is a listing of: only what was edited changes."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="The chip, when the text has no .amdgcn_target: gfx90a, gfx942, gfx950.")
    ] = None,
    traceback: Trace = False,
) -> None:
    """Build a code object: from the text alone, or with --like from an object and its edited listing.

    With --like every quirk of the object is kept, and an unedited listing gives the identical file.

    Example: asmevo disasm k.co -o k.s; $EDITOR k.s; asmevo asm k.s --like k.co -o new.co
    """

    def body() -> int:
        from asmevo.atomic import check_writable, write_atomically
        from asmevo.backend.build import assemble_like, assemble_new

        check_writable(output)
        text = _text(input)
        name = "<stdin>" if str(input) == "-" else str(input)
        if like is None:
            data = assemble_new(text, name, target=target)
        else:
            original = load_object(like, target)
            data = assemble_like(original, text, name)
        write_atomically(output, data)
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _text(path: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail("E0113", f"cannot read '{path}': {error}", Span(str(path)))
