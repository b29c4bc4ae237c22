"""Commands between code objects and assembly text: disasm, asm."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asmevo.cli.common import Exit, check_output, guarded, load_object, read_source, write_output
from asmevo.diagnostics import fail

if TYPE_CHECKING:
    from asmevo.frontend.codeobject import CodeObject

Trace = Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")]


class Emit(str, enum.Enum):
    """The language that disasm prints."""

    asm = "asm"
    mlir = "mlir"
    llvm_ir = "llvm-ir"


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (disasm, asm):
        app.command()(command)


def disasm(
    input: Annotated[Path, typer.Argument(help="Code object (.co, .hsaco), or FILE!MEMBER; - is standard input.")],
    kernel: Annotated[str | None, typer.Option("--kernel", help="Print only this kernel's code and descriptor.")] = None,
    emit: Annotated[
        Emit, typer.Option("--emit", help="asm; mlir: dataflow in SSA form; llvm-ir: what one lane does (both for reading).")
    ] = Emit.asm,
    block: Annotated[str | None, typer.Option("--block", help="With --emit llvm-ir: only the block of this label.")] = None,
    comments: Annotated[
        bool, typer.Option("--comments/--no-comments", help="Say where control comes from, loops, arguments.")
    ] = True,
    offsets: Annotated[bool, typer.Option("--offsets", help="Add each instruction's offset in .text as a comment.")] = False,
    encoding: Annotated[bool, typer.Option("--encoding", help="Add each instruction's bytes as a comment.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write; standard output if not given.")] = None,
    traceback: Trace = False,
) -> None:
    """Print a code object as labelled assembly that `asmevo asm` makes the same object of, or its kernels for other tools.

    Example: asmevo disasm kernel.co -o kernel.s; asmevo disasm kernel.co --emit mlir | mlir-opt --allow-unregistered-dialect
    """

    def body() -> int:
        from asmevo.backend.listing import Options, print_object

        obj = load_object(input)
        if block is not None and emit is not Emit.llvm_ir:
            fail("E0208", "--block is for --emit llvm-ir", help="leave it out")
        if emit is Emit.asm:
            text = print_object(obj, Options(kernel, comments, offsets, encoding))
        elif offsets or encoding:
            fail("E0208", "--offsets and --encoding are for --emit asm", help="leave them out")
        else:
            text = _emitted(obj, kernel, emit, block)
        write_output(output or Path("-"), text.encode())
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def asm(
    input: Annotated[Path, typer.Argument(help="Assembly text (.s); - is standard input.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the code object; - is standard output.")],
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
        from asmevo.backend.build import assemble_like, assemble_new

        check_output(output)
        text = read_source(input)
        name = "<stdin>" if str(input) == "-" else str(input)
        if like is None:
            data = assemble_new(text, name, target=target)
        else:
            original = load_object(like, target)
            data = assemble_like(original, text, name)
        write_output(output, data)
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _emitted(obj: CodeObject, kernel: str | None, language: Emit, block: str | None) -> str:
    from asmevo.frontend.recover import recover

    if block is not None:
        from asmevo.report.lift import print_block_as_llvm_ir

        return print_block_as_llvm_ir(recover(obj, kernel), block)
    kernels = [recover(obj, kernel)] if kernel else [recover(obj, entry.name) for entry in obj.kernels]
    if language is Emit.mlir:
        from asmevo.report.mlir import print_mlir

        return print_mlir(kernels)
    from asmevo.report.lift import print_llvm_ir

    return print_llvm_ir(kernels)
