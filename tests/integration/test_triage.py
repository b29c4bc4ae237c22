"""Every error on production kernels is listed with its evidence; the slow test looks for one that is not."""

import os
from pathlib import Path

import pytest

from tools.triage import objects, scan_all
from tools.triage_page import PAGE, evidence, page
from tools.triage_rows import read

CORPUS = os.environ.get("ASMEVO_CORPUS")


def test_every_listed_error_has_evidence_and_the_page_is_up_to_date():
    rows = read()
    assert rows
    assert all(evidence(row) for row in rows)
    assert PAGE.read_text(encoding="utf-8") == page(rows)


def test_a_kind_that_nobody_looked_into_is_refused():
    from dataclasses import replace

    with pytest.raises(KeyError):
        evidence(replace(read()[0], code="E0502", rule="of no table"))


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa)")
def test_no_error_is_missing_from_the_list_and_none_is_stale():
    assert CORPUS
    names = {name for name, _ in objects(Path(CORPUS))}
    listed = {row for row in read() if row.file in names}
    found = {row for rows, _ in scan_all(Path(CORPUS), os.cpu_count() or 1) for row in rows}
    assert sorted(found - listed, key=str) == []
    assert sorted(listed - found, key=str) == []
