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
_OWN_LINES: dict[str, tuple[str, ...]] = {
    "s_getreg_b32": ("s8, hwreg(HW_REG_MODE)", "s8, hwreg(HW_REG_GPR_ALLOC, 3, 7)", "vcc_lo, 0x1802"),
    "s_setreg_b32": ("hwreg(HW_REG_MODE, 0, 4), s8", "hwreg(1), exec_lo"),
    "s_setreg_imm32_b32": ("hwreg(HW_REG_MODE, 4, 4), 0xf", "hwreg(HW_REG_TRAPSTS), 0x12345678"),
    "s_set_gpr_idx_on": ("s8, gpr_idx(SRC0)", "m0, gpr_idx(SRC0,SRC1,SRC2,DST)", "5, gpr_idx()", "s8, 3"),
    "s_atc_probe": ("3, s[12:13], 0x40", "0, s[12:13], s4"),
    "s_atc_probe_buffer": ("3, s[12:15], 0x40", "7, s[12:15], s4"),
    "v_accvgpr_mov_b32": ("a8, a10",),
    "v_accvgpr_read_b32": ("v8, a10",),
    "v_accvgpr_write_b32": ("a8, v10", "a8, s4", "a8, 1.0", "a8, -5"),
    "v_writelane_b32": ("v8, s8, 5", "v8, s8, m0", "v8, -3, s4", "v8, exec_lo, exec_lo", "v8, 7, vcc_lo"),
    "buffer_inv": ("", "sc0", "sc1", "sc0 sc1", "sc1 nt"),
    "buffer_wbl2": ("", "sc0", "sc1", "glc", "sc0 sc1 nt"),
    "buffer_invl2": ("", "scc"),
    "buffer_wbinvl1": ("",),
    "buffer_wbinvl1_vol": ("",),
}
"""Operands and modifiers of opcodes whose operands the specifications do not tell: constants, words, one register file."""

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
    yield from (f"{name} {rest}".strip() for rest in _OWN_LINES.get(name, ()))
    if family is Family.SOPP:
        yield from (name, f"{name} 0", f"{name} 0xffff", f"{name} 1")
    elif family is Family.SCRATCH:
        yield from _scratch_lines(definition)
    elif family is Family.DS and name.startswith("ds_gws_"):
        value = " v8" if definition.operands else ""
        yield from (f"{name}{value} gds", f"{name}{value} offset:16 gds")
    elif family is Family.MTBUF:
        value = _vector_register(8, definition.operands[0].bits)
        yield f"{name} {value}, off, s[8:11], s4 offset:16"
        yield f"{name} {value}, v2, s[8:11], s4 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen offset:16 glc slc"
        yield f"{name} {value}, v2, s[8:11], 0 dfmt:4, nfmt:2 idxen"
    elif not lines_of(definition):
        yield name


def _scratch_lines(definition: OpcodeDef) -> Iterator[str]:
    """The four ways to address a lane's memory, with the value where the specification has it."""
    for vaddr, saddr in (("v2", "off"), ("off", "s2"), ("off", "off"), ("v2", "s2")):
        given = {"vaddr": vaddr, "saddr": saddr}
        operands = [given.get(spec.name) or _vector_register(8, spec.bits) for spec in definition.operands]
        yield f"{definition.mnemonic} {', '.join(operands)} offset:8"
        if len(operands) == 2:
            yield f"{definition.mnemonic} {', '.join(operands)} offset:-4 lds"


def _vector_register(first: int, bits: int) -> str:
    return f"v{first}" if bits <= 32 else f"v[{first}:{first + bits // 32 - 1}]"


def lines_by_mnemonic(target: str) -> dict[str, list[str]]:
    """Lines of every definition of the target, in all forms that the tables know, by mnemonic."""
    return {
        mnemonic: lines
        for mnemonic, found in isa.definitions().items()
        if (lines := [line for item in found if target in item.targets for line in _table_lines(item)])
    }


def table_lines(target: str) -> list[str]:
    """The lines of every mnemonic of the target."""
    return [line for lines in lines_by_mnemonic(target).values() for line in lines]


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
