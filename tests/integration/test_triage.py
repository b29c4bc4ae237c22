"""Every error on production kernels is listed with its evidence; the slow tests look for one that is not.

They take the corpus in parts, so that a long run that is stopped has shown something.
"""

import json
import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from support import EXAMPLES
from tools.done_log import logged, read_log
from tools.triage import Scanned, decode, main, objects, scan_all
from tools.triage_page import PAGE, evidence, page
from tools.triage_rows import read
from tools.triage_second import disagreements

CORPUS = os.environ.get("ASMEVO_CORPUS")
PARTS = 16
needs_corpus = pytest.mark.skipif(
    not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa)"
)


def differences(found, listed):
    """What was found and is not listed, and what is listed and was not found; in a stable order."""
    return sorted(found - listed, key=str), sorted(listed - found, key=str)


def test_every_listed_error_has_evidence_and_the_page_is_up_to_date():
    rows = read()
    assert rows
    assert all(evidence(row) for row in rows)
    assert PAGE.read_text(encoding="utf-8") == page(rows)


def test_a_kind_that_nobody_looked_into_is_refused():
    with pytest.raises(KeyError):
        evidence(replace(read()[0], code="E0502", rule="of no table"))


def test_a_row_that_is_missing_or_stale_is_a_difference():
    rows = set(read()[:5])
    one = min(rows, key=str)
    assert differences(rows, rows) == ([], [])
    assert differences(rows, rows - {one}) == ([one], [])
    assert differences(rows - {one}, rows) == ([], [one])
    changed = replace(one, pairs=one.pairs[1:])
    assert differences(rows, rows - {one} | {changed}) == ([one], [changed])


def test_a_scan_that_was_stopped_goes_on(tmp_path, capsys):
    folder = tmp_path / "gfx942"
    folder.mkdir()
    (folder / "one.co").write_bytes((EXAMPLES / "kernels" / "vector_add.co").read_bytes())
    (folder / "two.co").write_bytes(b"no object")
    (tmp_path / "gfx1250").mkdir()
    (tmp_path / "gfx1250" / "other.co").write_bytes(b"of no target that is supported")
    log, data = tmp_path / "log", tmp_path / "data"
    done = Scanned("gfx942/two.co", (), {"E0509 note": 3}, 7)
    assert list(logged(log, [done], [])) == []
    log.write_text(log.read_text() + '{"file":"gfx942/one.co","ro')
    assert read_log(log, decode) == {"gfx942/two.co": done}
    assert main(["--corpus", str(tmp_path), "--log", str(log), "--data", str(data), "--jobs", "1"]) == 0
    assert set(read_log(log, decode)) == {"gfx942/one.co", "gfx942/two.co"}
    assert [json.loads(line)["file"] for line in log.read_text().splitlines()] == ["gfx942/two.co", "gfx942/one.co"]
    assert data.read_text() == ""
    assert "2 objects" in capsys.readouterr().out


@pytest.mark.slow
@needs_corpus
@pytest.mark.parametrize("part", range(PARTS))
def test_no_error_is_missing_from_the_list_and_none_is_stale(part):
    assert CORPUS
    some = objects(Path(CORPUS))[part::PARTS]
    names = {name for name, _ in some}
    listed = {row for row in read() if row.file in names}
    found = {row for scanned in scan_all(some, os.cpu_count() or 1) for row in scanned.rows}
    assert differences(found, listed) == ([], [])


@pytest.mark.slow
@needs_corpus
def test_the_analyses_that_passes_use_agree_with_the_list():
    """But where the time to issue behind a matrix instruction is counted for what came after it: there they are less strict."""
    assert CORPUS
    rows = defaultdict(list)
    for row in read():
        rows[row.file].append(row)
    refused = set()
    for name, path in objects(Path(CORPUS)):
        if name in rows:
            refused |= {(row.code, row.rule) for row, _ in disagreements(recover(load_file(path)), rows[name])}
    assert refused <= {("E0502", "valu-matrix")}
