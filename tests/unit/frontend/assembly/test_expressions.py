import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.frontend.assembly.expressions import ExpressionError, Scope, UnknownValue, evaluate, evaluate_prefix
from asmevo.frontend.assembly.lines import Line
from asmevo.frontend.assembly.resolve import FlatLine, resolve
from asmevo.frontend.llvm import assemble_object

EMPTY = Scope({}.get)
NOWHERE = Line("", "", "<test>", 1)


def llvm_value(text: str) -> int | None:
    """The value LLVM gives a 64-bit data word; None when it refuses."""
    if assemble_object(f".quad {text}\n", "gfx942").errors:
        return None
    (answer,) = resolve([FlatLine(f".quad {text}", NOWHERE, ("0",))], "gfx942")
    return struct.unpack("<q", answer.encoding)[0]


CASES = {
    "1+2*3<<1": 13,
    "2-1|2": -1,
    "-8>>1": 0x7FFFFFFFFFFFFFFC,
    "-5/2": -2,
    "-5%3": -2,
    "1==1": -1,
    "3<>2": -1,
    "6!1": -2,
    "1|2^3&1": 0,
    "!5": 0,
    "~(1+1)": -3,
    "1&&2||0": 1,
    "017": 15,
    "0b101+0x10": 21,
    "'a'+1": 98,
    "max(3, 7, 2)": 7,
    "or(1, 4)": 5,
    "alignto(5, 4)": 8,
    "totalnumvgprs(5, 6)": 13,
    "extrasgprs(1, 1, 0)": 6,
    "1<<64": 0,
    "0xffffffffffffffff": -1,
}


@pytest.mark.parametrize(("text", "value"), CASES.items())
def test_values_are_llvms(text: str, value: int) -> None:
    assert evaluate(text, EMPTY) == value
    if text != "1<<64":  # LLVM leaves shifts that wide undefined.
        assert llvm_value(text) == value


_NUMBERS = st.sampled_from(("0", "1", "2", "7", "0x80", "-3", "0xffffffffffffffff", "~4", "(5-9)"))
_SIGNS = st.sampled_from(("||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "|", "^", "&", "*", "/", "%", "!"))


@settings(max_examples=60, deadline=None)
@given(_NUMBERS, st.lists(st.tuples(_SIGNS, _NUMBERS), max_size=6))
def test_random_expressions_agree_with_llvm(first: str, rest: list[tuple[str, str]]) -> None:
    text = first + "".join(f" {sign} {number}" for sign, number in rest)
    try:
        ours = evaluate(text, EMPTY)
    except ExpressionError:
        ours = None
    assert ours == llvm_value(text)


def test_target_decides_how_many_sgprs_are_kept() -> None:
    assert evaluate("extrasgprs(1, 0, 1)", Scope({}.get, has_architected_flat_scratch=False)) == 4
    assert evaluate("extrasgprs(1, 0, 1)", EMPTY) == 6


def test_symbols_come_from_the_scope() -> None:
    assert evaluate("x*2 + 1b", Scope({"x": 5, "1b": 3}.get)) == 13
    with pytest.raises(UnknownValue) as caught:
        evaluate("1 + y", EMPTY)
    assert (caught.value.name, caught.value.start, caught.value.end) == ("y", 4, 5)


def test_a_prefix_ends_where_the_expression_does() -> None:
    assert evaluate_prefix("1+2, 3", EMPTY) == (3, 3)
    assert evaluate_prefix("5|", EMPTY, only_operand=True) == (5, 1)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("1 +", 3),
        ("", 0),
        ("(1", 2),
        ("1/0", 1),
        ("08", 0),
        ("1 2", 2),
        ("max(1", 5),
        ("@", 0),
        ("alignto(1)", 0),
        ("1" * 30, 0),
    ],
)
def test_what_is_no_expression_says_where(text: str, start: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, EMPTY)
    assert caught.value.start == start


def test_nesting_is_bounded() -> None:
    with pytest.raises(ExpressionError, match="nests deeper"):
        evaluate("(" * 5000 + "1" + ")" * 5000, EMPTY)
    with pytest.raises(ExpressionError, match="nests deeper"):
        evaluate("-" * 5000 + "1", EMPTY)
