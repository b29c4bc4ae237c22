"""A progress bar on standard error, on a terminal only."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol


class Told(Protocol):
    """Takes how much is done, of how much, and a note shown beside."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Show it."""
        ...


@contextmanager
def progress(label: str, total: int, quiet: bool) -> Generator[Told]:
    """Show a bar while the block runs; its value is what to call on the way. Nothing is shown when `quiet` or no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(label, total=total, note="")

        def told(done: int, total: int, note: str = "") -> None:
            bar.update(task, completed=done, total=total, note=note)

        yield told
