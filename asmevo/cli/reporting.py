"""The command that tells what a search did: report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, write_output
from asmevo.cli.options import OutputFormat, Trace
from asmevo.diagnostics import fail, printable


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(report)


def report(
    lineage: Annotated[Path, typer.Argument(help="A lineage folder, as `optimize --lineage` makes it.")],
    output_file: Annotated[Path | None, typer.Option("-o", "--output", help="Write one HTML page there.")] = None,
    run: Annotated[int | None, typer.Option("--run", help="The run, by its number; by default the last one.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print it for the terminal.")] = False,
    edits: Annotated[bool, typer.Option("--edits", help="With --text: show each accepted edit side by side.")] = False,
    launch: Annotated[
        Path | None, typer.Option("--launch", help="Launch file, where the stored one refers to files that are gone.")
    ] = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Tell a search: the gain over the attempts, every accepted edit with its evidence, where the cycles went.

    The page is one file and works offline. Figures are modelled; nothing is judged again (see `lineage replay`).

    Example: asmevo report runs/softmax -o report.html
    """

    def body() -> int:
        from asmevo.report.story import telling
        from asmevo.report.story.page import page
        from asmevo.report.story.text import lines
        from asmevo.search.lineage import Lineage

        check_output(output_file)
        if edits and not text:
            fail("E0208", "--edits is for --text", help="the page has every edit")
        with Lineage.opened(lineage) as opened:
            runs = opened.runs()
            if not runs:
                fail("E0804", f"the lineage in '{printable(str(lineage))}' has no run")
            chosen = opened.run(run) if run is not None else runs[-1]
            told = telling.story(opened, chosen, launch)
        if output_file is not None:
            write_output(output_file, page(told).encode())
        if output is Format.json:
            print(json.dumps(telling.plain(told), indent=2))
        elif text or output_file is None:
            print("\n".join(lines(told, edits=edits)))
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))
