"""Certificates of a changed kernel as files: one for each edited window, and their check by whatever solvers are here.

Owns the files and what a file may contain; what a certificate says is in `equivalence.certificates`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from asmevo.atomic import write_atomically
from asmevo.diagnostics import Span, fail, printable
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.verify.equivalence.certificates import LOGIC, ask, available, holds
from asmevo.verify.equivalence.edited import EditedWindow, edited_windows
from asmevo.verify.equivalence.kernel import KernelProver

SUFFIX = ".smt2"
_MOST_BYTES = 64 << 20
_COMMANDS = frozenset({"set-logic", "push", "pop", "declare-fun", "define-fun", "assert", "check-sat"})
_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r'\|[^|]*\||"[^"]*"|[()]|[^\s()|"]+')


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written, and the windows that have none: proved as part of a region, or not at all."""

    files: tuple[Path, ...]
    missing: tuple[str, ...]


def write_certificates(before: Kernel, after: Kernel, folder: Path, timeout_s: float) -> Written:
    """Prove each edited window once more and write its certificate into `folder`, which is made when there is none.

    Raises E0108 when a file cannot be written, E0522 where a certificate is there already: a folder is of one pair of kernels.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob(f"*{SUFFIX}")):
            fail("E0522", f"'{folder}' holds certificates already", Span(str(folder)), help="give an empty folder")
    except OSError as error:
        fail("E0108", f"cannot write '{folder}': {error.strerror}", Span(str(folder)))
    prover = KernelProver(before, after, timeout_s)
    files: list[Path] = []
    missing: list[str] = []
    for number, window in enumerate(edited_windows(before, after)):
        found = prover.certificate(window)
        if found is None:
            missing.append(str(window))
            continue
        label = re.sub(r"\W+", "_", window.label).strip("_")[:40]
        path = folder / f"{number:04}-{label}-{window.start}{SUFFIX}"
        notes = (f"kernel {before.name}, {before.target}", *found.notes, *_listing(window))
        write_atomically(path, replace(found, notes=notes).text.encode())
        files.append(path)
    return Written(tuple(files), tuple(missing))


def _listing(window: EditedWindow) -> Iterator[str]:
    for title, part in (("before", window.before), ("after", window.after)):
        yield f"{title} the edit:"
        yield from (f"  {print_instruction(i)}" for i in part)


@dataclass(frozen=True, slots=True)
class Checked:
    """What each solver said of one file's queries. `queries` 0: both sides of the window are the same terms."""

    path: Path
    queries: int
    answers: dict[str, list[str]]
    holds: bool

    @property
    def is_contradicted(self) -> bool:
        """Whether a solver has a model of a query: what the file claims is wrong."""
        return any("sat" in answers for answers in self.answers.values())

    def __str__(self) -> str:
        said = ", ".join(f"{solver} {_counted(answers)}" for solver, answers in self.answers.items())
        verdict = "holds" if self.holds else "is contradicted" if self.is_contradicted else "is not decided"
        return f"{printable(self.path.name)}: {verdict}: {self.queries} queries" + (f": {said}" if self.queries else "")


def _counted(answers: list[str]) -> str:
    return " ".join(f"{printable(answer)[:60]} x{answers.count(answer)}" for answer in dict.fromkeys(answers)) or "nothing"


def check_certificates(folder: Path, timeout_s: float) -> Iterator[Checked]:
    """Ask every solver that is here each query of the files in `folder`, `timeout_s` a query.

    Raises E0522 when the folder has no certificate, or a file is none.
    """
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    if not files:
        fail("E0522", f"no certificate in '{folder}'", Span(str(folder)), help=f"files end in {SUFFIX}")
    for path in files:
        text = _read(path)
        queries = text.count("(check-sat)")
        answers = {solver: ask(solver, text, timeout_s) if queries else [] for solver in available()}
        yield Checked(path, queries, answers, all(holds(said, text) for said in answers.values()))


def _read(path: Path) -> str:
    """Return a certificate without comments. E0522 for what is none: other commands could print the answers by themselves."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = _COMMENT.sub("", data.decode("utf-8"))
    except (OSError, ValueError) as error:
        fail("E0522", f"cannot read certificate '{path}': {error}", Span(str(path)))
    if len(data) > _MOST_BYTES:
        fail("E0522", f"certificate '{path}' has more than {_MOST_BYTES} bytes", Span(str(path)))
    for command in _commands(text):
        if command is None or command not in _COMMANDS:
            fail("E0522", f"'{path}' is no certificate: it has {printable(str(command))[:40]!r}", Span(str(path)))
    if f"(set-logic {LOGIC})" not in text:
        fail("E0522", f"'{path}' is no certificate: it is not in {LOGIC}", Span(str(path)))
    return text


def _commands(text: str) -> Iterator[str | None]:
    """The first word of each command; None for what stands outside of one."""
    depth = 0
    wanted = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if wanted:
            yield token
            wanted = False
        if token == "(":
            wanted = depth == 0
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                yield None
        elif depth == 0:
            yield None
    if depth:
        yield None
