"""The database's tables, their version, and the way from an older version to this one.

Owns the SQL of the structure; reading and writing rows is the store's.
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x41736D45
"""`AsmE`: SQLite keeps it in the file's head, so that another program's database is told apart."""

_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL,
    version TEXT NOT NULL,
    kernel TEXT NOT NULL,
    target TEXT NOT NULL,
    k0 TEXT NOT NULL,
    launch TEXT NOT NULL,
    seed INTEGER NOT NULL,
    settings TEXT NOT NULL,
    cycles REAL NOT NULL,
    state TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs(id),
    parent INTEGER REFERENCES nodes(id),
    artifact TEXT NOT NULL,
    edit TEXT NOT NULL,
    proposer TEXT NOT NULL,
    description TEXT NOT NULL,
    verdict TEXT NOT NULL,
    basis TEXT NOT NULL,
    cycles REAL NOT NULL,
    accepted TEXT NOT NULL
);
CREATE TABLE attempts (
    run INTEGER NOT NULL REFERENCES runs(id),
    number INTEGER NOT NULL,
    proposer TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    cycles REAL,
    reason TEXT NOT NULL,
    node INTEGER REFERENCES nodes(id),
    PRIMARY KEY (run, number)
);
CREATE INDEX nodes_of_run ON nodes(run);
"""

_MORE_OF_ATTEMPTS = """
ALTER TABLE attempts ADD COLUMN gate TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN proposal TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN artifact TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN island INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN cost TEXT NOT NULL DEFAULT '{}';
ALTER TABLE attempts ADD COLUMN prompt TEXT;
ALTER TABLE attempts ADD COLUMN notes TEXT NOT NULL DEFAULT '{}';
ALTER TABLE nodes ADD COLUMN cell TEXT NOT NULL DEFAULT '[]';
CREATE INDEX attempts_by_proposal ON attempts(proposal)
"""

_COUNTS_OF_NODES = "ALTER TABLE nodes ADD COLUMN counts TEXT NOT NULL DEFAULT '{}'"

_MIGRATIONS: tuple[str, ...] = (_TABLES, _MORE_OF_ATTEMPTS, _COUNTS_OF_NODES)
"""The script at place n leads from version n to n + 1; version 0 is an empty file."""

VERSION = len(_MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an open database to VERSION, in one transaction; the caller has checked that it is ours and not newer."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for script in _MIGRATIONS[version:]:
            for statement in script.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
