"""The lineage's database: runs, attempts and accepted nodes, one transaction a fact.

Owns reading and writing rows, and what must be true of the folder after a crash: a node's artifact is on the disk before the
node is, so that nothing accepted is lost and nothing named is missing. It must not know how candidates are made or judged.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from asmevo.diagnostics import Span, fail
from asmevo.search.lineage import schema
from asmevo.search.lineage.artifacts import Artifacts
from asmevo.search.lineage.records import Node, Run, Tried

_DATABASE = "lineage.sqlite"
_BUSY_MS = 30_000
_RUN = "id, started, version, kernel, target, k0, launch, seed, settings, cycles"
_NODE = "id, run, parent, artifact, edit, proposer, description, verdict, basis, cycles, accepted, cell, counts"
_TRIED = (
    "number, proposer, description, status, cycles, reason, node, gate, place, proposal, artifact, generation, island, cost, "
    "prompt, notes"
)


class Lineage:
    """A lineage folder. Several processes may use one; each writes in transactions of its own."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self.artifacts = Artifacts(folder / "artifacts")
        self._connection = connection

    @classmethod
    def opened(cls, folder: Path, *, create: bool = False) -> Lineage:
        """Open a folder, with `create` a new one too.

        Raises E0801 when there is no lineage, the file is another program's, damaged, or of a newer version of AsmEvo.
        """
        path = folder / _DATABASE
        if not create and not path.is_file():
            fail("E0801", f"there is no lineage in '{folder}'", Span(str(path)), "make one: asmevo optimize --lineage FOLDER")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            fail("E0801", f"the lineage cannot be opened: {error}", Span(str(path)))
        try:
            _prepare(connection, path)
        except sqlite3.DatabaseError as error:
            connection.close()
            fail("E0801", f"the lineage cannot be used: {error}", Span(str(path)))
        return cls(folder, connection)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def __enter__(self) -> Lineage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- writing ----

    def begin(
        self, *, version: str, kernel: str, target: str, k0: bytes, launch: bytes, seed: int, settings: Mapping[str, Any],
        cycles: float,
    ) -> Run:  # fmt: skip
        """Start a run from an object and a launch file, both kept as artifacts."""
        row = (
            _now(),
            version,
            kernel,
            target,
            self.artifacts.put(k0),
            self.artifacts.put(launch),
            seed,
            _text(settings),
            cycles,
        )
        with self.together():
            marks = ", ".join("?" * len(row))
            cursor = self._connection.execute(f"INSERT INTO runs ({_RUN.removeprefix('id, ')}) VALUES ({marks})", row)
            number = cursor.lastrowid
        assert number is not None
        return self.run(number)

    def accept(
        self, run: int, tried: Tried, *, parent: int | None, data: bytes, edit: Mapping[str, Any], verdict: str,
        basis: Sequence[Mapping[str, Any]], cycles: float, state: Mapping[str, Any] | None = None, cell: Sequence[int] = (),
        counts: Mapping[str, int] | None = None,
    ) -> Node:  # fmt: skip
        """Keep an accepted candidate, the attempt that found it and where the search stands: all, or after a crash nothing."""
        with self.together():
            node = self.add_node(
                run, tried, parent=parent, data=data, edit=edit, verdict=verdict, basis=basis, cycles=cycles, cell=cell,
                counts=counts,
            )  # fmt: skip
            if state is not None:
                self.set_state(run, state)
        return self.node(node)

    def add_attempt(self, run: int, tried: Tried, state: Mapping[str, Any] | None = None) -> None:
        """Keep an attempt that was not accepted, and where the search stands."""
        with self.together():
            self._insert_attempt(run, tried, None)
            if state is not None:
                self.set_state(run, state)

    def add_node(
        self, run: int, tried: Tried, *, parent: int | None, data: bytes, edit: Mapping[str, Any], verdict: str,
        basis: Sequence[Mapping[str, Any]], cycles: float, cell: Sequence[int] = (), counts: Mapping[str, int] | None = None,
    ) -> int:  # fmt: skip
        """Keep an accepted candidate with its attempt; return its number. For use inside `together`."""
        artifact = self.artifacts.put(data)
        row = (
            run, parent, artifact, _text(edit), tried.proposer, tried.description, verdict, _text(list(basis)), cycles, _now(),
            _text(list(cell)), _text(dict(counts or {})),
        )  # fmt: skip
        with self.together():
            marks = ", ".join("?" * len(row))
            cursor = self._connection.execute(f"INSERT INTO nodes ({_NODE.removeprefix('id, ')}) VALUES ({marks})", row)
            node = cursor.lastrowid
            assert node is not None
            self._insert_attempt(run, tried, node)
        return node

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        """Keep where the search stands."""
        with self.together():
            self._connection.execute("UPDATE runs SET state = ? WHERE id = ?", (_text(state), run))

    def _insert_attempt(self, run: int, tried: Tried, node: int | None) -> None:
        row = (
            run, tried.number, tried.proposer, tried.description, tried.status, tried.cycles, tried.reason, node, tried.gate,
            tried.place, tried.proposal, tried.artifact, tried.generation, tried.island, _text(tried.cost), tried.prompt,
            _text(tried.notes),
        )  # fmt: skip
        marks = ", ".join("?" * len(row))
        self._connection.execute(f"INSERT INTO attempts (run, {_TRIED}) VALUES ({marks})", row)

    @contextmanager
    def together(self) -> Generator[None, None, None]:
        """Everything written inside is kept, or after an error or a crash nothing. May be nested: the outermost counts."""
        if self._connection.in_transaction:
            yield
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            fail("E0801", f"the lineage cannot be written: {error}", Span(str(self.folder / _DATABASE)))
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # An interrupt may come just behind the commit.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    # ---- reading ----

    def runs(self) -> tuple[Run, ...]:
        """Every run, oldest first."""
        return tuple(_run(row) for row in self._connection.execute(f"SELECT {_RUN} FROM runs ORDER BY id"))

    def run(self, number: int) -> Run:
        """One run. Raises E0804 when there is none of this number."""
        row = self._connection.execute(f"SELECT {_RUN} FROM runs WHERE id = ?", (number,)).fetchone()
        return _run(row) if row is not None else self._missing("run", number)

    def state(self, run: int) -> dict[str, Any]:
        """Where the search stood; empty when it saved nothing."""
        row = self._connection.execute("SELECT state FROM runs WHERE id = ?", (run,)).fetchone()
        return json.loads(row[0]) if row is not None else self._missing("run", run)

    def nodes(self, run: int | None = None) -> tuple[Node, ...]:
        """Accepted candidates of a run, or of all, in the order they were accepted."""
        chosen = "" if run is None else " WHERE run = ?"
        values = () if run is None else (run,)
        return tuple(_node(row) for row in self._connection.execute(f"SELECT {_NODE} FROM nodes{chosen} ORDER BY id", values))

    def node(self, number: int) -> Node:
        """One node. Raises E0804 when there is none of this number."""
        row = self._connection.execute(f"SELECT {_NODE} FROM nodes WHERE id = ?", (number,)).fetchone()
        return _node(row) if row is not None else self._missing("node", number)

    def best(self, run: int) -> Node | None:
        """The node with the fewest modelled cycles, the first of equals; None when nothing was accepted."""
        return min(self.nodes(run), key=lambda node: (node.cycles, node.id), default=None)

    def line(self, node: Node) -> tuple[Node, ...]:
        """The nodes from K0's first child down to this one."""
        found = [node]
        while found[-1].parent is not None:
            found.append(self.node(found[-1].parent))
        return tuple(reversed(found))

    def attempts(self, run: int) -> tuple[Tried, ...]:
        """What was tried, in order."""
        rows = self._connection.execute(f"SELECT {_TRIED} FROM attempts WHERE run = ? ORDER BY number", (run,))
        return tuple(map(_tried, rows))

    def earlier(self, run: Run, proposal: str) -> tuple[Tried, Node | None] | None:
        """The first judgement of the same kernel text in another run alike (object, launch, kernel, version and what judged).

        None when there is none. The node is there when it was accepted.
        """
        found = self._connection.execute(
            f"SELECT {', '.join('a.' + name for name in _TRIED.split(', '))}, r.settings FROM attempts a JOIN runs r "
            "ON a.run = r.id WHERE a.proposal = ? AND r.id < ? AND r.k0 = ? AND r.launch = ? AND r.kernel = ? "
            "AND r.version = ? AND a.gate IN ('static', 'solver', 'emulation') ORDER BY r.id, a.number",
            (proposal, run.id, run.k0, run.launch, run.kernel, run.version),
        )
        for *row, settings in found:
            if json.loads(settings).get("judge") == run.settings.get("judge") and row[3] != "duplicate":
                tried = _tried(row)
                return tried, None if tried.node is None else self.node(tried.node)
        return None

    def orphans(self) -> frozenset[str]:
        """Artifacts that no row names: what was stored just before a crash. They do no harm."""
        named = {digest for row in self._connection.execute("SELECT k0, launch FROM runs") for digest in row}
        named |= {row[0] for row in self._connection.execute("SELECT artifact FROM nodes")}
        named |= {row[0] for row in self._connection.execute("SELECT DISTINCT prompt FROM attempts")}
        return self.artifacts.digests() - named

    def _missing(self, what: str, number: int) -> Any:
        fail("E0804", f"the lineage has no {what} {number}", Span(str(self.folder)), "`asmevo lineage list` shows them")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != schema.APPLICATION_ID:
        fail("E0801", "the file is a database of another program", Span(str(path)))
    if version > schema.VERSION:
        what = f"the lineage is of version {version}, this AsmEvo knows {schema.VERSION}"
        fail("E0801", what, Span(str(path)), "use the newer AsmEvo that wrote it")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if version < schema.VERSION:
        schema.migrate(connection)


def _run(row: Sequence[Any]) -> Run:
    values = list(row)
    values[8] = json.loads(values[8])
    return Run(*values)


def _node(row: Sequence[Any]) -> Node:
    values = list(row)
    values[4], values[8], values[11] = json.loads(values[4]), tuple(json.loads(values[8])), tuple(json.loads(values[11]))
    values[12] = json.loads(values[12])
    return Node(*values)


def _tried(row: Sequence[Any]) -> Tried:
    values = list(row)
    values[13], values[15] = json.loads(values[13]), json.loads(values[15])
    return Tried(*values)


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
