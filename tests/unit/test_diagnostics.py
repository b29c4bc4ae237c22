import pytest

from asmevo.diagnostics import Diagnostic, DiagnosticError, Severity, Span, fail, printable


def test_render_puts_the_caret_under_the_column():
    span = Span("k.s", 4, 15, 12, source='passes = "dce,waitcnt-relx"')
    text = Diagnostic("E0203", "unknown pass 'waitcnt-relx'", span, "did you mean 'waitcnt-relax'?").render()
    lines = text.splitlines()
    assert lines[0] == "error[E0203]: unknown pass 'waitcnt-relx'"
    assert lines[1] == " --> k.s:4:15"
    assert lines[3].index("w") == lines[4].index("^")
    assert lines[4].count("^") == 12
    assert lines[-1].startswith("help: ")


def test_offset_span_prints_the_offset():
    assert str(Span("k.co", offset=64)) == "k.co+0x40"
    assert Diagnostic("E0101", "x", Span("k.co", offset=64)).concise() == "k.co+0x40: error[E0101]: x"


def test_severity_shows():
    assert Diagnostic("E0502", "m", severity=Severity.NOTE).render() == "note[E0502]: m"


def test_names_cannot_drive_a_terminal():
    assert printable("a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"
    assert "\x1b" not in Diagnostic("E0101", "bad \x1b[0m", Span("f", 1, 1, source="\x1b]0;")).render()


def test_fail_raises_with_the_diagnostic():
    with pytest.raises(DiagnosticError) as caught:
        fail("E0101", "not an ELF file")
    assert caught.value.diagnostics[0].code == "E0101"


def test_of_a_long_line_only_the_part_around_the_place_is_shown():
    source = "a" * 50_000 + "HERE" + "b" * 50_000
    lines = Diagnostic("E0121", "m" * 10_000, Span("f", 1, 50_001, 4, source=source), "h" * 10_000).render().splitlines()
    assert sum(map(len, lines)) < 6000
    start = lines[3].index("HERE")
    assert lines[4] == "  | " + " " * (start - 4) + "^^^^"
    assert "(10000 characters)" in lines[0]


def test_the_caret_stays_under_its_column_behind_escaped_characters():
    lines = Diagnostic("E0121", "m", Span("f", 1, 3, 1, source="\x1b\x1bX")).render().splitlines()
    assert lines[3].index("X") == lines[4].index("^")


def test_a_column_behind_the_end_is_shown_there():
    lines = Diagnostic("E0121", "m", Span("f", 1, 5, 1, source="abc")).render().splitlines()
    assert lines[4] == "  |     ^"


def test_what_is_escaped_counts_as_it_is_shown():
    hostile = "\U0010ffff" * 3000
    diagnostic = Diagnostic("E0224", hostile, Span(hostile, 1, 1, source=hostile), hostile)
    assert len(diagnostic.render()) < 16 << 10
    assert len(diagnostic.concise()) < 8 << 10
