"""Templates: one parsed instruction line, with its numbers as holes.

Kernels repeat a few hundred line shapes many thousand times, so a shape is parsed once and the numbers of each further line are
filled in. Owns the step from parse tree to operands and modifiers; reads no text of its own and looks up no opcode.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from lark import Token, Tree

from asmevo.frontend.modifiers import check_flag, check_number, check_vector, check_word
from asmevo.ir.instruction import Immediate, Label, Modifier, ModifierValue, Operand, Register, Symbolic, WaitCounts
from asmevo.ir.registers import AGPR0, FLAT_SCRATCH, SPECIAL_NAMES, TTMP, VGPR0, RegisterRange
from asmevo.ir.symbols import NAMED_SOURCES, SymbolError, integer, symbol_text, symbol_value

Holes = Sequence[str]
Fill = Callable[[Holes], str]
MakeOperand = Callable[[Holes], Operand]
MakeModifier = Callable[[Holes], Modifier]
Node = Tree[Token] | Token

_FILES = {"s": (0, FLAT_SCRATCH), "v": (VGPR0, 256), "a": (AGPR0, 256), "ttmp": (TTMP, 16)}
"""Letter to first unit and size of the file."""

_KNOWN_LITERALS = 4096
"""How many distinct constants one operand of one shape remembers."""

_WAIT_LIMITS = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}


class LineError(Exception):
    """What is wrong in a line, and at which token; the caller adds file and line."""

    def __init__(self, code: str, message: str, token: Token | None = None, help: str | None = None) -> None:
        self.code, self.message, self.token, self.help = code, message, token, help
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Template:
    """The parts of a line as functions of its holes.

    The tokens (the first of each operand, the name of each modifier) are those of the line it came from, for carets.
    """

    mnemonic: str
    operands: tuple[MakeOperand, ...]
    modifiers: tuple[MakeModifier, ...]
    operand_tokens: tuple[Token | None, ...]
    mnemonic_token: Token
    modifier_tokens: Mapping[str, Token]
    is_complete: bool
    """Every hole was found in the tree: only then may the template be used for another line."""

    def fill(self, holes: Holes) -> tuple[tuple[Operand, ...], tuple[Modifier, ...]]:
        """Operands and modifiers with these numbers.

        Raises: LineError when a number is out of its range.
        """
        return tuple([make(holes) for make in self.operands]), tuple([make(holes) for make in self.modifiers])


def compile_template(tree: Tree[Token], holes: Mapping[tuple[int, int], int], *, takes_labels: bool) -> Template:
    """The template of a parsed instruction.

    `holes` maps the (start, end) column of each number to its index; a bare unknown name is a label where `takes_labels`.

    Raises: LineError for a word or a structure that the grammar lets through and the machine does not have.
    """
    return _Compiler(holes, takes_labels).compile(tree)


def with_constant_operand(template: Template, index: int, operand: Operand) -> Template:
    """`template` with an operand that the text leaves out, at `index`."""
    operands, tokens = template.operands, template.operand_tokens
    return replace(
        template,
        operands=(*operands[:index], _constant(operand), *operands[index:]),
        operand_tokens=(*tokens[:index], None, *tokens[index:]),
    )


class _Compiler:
    def __init__(self, holes: Mapping[tuple[int, int], int], takes_labels: bool) -> None:
        self._holes = holes
        self._takes_labels = takes_labels
        self._used: set[int] = set()

    def compile(self, tree: Tree[Token]) -> Template:
        head = cast(Token, tree.children[0])
        operands: list[MakeOperand] = []
        tokens: list[Token | None] = []
        modifiers: list[MakeModifier] = []
        seen: dict[str, Token] = {}
        for child in cast("list[Tree[Token]]", tree.children[1:]):
            if child.data == "operands":
                for operand in child.children:
                    operands.append(self._operand(operand))
                    tokens.append(_first_token(operand))
            elif child.data == "waits":
                operands.append(self._waits(child))
                tokens.append(_first_token(child))
            elif child.data == "integer":
                operands.append(self._integer(child))
                tokens.append(_first_token(child))
            else:
                name = cast(Token, child.children[0])
                if str(name) in seen:
                    raise LineError("E0127", f"modifier '{name}' is given twice", name)
                seen[str(name)] = name
                modifiers.append(self._modifier(child))
        complete = len(self._used) == len(self._holes)
        return Template(str(head), tuple(operands), tuple(modifiers), tuple(tokens), head, seen, complete)

    def _text(self, token: Token, prefix: int = 0) -> Fill:
        """The token's text without its first `prefix` characters, as a function of the holes."""
        start, end = cast(int, token.start_pos), cast(int, token.end_pos)
        index = self._holes.get((start + prefix, end))
        if index is None:
            constant = str(token)[prefix:]
            return lambda holes: constant
        self._used.add(index)
        hole = index
        return lambda holes: holes[hole]

    # ---- operands ----

    def _operand(self, node: Node) -> MakeOperand:
        tree = cast("Tree[Token]", node)
        if tree.data == "call":
            return self._call(tree)
        return self._source(tree, False, False, False)

    def _source(self, tree: Tree[Token], negate: bool, absolute: bool, extend: bool) -> MakeOperand:
        kind = str(tree.data)
        if kind in ("integer_source", "float_source"):
            return self._immediate(tree, negative=False, negate=negate, absolute=absolute, extend=extend)
        if kind == "name":
            return _constant(self._name(cast(Token, tree.children[0]), negate, absolute, extend))
        if kind in ("register", "range", "list"):
            return self._register(tree, negate, absolute, extend)
        inner = cast("Tree[Token]", tree.children[-1])
        if kind == "negated" and inner.data in ("integer_source", "float_source"):
            return self._immediate(inner, negative=True, negate=negate, absolute=absolute, extend=extend)
        if _nests_wrongly(kind, negate, absolute, extend):
            raise LineError("E0124", "source modifiers nest in an order the encoding does not have", _first_token(tree))
        if kind == "absolute":
            return self._source(inner, negate, True, extend)
        if kind == "sign_extended":
            return self._source(inner, negate, absolute, True)
        if kind == "negated" and inner.data == "negated":
            # Of a number it would be an expression, which has no sign to be a modifier.
            raise LineError("E0124", "a sign stands before a sign", _first_token(inner))
        return self._source(inner, True, absolute, extend)

    def _immediate(self, tree: Tree[Token], *, negative: bool, negate: bool, absolute: bool, extend: bool) -> MakeOperand:
        token = cast(Token, tree.children[0])
        if extend:
            raise LineError("E0124", "sext(...) applies to a register", token)
        text = self._text(token)
        is_float = tree.data == "float_source"
        sign = "-" if negative else ""
        known: dict[str, Immediate] = {}

        def make(holes: Holes) -> Immediate:
            digits = text(holes)
            found = known.get(digits)
            if found is None:
                shown = f"{sign}0{digits}" if digits[0] == "." else sign + digits
                value = _float_bits(shown) if is_float else _integer_bits(shown, token)
                found = Immediate(value, shown, is_float, negate, absolute)
                if len(known) < _KNOWN_LITERALS:
                    known[digits] = found
            return found

        return make

    def _name(self, token: Token, negate: bool, absolute: bool, extend: bool) -> Operand:
        word = str(token)
        unit = SPECIAL_NAMES.get(word)
        if unit is not None:
            return Register(RegisterRange(*unit), negate, absolute, extend)
        if word in NAMED_SOURCES:
            word = word if word in ("off", "null") or word.startswith("src_") else f"src_{word}"
            shown = f"|{word}|" if absolute else word
            shown = f"sext({shown})" if extend else shown
            return Symbolic(f"-{shown}" if negate else shown, NAMED_SOURCES[word])
        if self._takes_labels and not (negate or absolute or extend):
            return Label(word)
        raise LineError("E0123", f"unknown operand '{word}'", token)

    def _register(self, tree: Tree[Token], negate: bool, absolute: bool, extend: bool) -> MakeOperand:
        tokens = cast("list[Token]", tree.children)
        if tree.data == "list":
            items = [cast("list[Token]", item.children) for item in cast("list[Tree[Token]]", tree.children)]
            return self._list(items, negate, absolute, extend)
        first = tokens[0]
        is_name = tree.data == "register"
        if is_name:
            file = str(first).rstrip("0123456789")
            low = high = self._text(first, len(file))
        else:
            file = str(first)
            low, high = self._text(tokens[1]), self._text(tokens[-1])
        known: dict[tuple[str, str], Register] = {}

        def make(holes: Holes) -> Register:
            key = (low(holes), high(holes))
            found = known.get(key)
            if found is None:
                # v010 is v10, but v[010] is v8.
                numbers = (int(key[0]), int(key[1])) if is_name else (_integer(key[0], first), _integer(key[1], first))
                found = known[key] = Register(_range(file, *numbers, first), negate, absolute, extend)
            return found

        return make

    def _list(self, items: Sequence[Sequence[Token]], negate: bool, absolute: bool, extend: bool) -> MakeOperand:
        parts: list[tuple[int, Fill | None, Token]] = []
        for item, *index in items:
            word = str(item)
            if index:
                parts.append((_FILES[word][0], self._text(index[0]), item))
                continue
            if word in SPECIAL_NAMES:
                parts.append((SPECIAL_NAMES[word][0], None, item))
                continue
            letters = word.rstrip("0123456789")
            if letters not in _FILES or letters == word:
                raise LineError("E0123", f"unknown operand '{word}'", item)
            parts.append((_FILES[letters][0], self._text(item, len(letters)), item))

        # A named pair may stand in brackets alone.
        alone = SPECIAL_NAMES.get(str(parts[0][2])) if len(parts) == 1 else None
        wide = Register(RegisterRange(*alone), negate, absolute, extend) if alone else None

        def make(holes: Holes) -> Register:
            if wide is not None:
                return wide
            units = [base + (int(text(holes)) if text else 0) for base, text, _ in parts]
            for index, unit in enumerate(units):
                if unit != units[0] + index:
                    raise LineError("E0125", "a register list names consecutive registers", parts[index][2])
            return Register(RegisterRange(units[0], len(units)), negate, absolute, extend)

        return make

    def _integer(self, tree: Tree[Token]) -> MakeOperand:
        token = cast(Token, tree.children[-1])
        text = self._text(token)
        sign = "-" if len(tree.children) == 2 else ""
        return lambda holes: Immediate(_integer_bits(sign + text(holes), token), sign + text(holes))

    def _call(self, tree: Tree[Token]) -> MakeOperand:
        function = cast(Token, tree.children[0])
        arguments = [self._argument(child) for child in tree.children[1:]]

        def make(holes: Holes) -> Symbolic:
            texts = [argument(holes) for argument in arguments]
            try:
                return Symbolic(symbol_text(function, texts), symbol_value(function, texts))
            except SymbolError as error:
                raise LineError("E0124", str(error), function) from error

        return make

    def _argument(self, node: Node) -> Fill:
        if isinstance(node, Token):
            return self._text(node)
        text = self._text(cast(Token, node.children[-1]))
        return (lambda holes: "-" + text(holes)) if len(node.children) == 2 else text

    def _waits(self, tree: Tree[Token]) -> MakeOperand:
        counters: dict[str, tuple[Fill, Token, bool]] = {}
        for counter in cast("list[Tree[Token]]", tree.children):
            word, number = cast("list[Token]", counter.children)
            name = str(word).removesuffix("_sat")
            if name in counters:
                raise LineError("E0127", f"counter '{name}' is given twice", word)
            counters[name] = (self._text(number), number, name != word)

        def make(holes: Holes) -> WaitCounts:
            values: dict[str, int | None] = {}
            for name, (text, token, saturates) in counters.items():
                count, limit = _integer(text(holes), token), _WAIT_LIMITS[name]
                if count > limit and not saturates:
                    raise LineError("E0126", f"{name} counts to {limit}, {count} given", token)
                values[name] = count if count < limit else None
            return WaitCounts(values.get("vmcnt"), values.get("expcnt"), values.get("lgkmcnt"))

        return make

    # ---- modifiers ----

    def _modifier(self, tree: Tree[Token]) -> MakeModifier:
        key = cast(Token, tree.children[0])
        name = str(key)
        holes_before = len(self._used)
        make_value = self._modifier_value(tree, name)

        def make(holes: Holes) -> Modifier:
            try:
                return Modifier(name, make_value(holes))
            except ValueError as error:
                raise LineError("E0127", str(error), key) from error

        if len(self._used) > holes_before:
            return make
        constant = make(())
        return lambda holes: constant

    def _modifier_value(self, tree: Tree[Token], name: str) -> Callable[[Holes], ModifierValue]:
        children = tree.children
        if tree.data == "flag":
            return lambda holes: check_flag(name)
        if tree.data == "function":
            call = self._call(cast("Tree[Token]", children[1]))
            return lambda holes: cast(int, cast(Symbolic, call(holes)).value)
        arguments = [self._argument(child) for child in children[1:]]
        if tree.data == "number":
            return lambda holes: check_number(name, arguments[0](holes))
        if tree.data == "word":
            return lambda holes: check_word(name, arguments[0](holes))
        return lambda holes: check_vector(name, [argument(holes) for argument in arguments])


def _nests_wrongly(kind: str, negate: bool, absolute: bool, extend: bool) -> bool:
    """Whether a source modifier may not stand inside those outside it: the order is negation, sext, absolute value."""
    if kind == "absolute":
        return absolute
    if kind == "sign_extended":
        return extend or absolute
    return negate or absolute or extend


def _constant(operand: Operand) -> MakeOperand:
    return lambda holes: operand


def _integer(text: str, token: Token) -> int:
    try:
        return integer(text)
    except ValueError:
        raise LineError("E0126", f"'{text}' is not a number: a leading 0 means octal", token) from None


def _range(file: str, first: int, last: int, token: Token) -> RegisterRange:
    base, size = _FILES[file]
    if first > last:
        raise LineError("E0125", f"register range {file}[{first}:{last}] runs backwards", token)
    if last >= size:
        raise LineError("E0125", f"register {file}{last} does not exist: the file ends at {file}{size - 1}", token)
    return RegisterRange(base + first, last - first + 1)


def _integer_bits(text: str, token: Token) -> int:
    value = _integer(text, token)
    if (1 << 64) - (1 << 31) <= value < 1 << 64:
        value -= 1 << 64
    if not -(1 << 31) <= value < 1 << 32:
        raise LineError("E0126", f"constant {text} does not fit in 32 bits", token)
    return value & 0xFFFFFFFF


def _float_bits(text: str) -> int:
    try:
        value = float.fromhex(text) if "x" in text or "X" in text else float(text)
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        raise LineError("E0126", f"constant {text} is above the range of a 32-bit float") from None


def _first_token(node: Node) -> Token | None:
    while isinstance(node, Tree):
        if not node.children:
            return None
        node = node.children[0]
    return node
