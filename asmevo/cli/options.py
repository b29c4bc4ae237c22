"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asmevo.cli.common import Format

Input = Annotated[Path, typer.Argument(help="Code object (.co, .hsaco); - is standard input.")]
KernelName = Annotated[str | None, typer.Option("--kernel", help="Which kernel, when the object has several.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="What to print.")]
Trace = Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")]
