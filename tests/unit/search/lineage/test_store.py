"""The lineage keeps what it is told, refuses what is not a lineage, and notices what was changed behind its back."""

import dataclasses
import sqlite3

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.search.lineage import Lineage, Tried, schema


def begin(lineage, **changes):
    values = {"version": "1", "kernel": "k", "target": "gfx942", "k0": b"object", "launch": b"launch", "seed": 7}
    return lineage.begin(**(values | changes), settings={"windows": 4}, cycles=100.0)


def tried(number, status="accepted"):
    return Tried(number, "reorder", "an order", status, 90.0, "", None)


def accept(lineage, run, number, *, parent=None, data=b"child", cycles=90.0):
    basis = [{"method": "z3", "outcome": "proved", "detail": "one window", "assumptions": []}]
    values = {"data": data, "edit": {"form": 1, "blocks": {}}, "verdict": "proved", "basis": basis, "cycles": cycles}
    return lineage.accept(run.id, tried(number), parent=parent, state={"round": number}, **values)


def code(caught):
    return caught.value.diagnostics[0].code


def test_what_was_kept_is_there_in_another_process(tmp_path):
    with Lineage.opened(tmp_path / "new", create=True) as lineage:
        run = begin(lineage)
        first = accept(lineage, run, 0)
        lineage.add_attempt(run.id, tried(1, "refuted"), {"round": 1})
        second = accept(lineage, run, 2, parent=first.id, data=b"grandchild", cycles=80.0)
    with Lineage.opened(tmp_path / "new") as lineage:
        assert lineage.runs() == (run,)
        assert lineage.nodes(run.id) == (first, second)
        assert [attempt.status for attempt in lineage.attempts(run.id)] == ["accepted", "refuted", "accepted"]
        assert [attempt.node for attempt in lineage.attempts(run.id)] == [first.id, None, second.id]
        assert lineage.state(run.id) == {"round": 2}
        assert lineage.best(run.id) == second
        assert lineage.line(second) == (first, second)
        assert lineage.artifacts.get(second.artifact) == b"grandchild"
        assert lineage.orphans() == frozenset()


def test_a_refused_row_leaves_nothing_of_its_transaction(tmp_path):
    with Lineage.opened(tmp_path, create=True) as lineage:
        run = begin(lineage)
        accept(lineage, run, 0)
        with pytest.raises(sqlite3.IntegrityError):
            accept(lineage, run, 0, data=b"other")
        assert len(lineage.nodes()) == 1
        assert len(lineage.orphans()) == 1


def test_an_artifact_that_was_changed_or_is_gone_is_not_given_out(tmp_path):
    with Lineage.opened(tmp_path, create=True) as lineage:
        digest = lineage.artifacts.put(b"data")
        (path,) = (tmp_path / "artifacts").glob(f"*/{digest}")
        path.write_bytes(b"Data")
        with pytest.raises(DiagnosticError) as caught:
            lineage.artifacts.get(digest)
        assert code(caught) == "E0802"
        path.unlink()
        for wrong in (digest, "../../etc/passwd", ""):
            with pytest.raises(DiagnosticError) as caught:
                lineage.artifacts.get(wrong)
            assert code(caught) == "E0802"


def test_the_same_artifact_is_stored_once(tmp_path):
    with Lineage.opened(tmp_path, create=True) as lineage:
        assert lineage.artifacts.put(b"data") == lineage.artifacts.put(b"data")
        assert len(lineage.artifacts.digests()) == 1


def test_reading_what_is_not_there_makes_no_folder(tmp_path):
    with pytest.raises(DiagnosticError) as caught:
        Lineage.opened(tmp_path / "none")
    assert code(caught) == "E0801"
    assert not (tmp_path / "none").exists()


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "lineage.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(DiagnosticError) as caught:
        Lineage.opened(tmp_path)
    assert code(caught) == "E0801"
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", [b"not a database at all, whatever its name says", bytes(8192)])
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / "lineage.sqlite").write_bytes(text)
    with pytest.raises(DiagnosticError) as caught:
        Lineage.opened(tmp_path, create=True)
    assert code(caught) == "E0801"


def test_a_newer_version_is_refused(tmp_path):
    Lineage.opened(tmp_path, create=True).close()
    with sqlite3.connect(tmp_path / "lineage.sqlite") as database:
        database.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    database.close()
    with pytest.raises(DiagnosticError) as caught:
        Lineage.opened(tmp_path)
    assert code(caught) == "E0801"
    assert "newer" in (caught.value.diagnostics[0].help or "")


@pytest.mark.parametrize("what", ["run", "node"])
def test_numbers_that_are_not_there(tmp_path, what):
    with Lineage.opened(tmp_path, create=True) as lineage, pytest.raises(DiagnosticError) as caught:
        getattr(lineage, what)(5)
    assert code(caught) == "E0804"


def test_a_lineage_of_the_first_version_is_brought_up_to_date(tmp_path):
    with sqlite3.connect(tmp_path / "lineage.sqlite", isolation_level=None) as old:
        for statement in schema._MIGRATIONS[0].split(";"):
            old.execute(statement)
        old.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        old.execute("PRAGMA user_version = 1")
        old.execute("INSERT INTO runs VALUES (1, 'then', '0', 'k', 'gfx942', 'k0', 'launch', 7, '{}', 100.0, '{}')")
        old.execute("INSERT INTO nodes VALUES (1, 1, NULL, 'digest', '{\"form\":1}', 'p', 'd', 'proved', '[]', 90.0, 'then')")
        old.execute("INSERT INTO attempts VALUES (1, 0, 'p', 'd', 'accepted', 90.0, '', 1)")
    old.close()
    with Lineage.opened(tmp_path) as lineage:
        (node,) = lineage.nodes()
        (attempt,) = lineage.attempts(1)
    assert (node.edit, node.cell) == ({"form": 1}, ())
    assert (attempt.node, attempt.gate, attempt.cost, attempt.prompt) == (1, "", {}, None)


def test_what_another_run_alike_found_out_is_known(tmp_path):
    with Lineage.opened(tmp_path, create=True) as lineage:
        first = begin(lineage)
        values = {"gate": "solver", "proposal": "text"}
        lineage.add_attempt(first.id, dataclasses.replace(tried(0, "refuted"), **values))
        lineage.add_attempt(first.id, dataclasses.replace(tried(1, "duplicate"), gate="novelty", proposal="again"))
        same, other = begin(lineage), begin(lineage, k0=b"other")
        assert lineage.earlier(first, "text") is None, "a run does not know itself by this"
        found = lineage.earlier(same, "text")
        assert found is not None
        assert (found[0].status, found[1]) == ("refuted", None)
        assert lineage.earlier(same, "again") is None
        assert lineage.earlier(same, "unheard") is None
        assert lineage.earlier(other, "text") is None


def test_what_is_written_together_is_kept_together(tmp_path):
    with Lineage.opened(tmp_path, create=True) as lineage:
        run = begin(lineage)

        def cut_off():
            with lineage.together():
                accept(lineage, run, 0)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            cut_off()
        assert lineage.nodes() == ()
        assert lineage.attempts(run.id) == ()
