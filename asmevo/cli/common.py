"""What every command shares: exit codes, loading, showing verdicts, and turning exceptions into messages."""

from __future__ import annotations

import contextlib
import enum
import errno
import json
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span, fail, printable

if TYPE_CHECKING:
    from asmevo.frontend.codeobject import CodeObject
    from asmevo.ir.kernel import Kernel
    from asmevo.verify.verdict import Verdict


class Exit(enum.IntEnum):
    """Exit codes of all commands."""

    DONE = 0
    NO = 1
    BAD_INPUT = 2
    UNDECIDED = 3
    BUG = 70


class Format(str, enum.Enum):
    """What is printed on standard output."""

    full = "full"
    concise = "concise"
    json = "json"


def guarded(body: Callable[[], int], *, show_traceback: bool = False) -> int:
    """Runs a command and maps what it raises to an exit code; nothing but our own bugs ends with a traceback offered."""
    try:
        return body()
    except DiagnosticError as error:
        for diagnostic in error.diagnostics:
            print(diagnostic.render(), file=sys.stderr)
        return Exit.BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return Exit.DONE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return _own_bug(error, show_traceback)
        print(f"error[E0108]: cannot write: {error.strerror}", file=sys.stderr)
        return Exit.BAD_INPUT
    except Exception as error:
        return _own_bug(error, show_traceback)


def _own_bug(error: Exception, show_traceback: bool) -> int:
    if show_traceback:
        traceback.print_exc()
    report = _write_reproducer()
    print(f"internal error: {type(error).__name__}: {printable(str(error))[:400]}", file=sys.stderr)
    print(f"this is a bug in asmevo; what is needed to repeat it: {report}", file=sys.stderr)
    print("run again with --traceback for details", file=sys.stderr)
    return Exit.BUG


def _write_reproducer() -> str:
    from asmevo import __version__

    with tempfile.NamedTemporaryFile("w", prefix="asmevo-bug-", suffix=".txt", delete=False) as file:
        file.write(f"asmevo {__version__}, Python {sys.version}\narguments: {sys.argv[1:]!r}\n\n{traceback.format_exc()}")
    return file.name


def load_object(path: Path, target: str | None = None) -> CodeObject:
    """The code object in a file, or in the container FILE!MEMBER; `-` is standard input. `target` chooses among several."""
    from asmevo.backend.inputs import load_input

    if str(path) == "-":
        return load_input(read_stdin(), "<stdin>", target=target)
    return load_input(path, target=target)


def read_stdin() -> bytes:
    """Standard input, up to one byte more than a file may have: so much is refused like a file that is too large."""
    from asmevo.frontend.containers.member import MAX_FILE_BYTES

    return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)


def load_kernel(path: Path, name: str | None, target: str | None = None) -> tuple[CodeObject, Kernel]:
    """The object and its kernel as IR. Raises E0112 when `target` is given and the object is for another chip."""
    from asmevo.frontend.recover import recover

    code_object = load_object(path, target)
    if target and code_object.target != target:
        fail("E0112", f"the object is for {code_object.target}, not {target}", Span(str(path)))
    return code_object, recover(code_object, name)


def check_output(path: Path | None, *, may_be_stdout: bool = True) -> None:
    """Refuse, before long work, an output that cannot be written.

    Raises E0108; E0208 for `-`, which is standard output, where that is taken by the result's text.
    """
    from asmevo.atomic import check_writable

    if path is None or str(path) == "-":
        if path is not None and not may_be_stdout:
            fail("E0208", "the result cannot go to standard output, which has the report", help="give a file")
        return
    check_writable(path)


def write_output(path: Path, data: bytes) -> None:
    """Write a result whole or not at all; `-` is standard output. Raises E0108."""
    from asmevo.atomic import write_atomically

    if str(path) != "-":
        write_atomically(path, data)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def read_source(path: Path) -> str:
    """An assembly text; `-` is standard input. Raises E0113 for what cannot be read or is not UTF-8, E0135 beyond the limit."""
    from asmevo.frontend.assembly.lines import SIZE_LIMIT

    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        # A device or a pipe need not end.
        with contextlib.nullcontext(sys.stdin.buffer) if name == "<stdin>" else path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        fail("E0113", f"cannot read {name!r}: {reason}", Span(name))
    if len(data) > SIZE_LIMIT:
        fail("E0135", f"the source has more than {SIZE_LIMIT} bytes", Span(name))
    return text


def load_source(path: Path) -> Kernel:
    """The kernel of an assembly source (.s), without the padding behind its code that a listing shows.

    Raises E03xx, at the instruction's line, for what the encoding cannot hold.
    """
    from asmevo.frontend.padding import without_padding
    from asmevo.frontend.parser import parse_source
    from asmevo.ir.verifier import verify_kernel

    kernel = without_padding(parse_source(read_source(path), str(path)))
    if findings := verify_kernel(kernel):
        raise DiagnosticError(*(Diagnostic(f.code, f.message, f.instruction.span or Span(str(path))) for f in findings))
    return kernel


def verdict_exit(verdict: Verdict) -> Exit:
    """0 for success, 1 refuted, 2 error, 3 undecided."""
    from asmevo.verify.verdict import Outcome

    if verdict.outcome.is_success:
        return Exit.DONE
    return {Outcome.REFUTED: Exit.NO, Outcome.ERROR: Exit.BAD_INPUT}.get(verdict.outcome, Exit.UNDECIDED)


def verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain data for JSON."""
    example = verdict.counterexample
    return {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason,
        "basis": verdict.basis_data(),
        "counterexample": None
        if example is None
        else {"where": example.where, "before": example.before, "after": example.after, "detail": example.detail},
    }


def show_verdict(verdict: Verdict, output: Format) -> None:
    """Prints a verdict with its basis, or as JSON."""
    if output is Format.json:
        print(json.dumps(verdict_dict(verdict), indent=2))
        return
    print(f"verdict: {verdict.outcome.value}" + (f" ({printable(verdict.reason)})" if verdict.reason else ""))
    if output is Format.concise:
        return
    for basis in verdict.basis:
        print(f"  {basis.method}: {basis.outcome.value}: {printable(basis.detail)}")
        for assumption in basis.assumptions:
            print(f"    assumes {printable(assumption)}")
    if verdict.counterexample:
        example = verdict.counterexample
        print(f"  counterexample at {printable(example.where)}: before {example.before}, after {example.after}")
        if example.detail:
            print(f"    {printable(example.detail)}")
