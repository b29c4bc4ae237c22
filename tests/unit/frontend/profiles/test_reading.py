"""Profiles in all their forms, what is tolerated in them, and what is refused."""

import csv
import json
import os

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.profiles import counts
from asmevo.frontend.profiles.counts import Counts, Method
from asmevo.frontend.profiles.reading import read_profile
from profiles import HOST_TRAP, STATISTICS, STOCHASTIC, sample_row, sample_tree, table, trace_json

ROW = ["s_nop 0", 0, 1, "", 2, 256, 3, 30, 12, 5]


@pytest.fixture
def read(tmp_path):
    def read(text, name="file"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_profile(path)

    return read


def rows(profile):
    return [(row.group, row.address, row.text, row.counts) for row in profile.rows]


def refusal(call, *arguments):
    with pytest.raises(DiagnosticError) as caught:
        call(*arguments)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0165"
    return diagnostic.message


def test_host_trap_samples(read):
    lines = [sample_row("s_nop 0", 7, stochastic=False), sample_row("s_nop 0", 7, stochastic=False)]
    lines += [sample_row("s_nop 0", 8, stochastic=False), sample_row("", 8, stochastic=False)]
    found = read(table(HOST_TRAP, lines))
    assert (found.method, found.undecoded) == (Method.HOST_TRAP, 1)
    assert rows(found) == [(7, None, "s_nop 0", Counts(samples=2)), (8, None, "s_nop 0", Counts(samples=1))]


def test_stochastic_samples(read):
    lines = [sample_row("s_nop 0"), sample_row("s_nop 0", reason="WAITCNT"), sample_row("s_nop 0", reason="ARBITER_NOT_WIN")]
    found = read(table(STOCHASTIC, lines))
    assert found.method is Method.STOCHASTIC
    reasons = {"waitcnt": 1, "arbiter not win": 1}
    assert rows(found) == [(1, None, "s_nop 0", Counts(samples=3, stalled=2, reasons=reasons))]


def test_columns_that_nobody_knows_in_any_order(read):
    header = ("New", *reversed(STOCHASTIC), "More")
    found = read(table(header, [["x", *reversed(sample_row("s_nop 0", reason="SLEEP_WAIT")), 5]]))
    assert rows(found) == [(1, None, "s_nop 0", Counts(samples=1, stalled=1, reasons={"sleep wait": 1}))]


@pytest.mark.parametrize("issued", ["False", "false", "0", 0])
def test_however_a_stall_is_spelt(read, issued):
    line = sample_row("s_nop 0", reason="WAITCNT")
    line[6] = issued
    assert read(table(STOCHASTIC, [line])).rows[0].counts.stalled == 1


def test_lines_that_are_short_or_wrong_are_counted(read):
    text = table(STOCHASTIC, [sample_row("s_nop 0")]) + '1,2\n1,2,x,"s_nop 0"\n' + f'1,2,1,"{"y" * 1025}"\n\n'
    found = read(text)
    assert (len(found.rows), found.undecoded) == (1, 3)


@pytest.mark.parametrize(("key", "method"), [("host_trap", Method.HOST_TRAP), ("stochastic", Method.STOCHASTIC)])
def test_samples_as_json(read, key, method):
    tree = sample_tree(
        [(1, 64, None, 0), (1, 64, "WAITCNT", 0), (2, 68, None, 1), (0, 9, None, -1), (1, 72, None, 5)], ["a", "b"], key
    )
    found = read(json.dumps(tree, indent=1))
    stalled = {"stalled": 1, "reasons": {"waitcnt": 1}} if key == "stochastic" else {}
    assert (found.method, found.undecoded) == (method, 1)
    assert rows(found) == [
        (1, 64, "a", Counts(samples=2, **stalled)),
        (2, 68, "b", Counts(samples=1)),
        (1, 72, "", Counts(samples=1)),
    ]


def test_samples_of_several_processes_have_their_own_texts(read):
    first, second = (sample_tree([(1, 64, None, 0)], [text])["rocprofiler-sdk-tool"][0] for text in "ab")
    assert [row.text for row in read(json.dumps([first, second])).rows] == ["a", "b"]
    del second["strings"]
    assert [row.text for row in read(json.dumps([first, second])).rows] == [""]


def test_entries_that_are_none_are_counted(read):
    tree = sample_tree([(1, 64, None, 0)], ["a", 5])
    records = tree["rocprofiler-sdk-tool"][0]["buffer_records"]["pc_sample_stochastic"]
    records += [1, [], {}, {"record": 5}, {"record": {"pc": {"code_object_id": "x", "code_object_offset": -1}}}]
    found = read(json.dumps(tree))
    assert (len(found.rows), found.undecoded) == (1, 5)


def test_a_trace_by_its_folder_its_file_and_its_statistics(read, tmp_path):
    rows_given = [["; k", 0, 0, "k()", 2, 256, 0, 0, 0, 0], ROW, [*ROW[:5], 260, 1, 10, 0, 0], ["s_nop 0", 0, 2], "x"]
    expected = [
        (2, 256, "s_nop 0", Counts(hits=3, latency_cycles=30, stall_cycles=12, idle_cycles=5)),
        (2, 260, "s_nop 0", Counts(hits=1, latency_cycles=10)),
    ]
    folder = tmp_path / "ui_output_agent_1_dispatch_2"
    folder.mkdir()
    (folder / "code.json").write_text(trace_json(rows_given))
    (folder / "filenames.json").write_text("{}")
    for path in (folder / "code.json", folder, tmp_path):
        found = read_profile(path)
        assert (found.method, found.undecoded) == (Method.THREAD_TRACE, 2)
        assert rows(found) == expected
    lines = [[r[4], r[5], r[0], *r[6:], ""] for r in rows_given[:3]]
    assert rows(read(table(STATISTICS, lines))) == expected
    assert rows(read(table(("Codeobj", *STATISTICS[1:]), lines))) == expected


def test_a_traces_columns_are_found_by_name(read):
    header = "Vaddr, New, Idle, Stall, Latency, Hit, Codeobj, ISA"
    found = read(json.dumps({"code": [[256, "?", 5, 12, 30, 3, 2, "s_nop 0"]], "header": header}))
    assert rows(found) == [(2, 256, "s_nop 0", Counts(hits=3, latency_cycles=30, stall_cycles=12, idle_cycles=5))]
    assert rows(read(json.dumps({"code": [ROW]}))) == rows(found)


def test_one_of_several_traces_must_be_named(tmp_path):
    for name in ("ui_output_agent_1_dispatch_1", "ui_output_agent_1_dispatch_2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.json").write_text(trace_json([ROW]))
    assert refusal(read_profile, tmp_path) == "the folder has 2 traces"
    assert refusal(read_profile, tmp_path / "ui_output_agent_1_dispatch_3") == "no such file"
    (tmp_path / "none").mkdir()
    assert refusal(read_profile, tmp_path / "none") == "no code.json is in the folder"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "neither PC samples"),
        ("a,b\n1,2\n", "neither PC samples"),
        (b"\x7fELF\x02\x01" + bytes(64), "neither PC samples"),
        (b"\xff\xfe" * 100, "neither PC samples"),
        ("x" * 200_000, "neither PC samples"),
        ("{}", "neither PC samples"),
        ("[]", "neither PC samples"),
        ("{", "not valid JSON"),
        ("[" * 200_000, "nests too deep"),
        (trace_json(None), "the trace has no instructions"),
        (trace_json([]), "names no instruction"),
        (trace_json([["; k", 0, 0, "", 2, 0, 0, 0, 0, 0], 5]), "names no instruction, and 1 entries without a place"),
        (json.dumps({"code": [ROW], "header": "ISA, Vaddr"}), "no column for group, hits, latency, stall, idle"),
        (json.dumps({"code": [ROW], "header": 5}), "the trace has no instructions"),
        ('{"pc_sample_stochastic": []}', "names no instruction"),
        ('{"pc_sample_stochastic": [], "pc_sample_host_trap": []}', "the arrays of samples are empty"),
        ('{"pc_sample_stochastic": [{}', "an array has no end"),
        ('{"pc_sample_stochastic": [{]', "not valid JSON"),
        ('{"pc_sample_stochastic": [' + "[" * 200_000, "nests too deep"),
        (table(STOCHASTIC, []), "names no instruction"),
        (table(STOCHASTIC[:3], [[1, 2, 3]]), "no column 'Instruction'"),
        (table(STOCHASTIC, []) + '1,2,3,"' + "x" * 200_000, "not a table: field larger"),
    ],
)
def test_what_is_no_profile_is_refused(read, text, told):
    assert told in refusal(read, text)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal(read_profile, tmp_path / "pipe") == "no regular file"


def test_too_many_places_are_refused(read, monkeypatch):
    monkeypatch.setattr(counts, "MAX_ROWS", 3)
    lines = [sample_row(f"s_nop {n}") for n in range(4)]
    assert refusal(read, table(STOCHASTIC, lines)) == "more than 3 places"


def test_numbers_that_are_none_are_counted(read):
    wrong = [[*ROW[:6], bad, 1, 1, 1] for bad in (-1, 1 << 64, "x", "\uff19", None, 1.5, [])]
    assert read(trace_json([ROW, *wrong])).undecoded == len(wrong)


def test_csv_limits_are_left_as_they_are(read):
    before = csv.field_size_limit()
    read(table(STOCHASTIC, [sample_row("s_nop 0")]))
    assert csv.field_size_limit() == before
