"""The edits of a listing outside its code: data, descriptors and metadata.

Owns comparing what the text says with what the object's own listing says, statement by statement: what is equal stays byte for
byte, whatever it is. Writing the results is `merge`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmevo.backend.like.code import data_bytes
from asmevo.backend.listing.data import context_of, data_sections, section_statements
from asmevo.backend.listing.descriptor import DESCRIPTOR_HEAD, ENTRY_FIELD, descriptor_lines
from asmevo.backend.listing.document import features, metadata_statements
from asmevo.backend.listing.metadata import BEGIN, END, metadata_of
from asmevo.backend.listing.reader import Block, Document, Section, Statement, read_listing
from asmevo.diagnostics import Diagnostic, DiagnosticError
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.frontend.descriptor import DESCRIPTOR_BYTES, parse_descriptor
from asmevo.frontend.untrusted import assemble_untrusted
from asmevo.ir.abi import KernelDescriptor, KernelMetadata

_ALIGNMENTS = (".p2align", ".balign")


@dataclass(frozen=True, slots=True)
class Patch:
    """Bytes for a place in the file."""

    place: int
    data: bytes


def data_patches(obj: CodeObject, document: Document) -> list[Patch]:
    """The edits of data sections.

    Raises E0621 for what is no plain number, E0623 for an unknown section, E0624 when a section would get another size.
    """
    sections = {section.name: section for section in data_sections(obj)}
    patches: list[Patch] = []
    context = context_of(obj, features(obj))
    own_note = _own(metadata_statements(obj).lines)
    for written in document.sections:
        if written.name == ".note":
            _compare_note(own_note, written, document)
            continue
        if all(statement.text.startswith(_ALIGNMENTS) for statement in written.statements):
            continue
        section = sections.get(written.name)
        if section is None:
            document.fail("E0623", f"the object has no section '{written.name}'", written.statements[0])
        listed = section_statements(obj, section, context)
        own = _own(listed.lines)
        if [statement.text for statement in own] == [statement.text for statement in written.statements]:
            continue
        if len(own) != len(written.statements):
            what = f"section '{written.name}' has {len(written.statements)} statements instead of {len(own)}"
            document.fail("E0624", what, written.statements[0], "replace numbers by numbers; data cannot grow or shrink")
        for old, new in zip(own, written.statements, strict=True):
            if old.text == new.text:
                continue
            place = listed.places[old.line - 1]
            patches.append(_patch(obj, section, old, new, place, document))
    return patches


def _own(lines: Sequence[str]) -> list[Statement]:
    document = read_listing("\n".join(lines), "<object>")
    return [statement for section in document.sections for statement in section.statements]


def _compare_note(own: Sequence[Statement], written: Section, document: Document) -> None:
    for index, statement in enumerate(written.statements):
        if index >= len(own) or own[index].text != statement.text:
            document.fail("E0624", "metadata that is listed as bytes cannot be edited", statement)


def _patch(
    obj: CodeObject, section: elf_reader.Section, old: Statement, new: Statement, place: int | None, document: Document
) -> Patch:
    if place is None or not section.has_contents:
        document.fail("E0621", "this statement has no bytes in the file and cannot be edited", new)
    data = data_bytes(new, document)
    size = len(data_bytes(old, Document("<object>", [old.text] * old.line)))
    if len(data) != size:
        document.fail("E0624", f"{len(data)} bytes of data instead of {size}: data cannot grow or shrink", new)
    return Patch(section.offset + place, data)


def descriptor_edits(obj: CodeObject, document: Document) -> dict[str, KernelDescriptor]:
    """The kernels whose descriptor directives were edited, with the new descriptor.

    Raises E0620 at a directive that LLVM refuses, E0623 for an unknown kernel.
    """
    entries = {entry.name: entry for entry in obj.kernels}
    edits: dict[str, KernelDescriptor] = {}
    for block in document.descriptors:
        entry = entries.get(block.name)
        if entry is None:
            document.fail("E0623", f"the object has no kernel '{block.name}'", block.opening)
        lines = descriptor_lines(entry.name, entry.descriptor, obj.target, features(obj))
        own = [line.strip() for line in (lines or ())[1:-1]]
        if own != [statement.text for statement in block.statements]:
            descriptor = _descriptor(obj, entry, block, document)
            if descriptor != entry.descriptor:
                edits[entry.name] = descriptor
    return edits


def _descriptor(obj: CodeObject, entry: KernelEntry, block: Block, document: Document) -> KernelDescriptor:
    texts = [statement.text for statement in block.statements]
    source = "\n".join([*DESCRIPTOR_HEAD, *texts, ".end_amdhsa_kernel", ""])
    made = assemble_untrusted(source, obj.target, features(obj), document.file)
    if made.errors:
        raise DiagnosticError(
            *(_refusal(error.message, error.line - len(DESCRIPTOR_HEAD) - 1, block, document) for error in made.errors)
        )
    elf = elf_reader.read(made.object, obj.name)
    section = elf.section(".rodata")
    raw = elf.contents(section)[:DESCRIPTOR_BYTES] if section is not None else b""
    own = entry.descriptor.raw
    return parse_descriptor(raw[: ENTRY_FIELD.start] + own[ENTRY_FIELD] + raw[ENTRY_FIELD.stop :], obj.name)


def _refusal(message: str, index: int, block: Block, document: Document) -> Diagnostic:
    statement = block.statements[index] if 0 <= index < len(block.statements) else block.opening
    return Diagnostic("E0620", message, document.span(statement))


def metadata_edit(obj: CodeObject, document: Document) -> bytes | None:
    """The new contents of the metadata note; None when its text was not edited. Raises E0620 for YAML that LLVM refuses."""
    if document.metadata is None:
        return None
    own = [line.rstrip() for line in metadata_statements(obj).lines]
    texts = tuple(statement.text for statement in document.metadata)
    if own and own[0].strip() == BEGIN and own[1:-1] == list(texts):
        return None
    made = assemble_untrusted("\n".join((BEGIN, *texts, END, "")), obj.target, features(obj), document.file)
    raw = metadata_of(made)
    if raw is None:
        first = next((s for s, line in zip(document.metadata, own[1:], strict=False) if s.text != line), document.metadata[-1])
        document.fail("E0620", "the metadata is refused from here on", first)
    return None if raw == obj.data[obj.note[0] : sum(obj.note)] else raw


def in_step(metadata: KernelMetadata, old: KernelDescriptor, new: KernelDescriptor) -> KernelMetadata:
    """Metadata whose figures follow a descriptor that changed; those of fields that did not change, and absent ones, stay."""
    figures = {
        "vgpr_count": (old.vgpr_count, new.vgpr_count),
        "agpr_count": (_agprs(old), _agprs(new)),
        "sgpr_count": (old.sgpr_count, new.sgpr_count),
        "group_segment_bytes": (old.group_segment_bytes, new.group_segment_bytes),
        "private_segment_bytes": (old.private_segment_bytes, new.private_segment_bytes),
        "kernarg_bytes": (old.kernarg_bytes, new.kernarg_bytes),
    }
    changed = {
        name: after for name, (before, after) in figures.items() if before != after and getattr(metadata, name) is not None
    }
    return replace(metadata, **changed)


def _agprs(descriptor: KernelDescriptor) -> int:
    return max(descriptor.vgpr_count - descriptor.accum_offset, 0)
