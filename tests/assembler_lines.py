"""Lines for measuring AsmEvo's reader against LLVM's assembler: right ones of every opcode and form, and wrong ones.

Right lines come from the instruction tables and from the disassembler: bits of the encodings are changed at random, so that
registers, constants and modifiers of every kind turn up in the words LLVM itself uses. Wrong lines are right ones with one
thing changed; LLVM says of each whether it is still right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from asmevo.frontend.assembly.lines import Line
from asmevo.frontend.assembly.resolve import FlatLine, resolve
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.llvm import assemble_object
from asmevo.ir import isa
from asmevo.ir.isa.model import Family, OpcodeDef
from line_forms import lines_of

_NOWHERE = Line("", "", "<lines>", 1)
_LITERALS = ("0", "64", "65", "-16", "-17", "1.0", "0.15915494", "0x12345678", "1.5")
_SPECIALS = ("vcc", "exec", "m0", "vcc_lo", "exec_hi", "src_scc", "src_vccz", "src_shared_base", "flat_scratch", "xnack_mask")
_MODIFIERS = (
    *("clamp", "mul:2", "div:2", "glc", "slc", "sc0", "sc1", "nt", "scc", "offen", "idxen", "lds", "gds", "tfe", "offset:4"),
    *("op_sel:[1,0]", "op_sel_hi:[0,0]", "neg_lo:[1,0]", "neg_hi:[0,1]", "row_shl:1", "row_mask:0xf", "bank_mask:0x3"),
    *(
        "bound_ctrl:0",
        "quad_perm:[0,1,2,3]",
        "dst_sel:WORD_1",
        "src0_sel:BYTE_0",
        "cbsz:1",
        "abid:1",
        "blgp:1",
        "nosuch",
        "x:1",
    ),
    *("offset0:1", "offset1:255", "row_newbcast:3", "wave_shl:1", "dmask:1", "unorm", "da"),
)


def llvm_verdicts(lines: Sequence[str], target: str) -> dict[str, tuple[int, str] | None]:
    """Each line to None when LLVM takes it as it stands, else to the column and message of its first complaint."""
    unique = list(dict.fromkeys(lines))
    verdicts: dict[str, tuple[int, str] | None] = dict.fromkeys(unique)
    for start in range(0, len(unique), 4096):
        chunk = unique[start : start + 4096]
        for error in assemble_object("\n".join(chunk) + "\n", target).errors:
            text = chunk[error.line - 1]
            verdicts[text] = verdicts[text] or (error.column, error.message)
    return verdicts


def llvm_encodings(lines: Sequence[str], target: str) -> list[bytes]:
    """The bytes of each line, all of which LLVM takes."""
    return (
        [answer.encoding for answer in resolve([FlatLine(text, _NOWHERE, ("0",)) for text in lines], target)] if lines else []
    )


def _table_lines(definition: OpcodeDef) -> Iterator[str]:
    name, family = definition.mnemonic, definition.family
    yield from lines_of(definition)
    if family is Family.SOPP:
        yield from (name, f"{name} 0", f"{name} 0xffff", f"{name} 1")
    elif family is Family.SCRATCH:
        names = [spec.name for spec in definition.operands]
        for address in ("v2, off", "off, s2", "off, off", "v2, s2"):
            data = "" if "vdst" not in names and "vdata" not in names and "vsrc" not in names else None
            width = next((s.bits // 32 for s in definition.operands if s.name not in ("vaddr", "saddr")), 1)
            value = "v8" if width <= 1 else f"v[8:{7 + width}]"
            if data is None:
                yield (
                    f"{name} {value}, {address} offset:8"
                    if names[0] not in ("vaddr", "saddr")
                    else f"{name} {address}, {value}"
                )
            else:
                yield f"{name} {address} offset:8"
    elif family is Family.MTBUF:
        width = max(1, definition.operands[0].bits // 32)
        value = "v8" if width == 1 else f"v[8:{7 + width}]"
        yield f"{name} {value}, off, s[8:11], s4 offset:16"
        yield f"{name} {value}, v2, s[8:11], s4 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen offset:16 glc slc"
        yield f"{name} {value}, v2, s[8:11], 0 dfmt:4, nfmt:2 idxen"
    elif not lines_of(definition):
        yield name


def table_lines(target: str) -> list[str]:
    """Lines of every definition of the target, in all forms that the tables know."""
    return [
        line
        for found in isa.definitions().values()
        for definition in found
        if target in definition.targets
        for line in _table_lines(definition)
    ]


def decoded_lines(encodings: Sequence[bytes], target: str, rounds: int, seed: int) -> dict[str, bytes]:
    """Texts that LLVM prints for encodings with up to four bits changed, to those encodings."""
    rng = random.Random(seed)
    pieces: list[bytes] = []
    for code in encodings:
        for _ in range(rounds):
            value = int.from_bytes(code, "little")
            for _ in range(rng.randint(1, 4)):
                value ^= 1 << rng.randrange(8 * len(code))
            pieces.append(value.to_bytes(len(code), "little") + bytes.fromhex("000080bf"))
    found: dict[str, bytes] = {}
    for start in range(0, len(pieces), 1 << 12):
        for item in disassemble(b"".join(pieces[start : start + (1 << 12)]), target):
            # A remark in the middle of a text marks an encoding that is no instruction.
            if item.text is not None and "/*" not in item.text and len(found) < 1 << 20:
                found.setdefault(" ".join(item.text.partition(";")[0].split()), item.encoding)
    return found


def _split(line: str) -> tuple[str, list[str], str]:
    """Mnemonic, operands and modifiers of a line that the tables or the disassembler made."""
    mnemonic, _, rest = line.partition(" ")
    parts = re.split(r",\s*(?![^\[(]*[\])])", rest) if rest else []
    if not parts:
        return mnemonic, [], ""
    last, _, modifiers = parts[-1].partition(" ")
    return mnemonic, [*parts[:-1], last], modifiers


def _other_width(operand: str, rng: random.Random) -> str:
    match = re.fullmatch(r"([-|]*)([sva])(?:(\d+)|\[(\d+):(\d+)\])(\|?)", operand)
    if not match:
        return rng.choice(_SPECIALS)
    first = int(match[3] or match[4])
    width = rng.choice((1, 2, 3, 4, 8, 16))
    start = first + rng.choice((0, 0, 1, 2))
    return f"{match[2]}{start}" if width == 1 else f"{match[2]}[{start}:{start + width - 1}]"


def _other_file(operand: str, rng: random.Random) -> str:
    letter = rng.choice("sva")
    return re.sub(r"\b[sva](?=[\d\[])", letter, operand, count=1)


def _other_number(text: str, rng: random.Random) -> str:
    value = rng.choice(
        ("-1", "0", "3", "15", "16", "63", "64", "255", "256", "4095", "4096", "65535", "65536", "0x100000", "0x1ffffff")
    )
    return re.sub(r"(?<=:)-?(?:0x[0-9a-f]+|\d+)\b", value, text, count=1)


def changed(line: str, names: Sequence[str], rng: random.Random) -> str:
    """The line with one thing changed at random."""
    mnemonic, operands, modifiers = _split(line)
    kind = rng.randrange(10)
    at = rng.randrange(len(operands)) if operands else 0
    if kind == 0 and operands:
        operands[at] = _other_width(operands[at], rng)
    elif kind == 1 and operands:
        operands[at] = _other_file(operands[at], rng)
    elif kind == 2 and operands:
        operands[at] = rng.choice(_LITERALS)
    elif kind == 3 and operands:
        operands[at] = rng.choice(_SPECIALS)
    elif kind == 4 and operands:
        del operands[at]
    elif kind == 5 and operands:
        operands.insert(at, operands[at])
    elif kind == 6:
        modifiers = f"{modifiers} {rng.choice(_MODIFIERS)}".strip()
    elif kind == 7:
        modifiers = _other_number(modifiers, rng)
    elif kind == 8:
        mnemonic = (
            rng.choice(names)
            if rng.random() < 0.5
            else re.sub(r"(_e32|_e64|_sdwa|_dpp)?$", rng.choice(("_e32", "_e64", "_sdwa", "_dpp", "")), mnemonic)
        )
    elif operands:
        operands[at] = rng.choice(("-{}", "|{}|", "-|{}|", "sext({})", "neg({})")).format(operands[at])
    return f"{mnemonic} {', '.join(operands)} {modifiers}".strip()


def changed_lines(lines: Sequence[str], count: int, seed: int) -> list[str]:
    """`count` lines, each one of `lines` with one thing changed."""
    rng = random.Random(seed)
    names = sorted(isa.definitions())
    return [changed(rng.choice(lines), names, rng) for _ in range(count)]
