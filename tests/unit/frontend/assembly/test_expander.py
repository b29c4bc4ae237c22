from pathlib import Path

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.assembly.expander import MAX_LINES, Expander
from asmevo.frontend.assembly.lines import Line, split_lines


class Symbols:
    """Numbers only; the names that are defined."""

    def number(self, text: str, line: Line, start: int) -> int:
        return int(text[start:], 0)

    def is_defined(self, name: str) -> bool:
        return name == "known"


def expanded(text: str, root: Path | None = None) -> list[str]:
    statements = Expander(Symbols(), root).statements(split_lines(text, "t.s"))
    return [f"{item.label}:" if item.label else item.line.text[item.start :] for item in statements]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (".macro m a\nx \\a\n.endm\nm 1\nm 2", ["x 1", "x 2"]),
        (".rept 2\n.irp a, 1, 2\nx \\a\n.endr\n.endr", ["x 1", "x 2"] * 2),
        (".irpc c, ab\nx \\c\n.endr", ["x a", "x b"]),
        (".if 0\nx\n.elseif 1\ny\n.else\nz\n.endif", ["y"]),
        (".ifdef known\nx\n.endif\n.ifndef known\ny\n.endif", ["x"]),
        (".if 0\n.macro m\n.endm\n.endif\nm", ["m"]),
        ("a: b: x", ["a:", "b:", "x"]),
        (".macro m\n.if 1\nx\n.exitm\n.endif\ny\n.endm\nm\nz", ["x", "z"]),
        ("x\n.end\ny", ["x"]),
    ],
)
def test_what_is_left_of_a_source(text: str, lines: list[str]) -> None:
    assert expanded(text) == lines


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (".else", "E0136"),
        (".if 1\n.else\n.else\n.endif", "E0136"),
        (".macro m\n.endm\n.macro m\n.endm", "E0137"),
        (".macro m\nm\n.endm\nm", "E0138"),
        (f".rept {MAX_LINES}\nx\nx\n.endr", "E0138"),
        (".rept -1\nx\n.endr", "E0131"),
        ('.include "x"', "E0139"),
        (".altmacro", "E0137"),
        ('.error "stop"', "E0140"),
    ],
)
def test_bad_expansions_are_refused(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        expanded(text)


def test_a_block_does_not_reach_beyond_its_file(tmp_path: Path) -> None:
    (tmp_path / "open.inc").write_text(".macro m\nx\n")
    with pytest.raises(DiagnosticError, match="E0136"):
        expanded('.include "open.inc"\n.endm\n', tmp_path)
