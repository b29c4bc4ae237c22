"""The bench of the passes: what it draws, keeps and shows, and what it must not let through."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from asmevo.passes import registry
from asmevo.passes.registry import available_passes
from bench.passes.__main__ import PRESETS, main
from bench.passes.measure import FAILED, UNCHANGED, Bench, LoopRow, Row
from bench.passes.sample import compiled, sampled
from bench.passes.store import append, read
from bench.passes.tables import dispatches, dropped, gains, is_fault, loops, verdicts

LOOP = LoopRow("L_0100", 200.0, 160.0, 100, 0.9)
ROW = Row(
    "mla/a", "mla", "O2", 400, "proved", "", 3000.0, 2000.0, 1.0, 2.0, None, {"one": (90.0, 60.0)}, (LOOP,), ("dce: slow",)
)
REFUSED = replace(ROW, kernel="mla/b", outcome="unknown", reason="no time", loops=(), dropped=())


@pytest.fixture
def folder(tmp_path):
    for family, count in (("pa", 3), ("mla", 5)):
        (tmp_path / family).mkdir()
        for n in range(count):
            (tmp_path / family / f"{n}.co").write_bytes(b"x" * (n + 1))
    (tmp_path / "flat_x.co").write_bytes(b"x" * 5000)
    return tmp_path


def test_the_sample_is_seeded_and_begins_with_every_family(folder):
    found = list(sampled(folder, 6, 1, 100))
    assert [s.name for s in found] == [s.name for s in sampled(folder, 6, 1, 100)]
    assert [s.family for s in found] == ["flat", "mla", "pa", "mla", "pa", "mla"]
    for family in ("mla", "pa"):
        sizes = [s.path.stat().st_size for s in found if s.family == family]
        assert sizes == sorted(sizes)
    assert {s.family for s in sampled(folder, 6, 1, 4)} == {"mla", "pa"}
    assert list(sampled(folder / "pa", 0, 1, 100)) == []


def test_the_compiled_kernels_have_launches():
    assert len(compiled()) >= 42
    assert all(subject.launch is not None and subject.is_compiled for subject in compiled())


def test_rows_are_kept_and_a_cut_line_is_left_out(tmp_path):
    path = tmp_path / "deep" / "rows.jsonl"
    append(path, REFUSED)
    append(path, replace(REFUSED, outcome="proved"))
    append(path, ROW)
    with path.open("a") as file:
        file.write('{"kernel": "x", "disp')
    assert list(read([path, tmp_path / "none"])) == [replace(REFUSED, outcome="proved"), ROW]


def test_what_may_not_be_used_counts_as_no_gain_and_is_told():
    text = "\n".join(verdicts([ROW, REFUSED]))
    assert "| `O2` | 2 | 1 | 1 | 0 | 1.225 | 1.000 |" in text
    assert "- mla/b, `O2`: unknown: no time" in text
    assert "| all production | 2 | 1.225 | 1.000 |" in "\n".join(gains([ROW, REFUSED], ["O2"]))
    assert "| mla/a | 1 | 1.500 to 1.500 |" in "\n".join(dispatches([ROW, REFUSED], ["O2"]))
    assert "| mla/b | 1 | 1.000 to 1.000 |" in "\n".join(dispatches([ROW, REFUSED], ["O2"]))
    assert list(dropped([ROW])) == ["- mla/a, `O2`: dce: slow"]
    assert [is_fault(row) for row in (ROW, REFUSED, replace(ROW, outcome=UNCHANGED), replace(ROW, outcome=FAILED))] == [
        False,
        True,
        False,
        True,
    ]


def test_kernels_without_every_pipeline_are_no_part_of_a_mean():
    assert "all production" not in "\n".join(gains([ROW], ["O2", "O3"]))


def test_loops_are_shown_with_their_bounds():
    text = "\n".join(loops([ROW], ["O2"]))
    assert "| mla/a L_0100 | 90% | 100 | 200 | 160 | +60 % |" in text
    assert "1 loops with a bound: 2.000 times it before, 1.600 times after." in text


def test_tables_alone_fail_with_a_fault_and_without_rows(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    assert main(["--table", str(path)]) == 1
    append(path, ROW)
    assert main(["--table", str(path)]) == 0
    append(path, REFUSED)
    assert main(["--table", str(path)]) == 1
    assert "no time" in capsys.readouterr().out


def test_a_pass_that_raises_is_a_failed_row(monkeypatch, tmp_path):
    @dataclass(frozen=True, slots=True)
    class Raises:
        name: ClassVar[str] = "raises"

        def run(self, kernel, ctx):
            raise ValueError("oh")

    known = available_passes() | {"raises": Raises}
    monkeypatch.setattr(registry, "available_passes", lambda: known)
    subject = next(s for s in compiled() if s.name == "shipped/vector_add")
    bench = Bench(replace(subject, launch=None), 5.0, tmp_path)
    found = bench.row("raises", again=False, whole=False)
    assert found.outcome == FAILED
    assert "ValueError: oh" in found.reason
    row = bench.row("O1", again=True, whole=True)
    assert not is_fault(row)
    assert row.again is False
    assert PRESETS == ("list-schedule", "O2", "O3")
