"""The assembly grammar at work: a text to a parse tree, or to where it stops making sense.

Owns the parser generator's objects and its errors; no other module meets them.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The parser generator's exceptions and its parse method carry no type parameters.

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from asmevo.resources import grammar

_TOKEN_WORDS = {
    "MNEMONIC": "an opcode",
    "LABEL": "a label",
    "DIRECTIVE": "a directive",
    "REG": "a register",
    "FILE": "a register range",
    "INT": "a number",
    "FLOAT": "a number",
    "NAME": "a name",
    "FLAG": "a modifier",
    "KEY": "a modifier",
    "COMMA": "','",
    "RSQB": "']'",
    "RPAR": "')'",
    "COLON": "':'",
    "VBAR": "'|'",
    "STRING": "a string",
    "$END": "the end of the line",
}


class GrammarError(Exception):
    """A text that is no sentence of the grammar: the column (0-based) and length of what is wrong, and what would be right."""

    def __init__(self, message: str, start: int, length: int, expected: Iterable[str]) -> None:
        super().__init__(message)
        self.message, self.start, self.length = message, start, length
        words = sorted({_TOKEN_WORDS[token] for token in expected if token in _TOKEN_WORDS})
        shown = ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + "".join(words[-1:])
        self.help = f"write {shown} here" if words else None


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(
        grammar("amdgcn.lark"),
        parser="lalr",
        lexer="contextual",
        start=["statement", "instruction"],
        maybe_placeholders=False,
    )


def parse_tree(text: str, start: str) -> Tree[Token]:
    """The parse tree of one line; `start` is "instruction" or "statement".

    Raises: GrammarError at the first word that fits nowhere.
    """
    try:
        return _parser().parse(text, start=start)
    except UnexpectedToken as error:
        token: Token = error.token
        accepted: Iterable[str] = error.accepts or error.expected
        if token.type == "$END":
            raise GrammarError("unexpected end of the line", len(text.rstrip()), 1, accepted) from None
        raise GrammarError(f"unexpected '{token}'", token.start_pos or 0, len(token), accepted) from None
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise GrammarError(f"unexpected '{text[at : at + 1]}'", at, 1, error.allowed or ()) from None
    except UnexpectedInput as error:
        raise GrammarError("unexpected text", error.pos_in_stream or 0, 1, ()) from None
