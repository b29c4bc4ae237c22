import pytest

from asmevo.frontend.assembly.macros import Macro, MacroError, Parameter, arguments, bind, parse_header, substitute


def macro(header: str) -> Macro:
    name, parameters = parse_header(header)
    return Macro(name, parameters, ())


def test_headers_have_defaults_required_and_rest_parameters() -> None:
    assert parse_header(" m a, b=1 + 2, c:req d:vararg") == (
        "m",
        (Parameter("a"), Parameter("b", "1+2"), Parameter("c", "", True), Parameter("d", "", False, True)),
    )
    assert parse_header("m, a b") == ("m", (Parameter("a"), Parameter("b")))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "needs a name"),
        ("m a, a", "stands twice"),
        ("m a:vararg, b", "must be the last"),
        ("m a:maybe", ":req or :vararg"),
        ("m 3", "is a name"),
        ("m " + ",".join(f"p{n}" for n in range(300)), "at most"),
    ],
)
def test_bad_headers_are_refused(header: str, message: str) -> None:
    with pytest.raises(MacroError, match=message):
        parse_header(header)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("s0, 4", {"a": "s0", "b": "4"}),
        ("s0 4", {"a": "s0", "b": "4"}),
        ("s0", {"a": "s0", "b": "9"}),
        ("b=5, a=s2", {"a": "s2", "b": "5"}),
        ("1 + 2, (3 4)", {"a": "1+2", "b": "(3 4)"}),
        ("1 +2", {"a": "1+2", "b": "9"}),
        ('"x, y", z', {"a": "x, y", "b": "z"}),
        (", 7", {"a": "", "b": "7"}),
        ("v[0:1] 7", {"a": "v[0:1]", "b": "7"}),
    ],
)
def test_arguments_bind_as_in_llvm(call: str, values: dict[str, str]) -> None:
    assert bind(macro("m a, b=9"), call) == values


def test_the_rest_is_one_text() -> None:
    assert bind(macro("m a, r:vararg"), "1, 2, 3 4") == {"a": "1", "r": "2, 3 4"}


@pytest.mark.parametrize(
    ("header", "call", "message"),
    [
        ("m a", "1, 2", "takes 1 arguments"),
        ("m a:req", "", "needs a value for 'a'"),
        ("m a, b", "a=1, 2", "positional argument follows"),
        ("m a", "c=1", "no parameter 'c'"),
        ("m a", "(1", "not closed"),
    ],
)
def test_bad_calls_are_refused(header: str, call: str, message: str) -> None:
    with pytest.raises(MacroError, match=message):
        bind(macro(header), call)


def test_substitution_knows_its_escapes() -> None:
    assert substitute(r"l\@: s_nop \a\()1 \b \unknown", {"a": "3", "b": "x"}, 7) == r"l7: s_nop 31 x \unknown"
    assert arguments(' 1, "a b", c ') == ["1", "a b", "c"]
