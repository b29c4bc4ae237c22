"""The benchmark suite: its manifest, launches and tables, and a smoke slice of the run itself."""

import csv
import hashlib
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from bench.suite import measure
from bench.suite.__main__ import main
from bench.suite.bounds import Bound
from bench.suite.build import RIVALS
from bench.suite.entries import KERNELS, LAUNCHES, LEVELS, SOURCES, entries
from bench.suite.measure import Cycles, Found, Plan, Row
from bench.suite.plot import picture
from bench.suite.store import Store, key, row_of
from bench.suite.tables import comma_separated, geometric_mean, heading, markdown

ENTRIES = entries()
ROW = Row(
    kernel="<one>",
    level="level1",
    compiler="clang -O3",
    instructions=100,
    waves=1,
    full_waves=8,
    before=Cycles(1200, 800, 1000),
    bound=Bound(800, {"vmcnt": 0.4}, "vector unit", 0.2),
    found={"O2": Found(Cycles(1000, 790, 900), "proved", "z3: proved", 3, 2, 1.5)},
    rivals={"max-ilp": Cycles(1100, 800, 950), "O2": Cycles(1300, 800, 1000)},
    best="max-ilp",
    on_best=Found(Cycles(1000, 780, 890), "proved", "z3: proved", 1, 1, 1.0),
)
SECOND = replace(
    ROW,
    kernel="two",
    level="level2",
    found={"O2": Found(ROW.before, "refuted: wrong", "", 1, 0, 1.0)},
    rivals={},
    refused={"max-ilp": "reads v3"},
    best="",
    on_best=None,
)


def test_the_suite_has_its_kernels():
    assert [sum(e.level == level for e in ENTRIES.values()) for level in LEVELS] == [15, 15, 4]
    triton = [e for e in ENTRIES.values() if e.source.endswith(".py")]
    assert len(triton) == 7 + 8 + 4


def test_the_manifest_lists_what_is_shipped():
    assert sorted(ENTRIES) == sorted(path.stem for path in KERNELS.glob("*.co"))
    assert sorted(ENTRIES) == sorted(path.stem for path in LAUNCHES.glob("*.toml"))
    assert {e.source for e in ENTRIES.values()} == {
        str(p.relative_to(SOURCES)) for p in SOURCES.glob("*/*") if p.suffix in (".hip", ".py")
    }
    for name, entry in ENTRIES.items():
        data = (KERNELS / f"{name}.co").read_bytes()
        assert (entry.bytes, entry.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert sum(entry.bytes for entry in ENTRIES.values()) < 1_500_000


@pytest.mark.parametrize("name", ENTRIES)
def test_the_launch_file_fits(name):
    dispatches = load_launches(LAUNCHES / f"{name}.toml", recover(load_file(KERNELS / f"{name}.co")))
    assert len(dispatches) >= 2
    for dispatch in dispatches:
        assert dispatch.dynamic_lds_bytes == ENTRIES[name].dynamic_lds_bytes
        assert any(buffer.writable for buffer in dispatch.buffers)


def test_a_run_writes_its_tables_and_goes_on_where_it_ended(tmp_path, capsys, monkeypatch):
    arguments = ["--only", "leaky_relu", "moe_lora", "--pass", "O1,O2", "--out", str(tmp_path)]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert shown.out == (tmp_path / "suite.md").read_text()
    assert "modelled cycles of MI300X" in shown.out
    rows = [json.loads(line)["row"] for line in (tmp_path / "suite.jsonl").read_text().splitlines()]
    assert [row["kernel"] for row in rows] == ["leaky_relu", "moe_lora"]
    for row in rows:
        assert 0 < row["bound"]["cycles"] <= row["before"]["estimate"]
    lora = rows[1]["found"]["O2"]
    assert lora["cycles"]["estimate"] >= rows[1]["bound"]["cycles"]
    assert lora["outcome"] in ("proved", "tested")
    assert lora["cycles"]["estimate"] < rows[1]["before"]["estimate"]
    monkeypatch.setattr(measure, "measure", None)  # nothing is measured twice
    assert main(arguments) == 0
    assert capsys.readouterr().out == shown.out


def test_another_plan_or_object_is_measured_anew(tmp_path):
    launch, objects = LAUNCHES / "gelu.toml", {"shipped": KERNELS / "gelu.co"}
    made = key(Plan(), launch, objects)
    Store(tmp_path / "s.jsonl").keep(ROW, made)
    store = Store(tmp_path / "s.jsonl")
    assert store.find("<one>", made) == ROW
    assert store.find("<one>", key(Plan(seed=1), launch, objects)) is None
    assert store.find("<one>", key(Plan(), launch, {"shipped": KERNELS / "tanh.co"})) is None
    assert store.find("two", made) is None


def test_rows_survive_json():
    from dataclasses import asdict

    for row in (ROW, SECOND):
        assert row_of(json.loads(json.dumps(asdict(row)))) == row


def test_an_unknown_kernel_is_refused_by_name(tmp_path, capsys):
    assert main(["--only", "gellu", "--out", str(tmp_path)]) == 2
    assert "no kernel 'gellu'" in capsys.readouterr().err


def test_markdown_says_what_came_of_each():
    text = markdown([ROW, SECOND], ["O2"], heading("python -m bench.suite", ["clang 19"], "O2"))
    assert "| level1 | O2 | 1 of 1 | 1.200 |" in text
    assert "| level1 + level2 | O2 | 1 of 2 | 1.095 |" in text
    assert "refuted: wrong" in text
    assert "- two, max-ilp: reads v3" in text
    assert "| <one> | 1.091 | 0.923 | 1.091 | 1.200 | 1.100 | max-ilp |" in text
    assert "| <one> | 1 | 1.500 | 1.200 | vector unit 20% | vmcnt 40 |" in text


def test_csv_has_every_figure():
    lines = list(csv.DictReader(io.StringIO(comma_separated([ROW, SECOND], ["O2"]))))
    assert [line["object"] for line in lines[:5]] == ["shipped", "O2", "O2 on max-ilp", "LLVM max-ilp", "LLVM O2"]
    assert lines[1]["gain"] == "1.2000"
    assert lines[1]["commits"] == "2"


def test_the_picture_is_sound_svg():
    root = ElementTree.fromstring(picture([ROW, SECOND], "O2"))
    words = [element.text for element in root.iter() if element.text]
    assert "<one>" in words
    assert "1.200" in words
    assert len([e for e in root.iter() if e.get("class") == "a"]) == 2


def test_geometric_mean():
    assert geometric_mean([1, 4]) == 2
    assert geometric_mean([]) == 1


def test_every_rival_is_a_choice_of_some_compiler():
    assert all(rival.clang is not None or rival.triton is not None for rival in RIVALS.values())
