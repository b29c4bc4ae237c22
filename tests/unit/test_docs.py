"""The documents name what the code has: diagnostics, launch file keys, fills and element types, figures of the chip."""

import re
from pathlib import Path

import pytest

from asmevo.backend.emulator.layout import FAULT_KINDS
from asmevo.ir.isa.chips import CHIPS, FIGURES, chip
from asmevo.verify.launch.data import FILLS, element_types
from asmevo.verify.launch.file import Argument, LaunchTree, read_launch_file

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def document(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_code_in_use_is_documented_once_and_no_other():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "asmevo").rglob("*.py")))
    used = set(re.findall(r'"(E0\d{3})"', sources))
    listed = re.findall(r"^\| (E0\d{3}) \|", document("diagnostics.md"), re.MULTILINE)
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == used


def test_codes_stand_under_their_family_in_order():
    family, last = "", ""
    for line in document("diagnostics.md").splitlines():
        if heading := re.match(r"## (E0\d): ", line):
            family, last = heading[1], ""
        if row := re.match(r"\| (E0\d{3}) \|", line):
            assert row[1].startswith(family)
            assert row[1] > last
            last = row[1]


def test_every_key_of_a_launch_file_is_documented():
    text = document("launches.md")
    for model in (Argument, LaunchTree):
        for key in model.model_fields:
            assert f"`{key}`" in text, key


def test_every_fill_and_element_type_is_documented():
    text = document("launches.md")
    for word in (*FILLS, *element_types("gfx942")):
        assert f"`{word}`" in text, word


@pytest.mark.parametrize("number", range(3))
def test_the_launch_files_shown_are_right(tmp_path, number):
    shown = re.findall(r"```toml\n(.*?)```", document("launches.md"), re.DOTALL)
    assert len(shown) == 3
    path = tmp_path / "launch.toml"
    path.write_text(shown[number])
    assert read_launch_file(path).tree.args or read_launch_file(path).tree.case


def test_every_figure_of_the_chip_is_documented_with_its_value():
    text = document("timing.md")
    for name in FIGURES:
        row = re.search(rf"^\| `{name}` \|(.*)$", text, re.MULTILINE)
        assert row, name
        shown = [cell.strip().split(" ")[0] for cell in row[1].split("|")[: len(CHIPS)]]
        assert shown == [f"{getattr(chip(each), name).value:,}" for each in CHIPS], name


def test_every_fault_that_is_raised_is_documented():
    text = document("verification.md")
    for kind in FAULT_KINDS[1:]:
        assert f"\n| {kind} |" in text, kind


PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md"))])


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
        # The site's build makes the pages of docs/reference, and checks links to them.
        if "://" not in target and DOCS / "reference" != (path.parent / target).resolve().parent:
            assert (path.parent / target).exists(), target
