import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.diagnostics import DiagnosticError, Span
from asmevo.passes.base import options_of
from asmevo.passes.pipeline import parse_pipeline, pipeline_text
from asmevo.passes.presets import PRESETS
from asmevo.passes.registry import available_passes, register_pass


def _error(text, origin=None):
    with pytest.raises(DiagnosticError) as caught:
        parse_pipeline(text, origin)
    return caught.value.diagnostics[0]


def test_shipped_passes_are_there():
    assert {"waitcnt-relax", "waitcnt-insert", "nop-trim", "dce", "copy-elim", "list-schedule"} <= set(available_passes())


def test_every_option_has_help_and_a_default_in_range():
    for kind in available_passes().values():
        for info in options_of(kind):
            assert info.help
            if info.ge is not None:
                assert info.default >= info.ge
            if info.le is not None:
                assert info.default <= info.le


@given(st.lists(st.sampled_from(["waitcnt-relax", "nop-trim", "list-schedule", "list-schedule{bias=2.0}"]), min_size=1))
def test_text_round_trips(names):
    text = ",".join(names)
    assert pipeline_text(parse_pipeline(text)) == text


def test_unknown_pass_has_caret_and_nearest_name():
    line = 'passes = "nop-trim,waitcnt-relx"'
    diagnostic = _error("nop-trim,waitcnt-relx", Span("asmevo.toml", 4, 11, source=line))
    assert diagnostic.code == "E0203"
    assert (diagnostic.span.column, diagnostic.span.length) == (20, 12)
    assert "waitcnt-relax" in diagnostic.help


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nop-trim{", "E0202"),
        ("nop-trim,,nop-trim", "E0202"),
        ("list-schedule{bios=1}", "E0205"),
        ("list-schedule{bias=-1}", "E0206"),
        ("list-schedule{bias=much}", "E0206"),
    ],
)
def test_bad_text_is_refused(text, code):
    assert _error(text).code == code


def test_a_class_that_is_no_pass_is_refused():
    with pytest.raises(TypeError, match="kebab-case"):

        @register_pass
        class NoName:
            """Nothing."""

    with pytest.raises(TypeError, match="Legality"):

        @register_pass
        class NoContract:
            """Does things. Rewrite: a."""

            name = "no-contract"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_stands_for_its_passes(name):
    assert pipeline_text(parse_pipeline(name)) == PRESETS[name]
    assert parse_pipeline(f"{name},nop-trim") == (*parse_pipeline(PRESETS[name]), *parse_pipeline("nop-trim"))


def test_a_preset_takes_no_options():
    found = _error("nop-trim,O2{bias=1}")
    assert (found.code, found.span.column, found.span.length) == ("E0205", 10, 2)
    assert PRESETS["O2"] in found.help


def test_a_preset_is_among_the_nearest_names():
    assert "'O2'" in _error("O22").help
