"""Expressions inside an instruction's operands and modifiers, replaced by their values.

Owns finding them; the line with numbers in their place is then read by the grammar. Register names and operand words always
win over symbols, as in LLVM.
Source: LLVM, AMDGPUAsmParser (parseImm, parseRegWithSub, ParseRegRange).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from asmevo.frontend.assembly.expressions import ExpressionError, Scope, UnknownValue, evaluate_prefix
from asmevo.frontend.modifiers import FLAG_NAMES, MODIFIER_NAMES
from asmevo.ir.registers import SPECIAL_NAMES
from asmevo.ir.symbols import GPR_INDEX_BITS, HWREG_IDS, MESSAGE_IDS, MESSAGE_OPERATIONS, NAMED_SOURCES

PLACEHOLDER = 0x5AF00000
"""First of the constants that stand for expressions without a value yet."""

MAX_DEFERRED = 1 << 14

_REGISTER = re.compile(r"(?:ttmp|acc|[sva])\d+\Z")
_WORD = re.compile(r"[A-Za-z_.$][\w.$]*(?:@[\w@.]+)?")
_FLOAT = re.compile(r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])|\d+[eE][+-]?\d+(?![\w.])|0[xX][0-9A-Fa-f.]+[pP][+-]?\d+")
_LOCAL = re.compile(r"(?<![\w.$])(\d+)([bf])(?![\w.$])")
_NUMBER = re.compile(r"-?(?:0[xX][0-9A-Fa-f]+|0|[1-9]\d*)(?![\w.$])")
_FUNCTIONS = frozenset(("hwreg", "sendmsg", "gpr_idx", "swizzle", "neg", "abs", "sext"))
_LITERAL = re.compile(r"lit(?:64)?[ \t]*\(([^()]*)\)")
_OPERATOR = re.compile(rf"[+*/~!^<>%=']|{_LITERAL.pattern}")
_COUNTERS = re.compile(r"(?:vm|exp|lgkm)cnt(?:_sat)?\Z")
_VALUES = frozenset(("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")) | frozenset(
    (
        "UNUSED_PAD",
        "UNUSED_SEXT",
        "UNUSED_PRESERVE",
        "QUAD_PERM",
        "BITMASK_PERM",
        "BROADCAST",
        "SWAP",
        "REVERSE",
        "FFT",
        "ROTATE",
    )
)
_ARGUMENTS = frozenset((*HWREG_IDS, *MESSAGE_IDS, *MESSAGE_OPERATIONS, *GPR_INDEX_BITS))
_FLAGS = FLAG_NAMES.union(f"no{name}" for name in FLAG_NAMES)
_UNWRITTEN = frozenset(("mode", "vskip", "hwreg"))
"""Units without a name of their own in the assembler."""

_REGISTERS = frozenset((*SPECIAL_NAMES, *NAMED_SOURCES)) - _UNWRITTEN
_WORDS = _REGISTERS.union(_UNWRITTEN, MODIFIER_NAMES, _ARGUMENTS, _VALUES, _FLAGS)
_TAKES_FLAGS = re.compile(r"[a-rt-z]|s_(?:load|store|buffer|scratch|atomic|dcache)")
"""Opcodes behind whose operands a flag may stand."""

_BINARY = re.compile(r"[ \t]*(?:[-+*/%^]|<<|>>|[<>=!]=|<>|&&?|\|\|)")
_SEPARATORS = frozenset(" \t,([{:|&-")


@dataclass(frozen=True, slots=True)
class Deferred:
    """An expression without a value yet: its text, and the constant that stands for it in the line."""

    text: str
    placeholder: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An instruction's text with values for expressions, and the expressions that have none."""

    text: str
    deferred: tuple[Deferred, ...]


def mentions(text: str, is_symbol: Callable[[str], bool]) -> bool:
    """Whether the operands may hold an expression: a symbol, an operator or a number in a form that the grammar lacks."""
    _, _, rest = text.partition(" ") if " " in text else text.partition("\t")
    return _OPERATOR.search(rest) is not None or has_symbols(rest, is_symbol)


def has_symbols(text: str, is_symbol: Callable[[str], bool]) -> bool:
    """Whether the text names a symbol, a directional label or the position."""
    if _LOCAL.search(text):
        return True
    return any([word == "." or (is_symbol(word) and not _is_register(word)) for word in _WORD.findall(text)])


def rewrite(text: str, scope: Scope, local: Callable[[str], str], *, takes_label: bool, used: int) -> Rewritten:
    """`text` with every expression of its operands replaced by its value.

    `local` maps a directional label (`1b`) to the label's own name; `takes_label` keeps bare names for branch targets; `used`
    counts the placeholders already given out in this source.

    Raises: ExpressionError for what is no expression.
    """
    return _Rewriter(text, scope, local, takes_label, used).run()


def with_local_names(text: str, local: Callable[[str], str]) -> str:
    """`text` with directional labels (`1b`) replaced by the names of the labels they mean here."""
    return _LOCAL.sub(lambda match: local(match.group()), text)


def _is_register(word: str) -> bool:
    return word in _REGISTERS or _REGISTER.match(word) is not None


def is_word(word: str) -> bool:
    """Whether a name without a value stands for itself: a register, or a word of the operand syntax."""
    return word in _WORDS or _is_register(word) or word.startswith("BUF_")


class _Rewriter:
    def __init__(self, text: str, scope: Scope, local: Callable[[str], str], takes_label: bool, used: int) -> None:
        self._text, self._scope, self._local = text, scope, local
        self._takes_label, self._used = takes_label, used
        self._deferred: list[Deferred] = []
        self._out: list[str] = []
        self._at = 0

    def run(self) -> Rewritten:
        head = _WORD.match(self._text)
        self._copy(head.end() if head else 0)
        brackets: list[str] = []
        bar_open = False
        while self._at < len(self._text):
            text, at = self._text, self._at
            char = text[at]
            if char in " \t,&":
                self._copy(at + 1)
            elif char == '"':
                end = text.find('"', at + 1)
                self._copy(end + 1 if end > 0 else len(text))
            elif char == "|":
                bar_open = not bar_open
                self._copy(at + 1)
            elif char in "[{":
                brackets.append("register" if self._follows_register() else char)
                self._copy(at + 1)
            elif char in "]})":
                if brackets:
                    brackets.pop()
                self._copy(at + 1)
            elif char == ":":
                self._copy(at + 1)
            elif float_ := _FLOAT.match(text, at):
                self._copy(float_.end())
            elif literal := _LITERAL.match(text, at):
                # The assembler still chooses the inline form: the word changes nothing on these targets.
                self._out.append(literal.group(1))
                self._at = literal.end()
            elif (word := _WORD.match(text, at)) and self._is_plain(word, brackets):
                self._copy(word.end())
                if opening := re.compile(r"[ \t]*\(").match(text, word.end()):
                    brackets.append("(")
                    self._copy(opening.end())
            elif char == "-" and self._negates(at + 1):
                self._copy(at + 1)
            else:
                self._expression(only_operand=bar_open)
        return Rewritten("".join(self._out), tuple(self._deferred))

    def _copy(self, end: int) -> None:
        self._out.append(self._text[self._at : end])
        self._at = end

    def _follows_register(self) -> bool:
        return re.search(r"(?:\b|_)(?:ttmp|acc|[sva])\Z", self._text[: self._at]) is not None

    def _is_plain(self, word: re.Match[str], brackets: list[str]) -> bool:
        """Whether a word stands for itself: a register, a word of the operand syntax, a modifier's name, or a branch target."""
        name, rest = word.group(), self._text[word.end() :].lstrip(" \t")
        following = rest[:1]
        if following == "(":
            return name in _FUNCTIONS or _COUNTERS.match(name) is not None
        if following == "[" and name in ("s", "v", "a", "acc", "ttmp"):
            return True
        if (following == ":" and "register" not in brackets) or _is_register(name):
            return True
        if name == ".":
            return False
        if self._scope.value(name) is None:
            return is_word(name) or (self._takes_label and following in ("", ","))
        # A symbol may have the name of a word: the word wins only where it can stand.
        if brackets[-1:] == ["("] and name in _ARGUMENTS:
            return True
        if name in _VALUES and self._text[: word.start()].rstrip(" \t")[-1:] == ":":
            return True
        return name in _FLAGS and _TAKES_FLAGS.match(self._text) is not None and not _BINARY.match(rest)

    def _negates(self, at: int) -> bool:
        """Whether the minus before `at` is a source modifier or part of a float: it stands before what is no expression."""
        while self._text[at : at + 1] in (" ", "\t"):
            at += 1
        if self._text[at : at + 1] == "|" or _FLOAT.match(self._text, at):
            return True
        word = _WORD.match(self._text, at)
        if word is None:
            return False
        following = self._text[word.end() : word.end() + 1]
        return _is_register(word.group()) or (following == "(" and word.group() in _FUNCTIONS) or following == "["

    def _expression(self, *, only_operand: bool) -> None:
        start = self._at
        if self._out and self._out[-1] and self._out[-1][-1] not in _SEPARATORS:
            self._out.append(" ")
        if local := _LOCAL.match(self._text, start):
            self._out.append(self._local(local.group()))
            self._at = local.end()
            return
        try:
            value, self._at = evaluate_prefix(self._text, self._scope, start, only_operand=only_operand)
        except UnknownValue as error:
            self._defer(start, error)
            return
        if self._at == start:
            raise ExpressionError(f"unexpected '{self._text[start]}'", start)
        if only_operand and (rest := self._text[self._at :].lstrip(" \t"))[:1] != "|":
            raise ExpressionError("expected '|' behind one operand", len(self._text) - len(rest))
        given = self._text[start : self._at].strip()
        # The shortest spelling of the same number stays as it was written, for the listing and for carets.
        same = _NUMBER.fullmatch(given) is not None and int(given, 0) == value
        self._out.append(self._text[start : self._at] if same else str(value))

    def _defer(self, start: int, error: UnknownValue) -> None:
        if self._used + len(self._deferred) >= MAX_DEFERRED:
            raise ExpressionError(f"more than {MAX_DEFERRED} expressions depend on addresses", start)
        placeholder = PLACEHOLDER + self._used + len(self._deferred)
        self._deferred.append(Deferred(with_local_names(self._text[start : error.end].strip(), self._local), placeholder))
        self._out.append(f"{placeholder:#x}")
        self._at = error.end
