"""The code object: a linked AMDGPU ELF file and the kernels in it.

Owns saying what a file is, why it cannot be used, and where each kernel's descriptor, entry and code lie. It reads no
instruction. Symbol sizes are not trusted (production kernels carry 0), nor is the descriptor's kernarg size.

Source: LLVM AMDGPUUsage, "ELF Code Object".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asmevo.diagnostics import Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.descriptor import DESCRIPTOR_BYTES, parse_descriptor
from asmevo.frontend.elf import ElfFile, Header, Section, Symbol
from asmevo.frontend.metadata import NT_AMDGPU_METADATA, kernels_of, unpack
from asmevo.ir.abi import KernelDescriptor, KernelMetadata

EM_AMDGPU, _EM_X86_64, _OS_ABI_HSA = 224, 62, 64
_ABI_VERSIONS = range(1, 5)
_MACHINES = {0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950"}
_OTHER_MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904",
    0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3A: "gfx602", 0x3B: "gfx705", 0x3C: "gfx805",
    0x3D: "gfx1035", 0x3E: "gfx1034", 0x40: "gfx940", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103",
    0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x49: "gfx1250", 0x4A: "gfx1151", 0x4B: "gfx941",
    0x4E: "gfx1201", 0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic",
    0x55: "gfx1152", 0x59: "gfx12-generic", 0x5F: "gfx9-4-generic",
}  # fmt: skip
_XNACK = {0x100: "any", 0x200: "off", 0x300: "on"}
_SRAMECC = {0x400: "any", 0x800: "off", 0xC00: "on"}
_ENTRY_ALIGNMENT = 256
_PROBE_BYTES = 512
_WORD = 4


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """Where one kernel lies in its object.

    `descriptor_place` is a file offset; `entry` the offset of the entry in .text; `start` and `stop` bound the part of
    .text that it owns, multiples of 4: up to the next kernel or function, trailing padding included.
    """

    name: str
    symbol: str
    descriptor: KernelDescriptor
    metadata: KernelMetadata
    descriptor_address: int
    descriptor_place: int
    entry: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class CodeObject:
    """A checked code object. `data` is the whole file; `xnack` and `sramecc` are any, on, off or "" when unsupported."""

    data: bytes
    name: str
    target: str
    abi_version: int
    xnack: str
    sramecc: str
    elf: ElfFile
    text: Section
    symbols: tuple[Symbol, ...]
    kernels: tuple[KernelEntry, ...]
    note: tuple[int, int]
    """File offset and size of the metadata."""

    def kernel(self, name: str | None = None) -> KernelEntry:
        """Return the kernel of this name, or the only one. Raises E0109 naming the kernels there are."""
        if name is None and len(self.kernels) == 1:
            return self.kernels[0]
        for entry in self.kernels:
            if entry.name == name:
                return entry
        shown = ", ".join(entry.name for entry in self.kernels[:20]) + (", ..." if len(self.kernels) > 20 else "")
        what = f"no kernel is called '{name}'" if name is not None else f"there are {len(self.kernels)} kernels: name one"
        fail("E0109", what, Span(self.name), f"kernels in the object: {shown}")

    def code(self, entry: KernelEntry) -> bytes:
        """Return the part of .text that the kernel owns."""
        return self.data[self.text.offset + entry.start : self.text.offset + entry.stop]


def load_file(path: Path | str) -> CodeObject:
    """Read and check a code object. Raises E0113 when the file cannot be read, otherwise as `load`."""
    try:
        with Path(path).open("rb") as file:
            # One byte more than is allowed is refused by the ELF reader.
            data = file.read(elf_reader.MAX_FILE + 1)
    except OSError as error:
        fail("E0113", f"cannot read '{path}': {error.strerror or error}", Span(str(path)))
    except ValueError as error:
        fail("E0113", f"cannot read {str(path)!r}: {error}", Span(str(path)))
    return load(data, str(path))


def load(data: bytes, name: str) -> CodeObject:
    """Check a code object and find its kernels.

    Raises a DiagnosticError for whatever is wrong: E0101 no ELF file, E0102 damaged, E0103 not for an AMD GPU, E0104 not
    linked, E0105 code object version, E0106 chip, E0107 metadata, E0109 no kernel, E0110 descriptor, E0111 code.
    """
    if data[:4] != b"\x7fELF":
        what, help = foreign_kind(data)
        fail("E0101", what, Span(name, offset=0), help)
    elf = elf_reader.read(data, name)
    target = check_header(elf.header, name)
    text = _text_section(elf)
    symbols = tuple(elf_reader.symbols(elf))
    metadata, note = _metadata(elf)
    if not metadata:
        fail("E0109", "the object has no kernel", Span(name))
    return CodeObject(
        data=data,
        name=name,
        target=target,
        abi_version=elf.header.abi_version,
        xnack=_XNACK.get(elf.header.flags & 0x300, ""),
        sramecc=_SRAMECC.get(elf.header.flags & 0xC00, ""),
        elf=elf,
        text=text,
        symbols=symbols,
        kernels=_kernels(elf, text, symbols, metadata),
        note=note,
    )


def foreign_kind(data: bytes) -> tuple[str, str | None]:
    """Return what a file is that is no ELF file, and what to do with it (None when nothing is known)."""
    if not data:
        return "the file is empty", None
    if data.startswith((b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")):
        return "an offload bundle, not a code object", "choose one of its code objects: FILE!MEMBER"
    if b"__CLANG_OFFLOAD_BUNDLE____START__" in data[:_PROBE_BYTES]:
        return "an offload bundle of texts, not a code object", "unbundle it with clang-offload-bundler, then assemble and link"
    if data.startswith(b"!<arch>\n"):
        return "an archive, not a code object", "choose one of its code objects: FILE!MEMBER"
    if data.startswith(b"!<thin>\n"):
        return "a thin archive: its members are other files", "name one of those files"
    if data.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b")):
        return "LLVM bitcode, not a code object", "compile it to a code object first"
    if b"\0" not in data[:_PROBE_BYTES]:
        return (
            "a text file, not a code object",
            "make an object of it first: of assembly with `asmevo asm`, of HIP or OpenCL with its compiler",
        )
    return "not an ELF file", None


def target_id(header: Header) -> str:
    """Return an AMD GPU object's target ID, such as gfx942:sramecc+:xnack-, supported or not; "" for another machine."""
    if header.machine != EM_AMDGPU:
        return ""
    number = header.flags & 0xFF
    chip = _MACHINES.get(number) or _OTHER_MACHINES.get(number, f"machine 0x{number:02x}")
    features = (("sramecc", _SRAMECC.get(header.flags & 0xC00)), ("xnack", _XNACK.get(header.flags & 0x300)))
    signs = {"on": "+", "off": "-"}
    return chip + "".join(f":{name}{signs[state]}" for name, state in features if state in signs)


def check_header(header: Header, name: str, kind: int = elf_reader.ET_DYN) -> str:
    """Return the chip of an object of this ELF type; raises E0103 to E0106 when it is of another kind or unsupported."""
    if header.machine != EM_AMDGPU:
        is_host = header.machine == _EM_X86_64
        help = "a host program: choose one of its code objects: FILE!MEMBER" if is_host else None
        fail("E0103", f"ELF machine {header.machine} is not an AMD GPU ({EM_AMDGPU})", Span(name, offset=18), help)
    if header.kind != kind:
        wanted = "relocatable" if kind == elf_reader.ET_REL else "linked"
        is_relocatable = header.kind == elf_reader.ET_REL
        what = (
            "a relocatable object that is not linked" if is_relocatable else f"ELF type {header.kind} is not {wanted} ({kind})"
        )
        help = "link it: asmevo.backend.link, or ld.lld -shared" if is_relocatable else None
        fail("E0104", what, Span(name, offset=16), help)
    if header.os_abi != _OS_ABI_HSA:
        fail("E0103", f"OS ABI {header.os_abi} is not AMD HSA ({_OS_ABI_HSA})", Span(name, offset=7))
    if header.abi_version not in _ABI_VERSIONS:
        older = "code object version 2, " if header.abi_version == 0 else ""
        what = f"{older}ELF ABI version {header.abi_version}: code object versions 3 to 6 are read (ABI versions 1 to 4)"
        fail("E0105", what, Span(name, offset=8), "build it again with -mcode-object-version=5" if older else None)
    number = header.flags & 0xFF
    if number not in _MACHINES:
        chip = _OTHER_MACHINES.get(number, f"machine 0x{number:02x}")
        fail("E0106", f"{chip} is not supported", Span(name, offset=48), f"supported: {', '.join(_MACHINES.values())}")
    return _MACHINES[number]


def _text_section(elf: ElfFile) -> Section:
    text = elf.section(".text")
    if text is None:
        fail("E0111", "there is no .text section (stripped of its section headers?)", Span(elf.file))
    if not text.has_contents or not text.flags & elf_reader.SHF_EXECINSTR or text.address % _WORD:
        fail("E0111", ".text is empty, not executable or misaligned", Span(elf.file, offset=text.offset))
    return text


def _metadata(elf: ElfFile) -> tuple[tuple[KernelMetadata, ...], tuple[int, int]]:
    for note in elf_reader.notes(elf):
        if note.owner == b"AMDGPU" and note.kind == NT_AMDGPU_METADATA and note.size:
            found = unpack(elf.data[note.offset : note.offset + note.size], elf.file, note.offset)
            return kernels_of(found, elf.file, note.offset), (note.offset, note.size)
    fail("E0107", "there is no AMDGPU metadata note", Span(elf.file))


@dataclass(frozen=True, slots=True)
class _Located:
    metadata: KernelMetadata
    descriptor: KernelDescriptor
    address: int
    place: int
    entry: int


def _kernels(
    elf: ElfFile, text: Section, symbols: Sequence[Symbol], metadata: Sequence[KernelMetadata]
) -> tuple[KernelEntry, ...]:
    addresses = {symbol.name: symbol.value for symbol in symbols if symbol.section}
    located = [_locate(elf, text, addresses, kernel) for kernel in metadata]
    if len({kernel.name for kernel in metadata}) != len(metadata):
        fail("E0107", "metadata: two kernels have the same name", Span(elf.file))
    ends = text.size & ~(_WORD - 1)
    functions = (s.value - text.address for s in symbols if s.kind == elf_reader.STT_FUNC and s.section == text.index)
    starts = sorted({k.entry for k in located} | {f for f in functions if 0 <= f < ends and f % _WORD == 0})
    entries: list[KernelEntry] = []
    for kernel in located:
        following = bisect_right(starts, kernel.entry)
        entries.append(
            KernelEntry(
                name=kernel.metadata.name,
                symbol=kernel.metadata.symbol,
                descriptor=kernel.descriptor,
                metadata=kernel.metadata,
                descriptor_address=kernel.address,
                descriptor_place=kernel.place,
                entry=kernel.entry,
                # What stands before the first function can only belong to it: padding, as a rule.
                start=0 if following == 1 else kernel.entry,
                stop=starts[following] if following < len(starts) else ends,
            )
        )
    return tuple(entries)


def _locate(elf: ElfFile, text: Section, addresses: dict[str, int], metadata: KernelMetadata) -> _Located:
    file, name = elf.file, metadata.name
    address = addresses.get(metadata.symbol)
    if address is None:
        fail("E0110", f"kernel '{name}': no symbol '{metadata.symbol}' for its descriptor", Span(file))
    place = elf.at_address(address, DESCRIPTOR_BYTES)
    if place is None:
        fail("E0110", f"kernel '{name}': its descriptor at address 0x{address:x} is outside the loaded sections", Span(file))
    descriptor = parse_descriptor(elf.data[place : place + DESCRIPTOR_BYTES], file, place)
    entry = address + descriptor.entry_offset - text.address
    where = Span(file, offset=place + 16)
    if not 0 <= entry < text.size & ~(_WORD - 1):
        fail("E0111", f"kernel '{name}': its entry is outside .text (offset {entry} of {text.size} bytes)", where)
    if (text.address + entry) % _ENTRY_ALIGNMENT:
        fail("E0111", f"kernel '{name}': its entry is not aligned to {_ENTRY_ALIGNMENT} bytes", where)
    if text.offset <= place < text.offset + text.size:
        fail("E0110", f"kernel '{name}': its descriptor lies inside .text", where)
    return _Located(metadata, descriptor, address, place, entry)
