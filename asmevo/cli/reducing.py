"""The command that makes a failing pipeline's input small: reduce."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asmevo.cli.common import Exit, check_output, guarded, load_kernel, load_source
from asmevo.cli.options import KernelName, Trace
from asmevo.diagnostics import DiagnosticError, fail, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asmevo.ir.kernel import Kernel
    from asmevo.passes.base import KernelPass

_LEVELS = ("static", "smt", "emulate")


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(reduce)


def reduce(
    input: Annotated[Path, typer.Argument(help="Code object or .s source.")],
    passes: Annotated[str, typer.Option("--passes", help="Pipeline that fails, or whose result is refused.")],
    output_file: Annotated[Path, typer.Option("--output", "-o", help="Where the small .s source is written.")],
    verify: Annotated[str, typer.Option("--verify", help="static, smt or emulate (needs a launch).")] = "smt",
    launch: Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML).")] = None,
    kernel: KernelName = None,
    attempts: Annotated[int, typer.Option("--attempts", help="Most kernels that are tried.", min=1)] = 1000,
    timeout_s: Annotated[float, typer.Option("--timeout-s", help="Solver budget of one window, seconds.", min=0.1)] = 5.0,
    traceback: Trace = False,
) -> None:
    """Find the least instructions with which a pipeline still fails in the same way, and write them as a source.

    Exits with 1, and writes nothing, when the pipeline does not fail.

    Example: asmevo reduce kernel.co --passes "my-pass" --verify smt -o small.s
    """

    def body() -> int:
        from asmevo.atomic import write_atomically
        from asmevo.passes.bisect import reproducer
        from asmevo.passes.pipeline import parse_pipeline
        from asmevo.passes.reduce import reduce_kernel

        if verify not in _LEVELS:
            fail("E0208", f"--verify {verify}: reduce knows {', '.join(_LEVELS)}")
        if verify == "emulate" and launch is None:
            fail(
                "E0208", "verify level 'emulate' needs a launch", help="give --launch FILE; `asmevo launch infer` proposes one"
            )
        check_output(output_file, may_be_stdout=False)
        before = load_source(input) if input.suffix == ".s" else load_kernel(input, kernel)[1]
        pipeline = parse_pipeline(passes)
        failure = _failure(pipeline, verify, launch, timeout_s)
        wanted = failure(before)
        if wanted is None:
            print("nothing to reduce: the pipeline does not fail, and its result is not refused", file=sys.stderr)
            return Exit.NO
        found = reduce_kernel(before, lambda candidate: failure(candidate) == wanted, most_trials=attempts)
        write_atomically(output_file, reproducer(found.kernel, pipeline, verify).encode())
        sizes = [sum(len(block.instructions) for block in k.blocks) for k in (before, found.kernel)]
        print(f"failure: {printable(wanted)}")
        print(f"{sizes[0]} instructions became {sizes[1]} in {found.trials} trials: {printable(str(output_file))}")
        if not found.is_minimal:
            print("the trials ran out: --attempts allows more", file=sys.stderr)
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _failure(
    pipeline: Sequence[KernelPass], level: str, launch: Path | None, timeout_s: float
) -> Callable[[Kernel], str | None]:
    """What tells how the pipeline fails on a kernel: by which error, or refused by which judge; None when it does not."""
    from asmevo.passes.manager import PassManager
    from asmevo.verify.judge import Judge, Level
    from asmevo.verify.launch.dispatches import load_launches
    from asmevo.verify.verdict import Outcome

    def failure(kernel: Kernel) -> str | None:
        try:
            result = PassManager(pipeline).run(kernel)
        except DiagnosticError as error:
            return f"error {error.diagnostics[0].code}"
        except Exception as error:
            # A pass is anybody's code: its bug is what is looked for here, and it is told by its type.
            return f"bug {type(error).__name__}"
        if not result.changed:
            return None
        dispatches = load_launches(launch, kernel) if launch is not None and level == "emulate" else ()
        verdict = Judge(Level(level), dispatches, timeout_s)(kernel, result.kernel)
        if verdict.outcome.is_success or (level == "static" and verdict.outcome is Outcome.UNKNOWN):
            return None
        return f"{verdict.outcome.value} by {verdict.basis[-1].method if verdict.basis else 'the judge'}"

    return failure
