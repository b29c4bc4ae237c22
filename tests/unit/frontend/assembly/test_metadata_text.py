import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.assembly.lines import Line, split_lines
from asmevo.frontend.assembly.metadata_text import Value, parse_metadata

OPENING = Line(".amdgpu_metadata", ".amdgpu_metadata", "t.s", 1)


def parsed(text: str) -> dict[str, Value]:
    return parse_metadata(split_lines(text, "t.s"), OPENING)


def test_scalars_are_what_llvm_takes_them_for() -> None:
    text = "a: 12\nb: 0x1f\nc: 'true'\nd: true\ne: 017\nf: -3\ng: 1.5\nh: yes\ni: ''\nj: [1, x, {k: 2}]\n"
    assert parsed(text) == {
        **{"a": 12, "b": 31, "c": "true", "d": True, "e": 15, "f": -3},
        **{"g": "1.5", "h": "yes", "i": "", "j": [1, "x", {"k": 2}]},
    }


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\na: 2", 2, "'a' stands twice"),
        ("a: 1\nb: &x 2", 2, "anchors"),
        ("a: 1\n\nb: *x", 3, "aliases"),
        ("a: !!int 2", 1, "tag"),
        ("a: " + "[" * 40, 1, "nests deeper"),
        ("a: [", 2, ""),
        ("- 1", 1, "not a map"),
        ("? [a]\n: 1", 1, "a key is a plain text"),
    ],
)
def test_other_yaml_is_refused_at_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(DiagnosticError, match="E0147") as caught:
        parsed(text)
    first = caught.value.diagnostics[0]
    assert message in first.message
    assert first.span is not None
    assert first.span.line in (line, len(text.splitlines()))
