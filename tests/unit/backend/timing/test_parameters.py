"""The chips' parameter files: every figure names its source and how sure it is, and a file that does not is refused."""

from dataclasses import fields

import pytest

from asmevo.backend.timing import Figure, bound_to, chip, chip_for
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.isa.chips import CHIPS, CONFIDENCE, FIGURES, parse_chip


@pytest.mark.parametrize("name", CHIPS)
def test_every_figure_has_a_source(name):
    found = chip(name)
    figures = [getattr(found, field.name) for field in fields(found) if field.name not in ("name", "target")]
    assert all(isinstance(figure, Figure) and figure.source for figure in figures)
    assert all(figure.confidence in {*CONFIDENCE, "inherited"} for figure in figures)
    assert all(figure.source.startswith("as MI300X: ") for figure in figures if figure.confidence == "inherited")
    may_be_zero = (found.matrix_chain, found.mall_bytes) if name == "mi250x" else (found.matrix_chain,)
    assert all(figure.value > 0 for figure in figures if figure not in may_be_zero)


@pytest.mark.parametrize(("target", "name"), [("gfx942", "MI300X"), ("gfx950", "MI355X"), ("gfx90a", "MI250X")])
def test_a_target_has_its_chip(target, name):
    assert chip_for(target).name == name
    assert chip_for(target).target == target


def test_another_memory_latency():
    assert bound_to(chip("mi300x"), 900, "HBM").vmem_latency == Figure(900, "HBM", "assumed")


GOOD = 'version = 1\nname = "X"\ntarget = "gfx942"\nbase = "mi300x"\n[figures]\n'
LINE = 'slot = { value = 4, source = "measured by nobody", confidence = "assumed" }'


def test_a_file_on_top_of_another():
    found = parse_chip(GOOD + LINE, "x.toml")
    assert found.slot == Figure(4, "measured by nobody", "assumed")
    assert found.simds.confidence == "inherited"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + 'slot = { value = 4, confidence = "assumed" }', "no source"),
        (GOOD + 'slot = { value = 4, source = " ", confidence = "assumed" }', "no source"),
        (GOOD + 'slot = { value = 4, source = "x" }', "how sure"),
        (GOOD + 'slot = { value = 4, source = "x", confidence = "certain" }', "how sure"),
        (GOOD + 'slot = { value = 4.5, source = "x", confidence = "assumed" }', "whole number"),
        (GOOD + 'slot = { value = -1, source = "x", confidence = "assumed" }', "whole number"),
        (GOOD + "slot = 4", "whole number"),
        (GOOD + LINE.replace("slot", "slots"), "unknown figure"),
        (GOOD.replace("base", "bass") + LINE, "unknown key"),
        (GOOD.replace("mi300x", "mi100") + LINE, "unknown chip"),
        (GOOD.replace('base = "mi300x"\n', "") + LINE, f"figure '{FIGURES[0]}' is missing"),
        (GOOD.replace("version = 1", "version = 2") + LINE, "version"),
        ('version = 1\nname = "X"\n', "target"),
        ('version = 1\nname = "X"\ntarget = "gfx942"\n', "table of figures"),
        ("slot", "TOML"),
    ],
)
def test_a_file_without_its_reasons_is_refused(text, message):
    with pytest.raises(DiagnosticError, match=message) as caught:
        parse_chip(text, "x.toml")
    assert caught.value.diagnostics[0].code == "E0236"
