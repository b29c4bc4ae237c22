"""The tables against LLVM's descriptors, tinygrad and rocRoller; differences, stale reasons and bad entries are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tools.isa import crosscheck, descriptors, rocroller, tinygrad_tables
from tools.isa.differences import ENTRIES, Difference, Entry, load_entries, settle

TARGETS = ("gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize("source", [source for source in crosscheck.SOURCES if source.name != "llvm"], ids=lambda s: s.name)
def test_every_difference_has_a_reason_and_every_reason_a_difference(source: crosscheck.Source) -> None:
    if reason := source.unavailable():
        pytest.skip(reason)
    result, skipped = crosscheck.compare([source.name])
    assert skipped == {}
    assert result.open == ()
    assert result.stale == ()
    assert sum(result.settled.values()) > 0


def test_a_source_that_is_not_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rocroller.FOLDER, raising=False)
    result, skipped = crosscheck.compare([rocroller.SOURCE])
    assert rocroller.FOLDER in skipped[rocroller.SOURCE]
    # Nothing was compared, so nothing can be stale.
    assert result.stale == ()


def test_descriptors_know_nearly_every_form() -> None:
    known = descriptors.load()
    assert {target: len(forms) > 2200 for target, forms in known.items()} == dict.fromkeys(TARGETS, True)


@pytest.mark.parametrize(
    ("form", "changes", "subject"),
    [
        ("v_add_f32_e32 RRR", {"roles": "xrr"}, "roles"),
        ("v_add_f32_e32 RRR", {"reads": ("EXEC",)}, "reads"),
        ("s_add_u32 RRR", {"writes": ()}, "writes"),
        ("global_load_dword RRR", {"flags": ("load", "store")}, "flags"),
    ],
)
def test_another_role_register_or_flag_is_found(form: str, changes: dict[str, object], subject: str) -> None:
    facts = descriptors.load()
    facts["gfx942"][form] = replace(facts["gfx942"][form], **changes)  # pyright: ignore[reportArgumentType]
    found = [d for d in descriptors.differences("gfx942", facts) if d.mnemonic == form]
    assert [d.subject for d in found] == [subject]
    assert settle(found, load_entries(), ()).open == tuple(found)


def test_a_form_that_only_the_descriptors_have_is_found() -> None:
    facts = descriptors.load()
    facts["gfx942"]["v_frobnicate RR"] = facts["gfx942"]["v_add_f32_e32 RRR"]
    found = list(descriptors.differences("gfx942", facts))
    assert Difference("descriptors", "gfx942", "v_frobnicate RR", "exists", "no", "yes") in found


def test_the_dump_is_read_by_register(tmp_path: Path) -> None:
    program = tmp_path / "answers"
    program.write_text("#!/bin/sh\necho 'LLVM 1.2.3'\nwhile read line; do echo '?'; done\n")
    program.chmod(0o755)
    # A program that decodes nothing gives a file with a head and no rows.
    assert descriptors.dump(program).splitlines() == [descriptors._HEAD.format("1.2.3")]  # pyright: ignore[reportPrivateUsage]


YAML = """
Architectures:
  gfx942:
    InstructionInfos:
      v_add_f32: {IsBranch: true, WaitCount: -1, WaitQueues: [], Latency: 0, ImplicitAccess: false}
      global_load_dword: {IsBranch: false, WaitCount: 1, WaitQueues: [SMemQueue], Latency: -1, ImplicitAccess: false}
      v_mfma_f32_32x32x8_f16: {IsBranch: false, WaitCount: -1, WaitQueues: [], Latency: 4, ImplicitAccess: false}
      s_cselect_b32: {IsBranch: false, WaitCount: -1, WaitQueues: [], Latency: 0, ImplicitAccess: false}
      v_frobnicate: {IsBranch: false, WaitCount: -1, WaitQueues: [], Latency: 0, ImplicitAccess: false}
      s_nop: {IsBranch: false, WaitCount: 0, WaitQueues: [], Latency: 0, ImplicitAccess: false}
"""


def test_rocroller_differences_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "GPUArchitecture_def_gfx942.yaml").write_text(YAML)
    monkeypatch.setenv(rocroller.FOLDER, str(tmp_path))
    assert rocroller.unavailable() == ""
    found = {(d.mnemonic, d.subject): (d.ours, d.theirs) for d in rocroller.differences("gfx942")}
    assert found == {
        ("v_add_f32", "branch"): ("False", "True"),
        ("global_load_dword", "counters"): ("vmcnt", "lgkmcnt"),
        ("v_mfma_f32_32x32x8_f16", "passes"): ("8", "4"),
        ("s_cselect_b32", "implicit read"): ("True", "False"),
        ("v_frobnicate", "exists"): ("no", "yes"),
    }


def test_tinygrad_differences_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := tinygrad_tables.unavailable():
        pytest.skip(reason)
    import importlib

    module = importlib.import_module(tinygrad_tables.MODULE)
    operands = dict(module.OPERANDS)
    add = next(op for op in operands if op.name == "DS_ADD_U32")
    kind = {field: takes for field, (_, _, takes) in operands[add].items()}
    operands[add] = {"addr": (None, 64, kind["data0"]), "data0": (None, 32, kind["data0"]), "data1": (None, 32, kind["addr"])}
    monkeypatch.setattr(module, "OPERANDS", {add: operands[add]})
    found = {d.subject: (d.ours, d.theirs) for d in tinygrad_tables.differences()}
    assert found == {
        "addr bits": ("32", "64"),
        "addr takes": ("vgpr", "OPR_VGPR_OR_ACCVGPR"),
        "operand data1": ("no", "OPR_VGPR"),
    }


ENTRY = Entry(name="n", source="llvm", reason="r", mnemonic="v_.*", theirs="yes")
DIFFERENCE = Difference("llvm", "gfx942", "v_x", "exists", "no", "yes")


def test_an_entry_settles_what_it_matches_in_full() -> None:
    result = settle([DIFFERENCE], [ENTRY], {"llvm"})
    assert (result.open, result.stale, result.settled) == ((), (), {"n": 1})


@pytest.mark.parametrize("change", [{"mnemonic": "v"}, {"theirs": "no"}, {"source": "tinygrad"}, {"targets": "gfx950"}])
def test_an_entry_that_does_not_match_settles_nothing_and_is_stale(change: dict[str, str]) -> None:
    entry = replace(ENTRY, **change)
    result = settle([DIFFERENCE], [entry], {"llvm", "tinygrad"})
    assert result.open == (DIFFERENCE,)
    assert result.stale == (entry,)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[disagreement]]\nname = "a"\nsource = "llvm"\nreason = "r"\nreasn = "x"', "unknown field reasn"),
        ('[[disagreement]]\nname = "a"\nsource = "llvm"\nreason = " "', "no reason"),
        ('[[disagreement]]\nname = "a"\nreason = "r"', "no source"),
        ('[[disagreement]]\nname = "a"\nsource = "llvm"\nreason = "r"\n' * 2, "more than one entry is called a"),
    ],
)
def test_a_bad_entry_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "entries.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        load_entries(path)


def test_entries_name_sources_that_exist() -> None:
    assert {entry.source for entry in load_entries(ENTRIES)} <= {source.name for source in crosscheck.SOURCES}
