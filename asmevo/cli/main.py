"""The `asmevo` command: one module a group of commands, all imports of the library inside the commands (quick --help)."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from asmevo import __version__
from asmevo.cli import (
    about,
    analyze,
    containers,
    deploying,
    emulate,
    inspect,
    judging,
    launching,
    lineage,
    mcp,
    optimising,
    reducing,
    reporting,
    roundtrip,
    text,
    timing,
)
from asmevo.cli.common import Exit

app = typer.Typer(
    name="asmevo",
    help="Makes compiled AMD GPU kernels faster and shows that they still do the same.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 the answer is no; 2 bad input, option or tool; 3 undecided; 70 a bug; 130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"asmevo {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Makes compiled AMD GPU kernels faster and shows that they still do the same."""


for group in (
    inspect,
    containers,
    analyze,
    roundtrip,
    optimising,
    reducing,
    reporting,
    lineage,
    mcp,
    judging,
    deploying,
    emulate,
    timing,
    launching,
    about,
    text,
):
    group.register(app)


def main() -> None:
    """Entry point of the `asmevo` script."""
    try:
        code = app(standalone_mode=True)
    except BrokenPipeError:
        code = Exit.DONE
    sys.exit(code)


if __name__ == "__main__":
    main()
