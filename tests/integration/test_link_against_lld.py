"""The linker against lld 19 on random sources: whatever both link is the same in everything that is loaded."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from asmevo.backend.link import link
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.llvm import assemble_object

LLD = shutil.which("ld.lld-19")
GETPC = "s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, {0}@gotpcrel32@lo+4\ns_addc_u32 s1, s1, {0}@gotpcrel32@hi+12"
READ_ONLY = ('.section .rodata,"a",@progbits', '.section .rodata.{0},"a",@progbits', '.section .own{0},"a",@progbits')
WRITTEN = (
    ".data",
    '.section .data.{0},"aw",@progbits',
    '.section .data.rel.ro,"aw",@progbits',
    '.section .mine{0},"aw",@progbits',
)
ZEROED = (".bss", '.section .room{0},"aw",@nobits')
CODE = (".text", '.section .text.{0},"ax",@progbits')
NOTE, UNLOADED = '.section .note.own{0},"a",@note', '.section .info{0},"",@progbits'


def random_source(choose: random.Random) -> str:
    """Sections of every kind with symbols of every visibility, offset table uses, and pointers."""
    lines = [".text", ".p2align 8", "s_endpgm"]
    names: list[str] = []
    for number in range(choose.randint(1, 12)):
        name = f"s{number}"
        names.append(name)
        section = choose.choice((*READ_ONLY, *WRITTEN, *ZEROED, *CODE, *CODE, NOTE, UNLOADED))
        alignments = (2, 8, 8) if section in CODE else (0, 2, 3, 4, 6, 8, 12, 13)
        lines += [section.format(number), f".p2align {choose.choice(alignments)}"]
        visibility = choose.choice(("local", "default", "protected", "hidden", "weak"))
        lines += [] if visibility == "local" else [f"{'.weak' if visibility == 'weak' else '.globl'} {name}"]
        lines += [f".{visibility} {name}"] if visibility in ("protected", "hidden") else []
        lines += [f".protected {name}"] if visibility == "weak" else []
        lines.append(f"{name}:")
        if section in CODE:
            lines += [choose.choice(("s_nop 0", GETPC.format(choose.choice(names)))) for _ in range(choose.randint(1, 4))]
        elif section in ZEROED:
            lines.append(f".zero {choose.choice((1, 4, 100, 4096, 5000))}")
        elif section in WRITTEN:
            pointer = f".p2align 3\n.quad {choose.choice(names)}+{choose.choice((0, 8))}"
            lines.append(choose.choice((".long 5", pointer, ".zero 4100, 1")))
        else:
            lines.append(
                '.long 4, 4, 77\n.asciz "ABC"\n.long 5' if section == NOTE else choose.choice((".long 7", ".zero 777, 3"))
            )
    for number in range(choose.choice((0, 0, 3, 30))):
        lines += [".data", f".globl v{number}", f"v{number}: .long {number}"]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@pytest.mark.skipif(LLD is None, reason="ld.lld-19 is not installed")
def test_random_sources_link_as_lld_links_them(tmp_path: Path) -> None:
    assert LLD is not None
    choose, compared = random.Random(7), 0
    source, target = tmp_path / "source.o", tmp_path / "target.so"
    for _ in range(200):
        text = random_source(choose)
        made = assemble_object(text, "gfx942", hsa=True)
        assert not made.errors, made.errors
        # LLVM's own trailing note and padding are part of the object for both.
        source.write_bytes(made.object)
        done = subprocess.run(
            [LLD, "-shared", "--no-undefined", "-o", target, source], capture_output=True, text=True, check=False
        )
        try:
            ours = elf_reader.read(link(made.object, "ours"), "ours")
        except DiagnosticError:
            # What cannot be linked, neither links.
            assert done.returncode, text
            continue
        if done.returncode:
            continue
        lld = elf_reader.read(target.read_bytes(), "lld")
        assert ours.segments == lld.segments, text
        for theirs in (section for section in lld.sections if section.is_loaded):
            section = ours.section(theirs.name)
            assert section == theirs, text
            assert ours.contents(section) == lld.contents(theirs), text
        compared += 1
    assert compared > 100
