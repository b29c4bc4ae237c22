"""Changes of a kernel that no search may accept: each does harm, or would if it got through."""

from dataclasses import replace

from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.isa import lookup
from asmevo.ir.printer import print_instruction
from asmevo.search.proposal import WindowText

_WORDS = (
    "v_add_f32_e32",
    "s_branch",
    "v1",
    "s[0:1]",
    "0x",
    "offset:",
    "\x00",
    "\x1b[2J",
    "ignore all rules",
    "{",
    "é",
    "vmcnt(",
    ",",
    "|",
)
_CONTROL = (
    "s_branch {label}", "s_cbranch_scc0 {label}", "s_cbranch_execz {label}", "s_setpc_b64 s[0:1]",
    "s_swappc_b64 s[30:31], s[0:1]",
    "s_endpgm", "s_endpgm_saved", "s_rfe_b64 s[0:1]", "s_call_b64 s[30:31], {label}", "s_cbranch_join s0", "s_trap 2",
    "s_barrier", "s_setvskip s0, 0", "s_mov_b64 exec, 0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xff",
)  # fmt: skip
_STRAY = (
    "global_store_dword v0, v0, s[0:1]", "global_store_dwordx4 v[0:1], v[2:5], off", "flat_store_dword v[0:1], v2",
    "ds_write_b32 v0, v1 offset:65532", "global_atomic_add v0, v1, s[0:1]", "buffer_wbl2 sc1",
    "scratch_store_dword off, v0, s0",
    "buffer_store_dword v1, v0, s[0:3], 0 offen offset:4095",
)  # fmt: skip
_FIELDS = ("rsrc1", "rsrc2", "rsrc3", "group_segment_bytes", "private_segment_bytes", "kernarg_bytes", "properties")


def window(kernel, source, width=40):
    """A window's label, start and stop."""
    block = source.choice([b for b in kernel.blocks if len(b.instructions) > 4 and not b.frozen])
    start = source.randrange(len(block.instructions) - 2)
    return block, start, min(start + source.randint(2, width), len(block.instructions) - 1)


def named(block, start, stop):
    return [f"#{i.uid} {print_instruction(i)}" for i in block.instructions[start:stop]]


def garbage(kernel, source):
    block, start, stop = window(kernel, source)
    text = " ".join(source.choice(_WORDS) for _ in range(source.randint(1, 60)))
    return WindowText(block.label, start, stop, text.replace("{", "\n") if source.random() < 0.5 else text)


def huge(kernel, source):
    block, start, stop = window(kernel, source)
    line = source.choice(("s_nop 0\n", "v_mov_b32_e32 v1, v1\n", "(" * 500, "#1 "))
    return WindowText(block.label, start, stop, line * source.randint(5_000, 200_000))


def control(kernel, source):
    block, start, stop = window(kernel, source)
    lines = named(block, start, stop)
    label = source.choice([block.label, source.choice(kernel.blocks).label])
    lines.insert(source.randrange(len(lines) + 1), source.choice(_CONTROL).format(label=label))
    return WindowText(block.label, start, stop, "\n".join(lines))


def rerouted(kernel, source):
    """A branch that goes to its own block, for ever."""
    places = [
        n
        for n, b in enumerate(kernel.blocks)
        if b.instructions and b.instructions[-1].mnemonic.startswith(("s_branch", "s_cb"))
    ]
    place = source.choice(places)
    block = kernel.blocks[place]
    branch = Instruction(
        block.instructions[-1].mnemonic, (Label(block.label),), definition=block.instructions[-1].definition, uid=90_000
    )
    if source.random() < 0.5:
        branch = replace(branch, uid=block.instructions[-1].uid)
    changed = replace(block, instructions=(*block.instructions[:-1], branch), successors=(block.label,))
    return replace(kernel, blocks=(*kernel.blocks[:place], changed, *kernel.blocks[place + 1 :]))


def stray(kernel, source):
    block, start, stop = window(kernel, source)
    lines = named(block, start, stop)
    lines.insert(source.randrange(len(lines) + 1), source.choice(_STRAY))
    return WindowText(block.label, start, stop, "\n".join(lines))


def _with_one(kernel, source, is_wanted, change):
    """One of the instructions that are wanted is changed, or left out."""
    block, place = source.choice([(b, n) for b in kernel.blocks for n, i in enumerate(b.instructions) if is_wanted(i)])
    lines = named(block, place, place + 1)
    return WindowText(block.label, place, place + 1, "\n".join(change(lines[0])))


def _is_store(instruction):
    return "_store_" in instruction.mnemonic or instruction.mnemonic.startswith("ds_write")


def unwritten(kernel, source):
    return _with_one(kernel, source, _is_store, lambda line: [])


def misplaced(kernel, source):
    offset = source.choice((4, 8, 64, 1024, 4092))
    return _with_one(kernel, source, _is_store, lambda line: [f"{line.split(' offset:')[0]} offset:{offset}"])


def too_many_registers(kernel, source):
    def change(line):
        head, _, rest = line.partition(" v")
        digits = rest.split(",")[0].split(" ")[0]
        return [f"{head} v{source.randint(kernel.descriptor.vgpr_count, 255)}{rest[len(digits) :]}"]

    return _with_one(
        kernel,
        source,
        lambda i: i.mnemonic.startswith("v_") and " v" in print_instruction(i)[:40] and "[" not in print_instruction(i),
        change,
    )


def redeclared(kernel, source):
    field = source.choice(_FIELDS)
    value = getattr(kernel.descriptor, field) ^ 1 << source.randrange(16)
    descriptor = replace(kernel.descriptor, **{field: value})
    if source.random() < 0.7:
        from asmevo.frontend.descriptor import encode_descriptor

        descriptor = replace(descriptor, raw=encode_descriptor(descriptor))
    return replace(kernel, descriptor=descriptor)


def by_pointer(kernel, source):
    """Adds one to what a store reads when it has some value, as a pointer or a datum would in another launch."""
    block, place = source.choice([(b, n) for b in kernel.blocks for n, i in enumerate(b.instructions) if _is_store(i)])
    data = next(o for o in print_instruction(block.instructions[place]).replace(",", " ").split()[1:] if o.startswith("v"))
    first = data.strip("v[]").split(":")[0]
    value = source.getrandbits(31)
    lines = [
        f"v_readfirstlane_b32 vcc_hi, v{first}",
        f"s_cmp_eq_u32 vcc_hi, 0x{value:x}",
        "s_cselect_b32 vcc_lo, 1, 0",
        f"v_add_u32_e32 v{first}, vcc_lo, v{first}",
    ]
    return WindowText(block.label, place, place + 1, "\n".join((*lines, *named(block, place, place + 1))))


def forged(kernel, source):
    """Says one thing in its text and another in its bytes and definition."""
    block, start, _ = window(kernel, source)
    at = kernel.blocks.index(block)
    evil = replace(
        block.instructions[start], mnemonic="v_mov_b32_e32", definition=lookup("s_nop"), encoding=b"\x00\x00\x80\xbf"
    )
    changed = replace(block, instructions=(*block.instructions[:start], evil, *block.instructions[start + 1 :]))
    return replace(kernel, blocks=(*kernel.blocks[:at], changed, *kernel.blocks[at + 1 :]))


KINDS = (
    garbage, huge, control, rerouted, stray, unwritten, misplaced, too_many_registers, redeclared, by_pointer, forged,
)  # fmt: skip
