"""Commands over many files: which files a folder holds, and work on them in parallel processes with a progress bar.

Owns the processes and the order of results; what is done with a file is the caller's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TypeVar

from asmevo.diagnostics import fail

SUFFIXES = (".co", ".hsaco")
_FILES_WORTH_A_PROCESS = 8

Result = TypeVar("Result")


def files_of(paths: Sequence[Path]) -> list[str]:
    """Return the code objects that paths name: files, members of containers, folders searched for them.

    Raises E0113 when there is none.
    """
    files = [str(file) for path in paths for file in (_objects_in(path) if os.path.isdir(path) else _members_of(path))]
    if not files:
        named = ", ".join(f"'{path}'" for path in paths)
        fail("E0113", f"no code object in {named}", help=f"looked for {' and '.join(SUFFIXES)}")
    return files


def _objects_in(folder: Path) -> list[Path]:
    from asmevo.frontend.containers.triton import objects_in

    return list(objects_in(folder))


def _members_of(path: Path) -> tuple[str, ...]:
    """Name what a file holds: itself, each usable member of a container; itself too when nothing can be used, to say why."""
    from asmevo.backend.inputs import usable_names

    return (str(path),) if path.suffix in SUFFIXES or not os.path.exists(path) else usable_names(path) or (str(path),)


def run_over(
    files: Sequence[str], work: Callable[[str], Result], *, title: str, jobs: int | None = None, quiet: bool = False
) -> list[Result]:
    """Return work(file) for each file, in their order.

    `work` must be picklable. `jobs` processes, by default one a core; few files are done in this process. Raises E0638 when a
    process is killed.
    """
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    hidden = quiet or not console.is_terminal
    count = min(jobs or len(os.sched_getaffinity(0)), -(-len(files) // _FILES_WORTH_A_PROCESS))
    done = enumerate(work(file) for file in files) if count == 1 else _in_processes(files, work, count)
    found = dict(track(done, title, total=len(files), console=console, transient=True, disable=hidden))
    return [found[index] for index in range(len(files))]


def _in_processes(files: Sequence[str], work: Callable[[str], Result], jobs: int) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) as files get done. An interrupt ends the processes at once: their work leaves nothing behind."""
    import multiprocessing
    import signal
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    # Not fork: the progress bar is a thread. A key stroke is for this process; the others are stopped from here.
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        # The longest first, so that no core is left alone with one at the end.
        order = sorted(range(len(files)), key=lambda index: -_size(files[index]))
        with _no_interrupt_for_children():
            places = {pool.submit(work, files[index]): index for index in order}
        for future in as_completed(places):
            yield places[future], future.result()
    except BrokenProcessPool:
        fail("E0638", "a process that checked files was killed", help="run again with --jobs 1 to see at which file")
    except (KeyboardInterrupt, GeneratorExit):
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _no_interrupt_for_children() -> Generator[None]:
    """Processes started here inherit that SIGINT is blocked: while they import, nothing of theirs could ignore it yet.

    It waits here too, or a child could be left without what it was to be told. Blocking alone does not do that: a thread of
    some library takes the signal, and Python raises in the main thread.
    """
    import signal

    came = False

    def note(_: int, __: FrameType | None) -> None:
        nonlocal came
        came = True

    handler = signal.signal(signal.SIGINT, note)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0  # Only the order of work depends on it; reading the file says what is wrong.
