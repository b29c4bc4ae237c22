"""The order in which a listing's edits go into the object.

Data and functions first, since they move nothing; then kernels from the last to the first, since what grows moves only what
stands behind it.
"""

from __future__ import annotations

from dataclasses import replace

from asmevo.backend.like.code import Coded, encode_piece, pieces_of
from asmevo.backend.like.facts import Patch, data_patches, descriptor_edits, in_step, metadata_edit
from asmevo.backend.like.kernel import edited_kernel
from asmevo.backend.listing.reader import Document, read_listing
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import fail
from asmevo.frontend.codeobject import CodeObject, KernelEntry, load
from asmevo.frontend.metadata import kernels_of, unpack
from asmevo.frontend.recover import recover
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.kernel import Kernel

_TARGET_MARK = "--"


def assemble_like(obj: CodeObject, text: str, file: str) -> bytes:
    """Return `obj` with the edits that `text`, its listing, has: an unedited listing gives the identical file.

    A listing of some of the kernels leaves the others as they are. Instructions may be edited, added and removed in kernels,
    and replaced by as many bytes in device functions and data. Descriptor directives and the metadata's figures may be edited.

    Raises E0112 for a listing for another chip, E0603 and E0604 for an instruction that cannot be encoded, E012x for one that
    is not understood, E0620 to E0624 for what such a listing cannot have, each with line and column; and as `writer.rebuild`.
    """
    document = read_listing(text, file)
    _check_target(obj, document)
    coded = [encode_piece(piece, document, obj.target) for piece in pieces_of(obj, document) if piece.statements]
    edited = [one for one in coded if not _is_as_before(obj, one)]
    patches = data_patches(obj, document)
    descriptors = descriptor_edits(obj, document)
    note = metadata_edit(obj, document)
    codes = {one.piece.region.start: one for one in edited if one.piece.region.kernels}
    patches += [_function(obj, one, document) for one in edited if not one.piece.region.kernels]
    if not (patches or codes or descriptors or note):
        return obj.data
    metadata = _metadata(obj, descriptors, note)
    result = _patched(obj, patches)
    for entry in sorted(obj.kernels, key=lambda entry: entry.start, reverse=True):
        one = codes.get(entry.start)
        if one is not None or entry.name in descriptors or entry.name in metadata:
            kernel = _kernel(result, entry, one, document, descriptors.get(entry.name), metadata.get(entry.name))
            result = load(rebuild(result, kernel), obj.name)
    if note is not None and unpack(_note(result), file, 0) != unpack(note, file, 0):
        opening = document.metadata[0] if document.metadata else None
        span = document.span(opening) if opening is not None else None
        help = "edit figures such as .vgpr_count, .sgpr_count and .group_segment_fixed_size only"
        fail("E0624", "this change of the metadata cannot be written", span, help)
    return result.data


def _check_target(obj: CodeObject, document: Document) -> None:
    statement = document.target
    if statement is None:
        return
    chip = statement.text.rpartition(_TARGET_MARK)[2].strip('" \t').split(":")[0]
    if chip != obj.target:
        document.fail("E0112", f"the listing is for {chip}, the object for {obj.target}", statement)


def _is_as_before(obj: CodeObject, coded: Coded) -> bool:
    region = coded.piece.region
    start = obj.text.offset + region.start
    code = coded.code
    if code == obj.data[start : obj.text.offset + region.stop]:
        return True
    # Bytes behind the last whole word of .text stand in the listing, but in no region.
    end = obj.text.size & ~3
    return region.stop == end < obj.text.size and code == obj.data[start : obj.text.offset + obj.text.size]


def _function(obj: CodeObject, coded: Coded, document: Document) -> Patch:
    region = coded.piece.region
    code = coded.code
    if len(code) != region.stop - region.start:
        what = f"{len(code)} bytes of code instead of {region.stop - region.start}: only kernels can grow or shrink"
        document.fail("E0624", what, coded.piece.statements[0], "replace instructions by as many bytes, or fill up with s_nop")
    return Patch(obj.text.offset + region.start, code)


def _patched(obj: CodeObject, patches: list[Patch]) -> CodeObject:
    if not patches:
        return obj
    data = bytearray(obj.data)
    for patch in patches:
        data[patch.place : patch.place + len(patch.data)] = patch.data
    return load(bytes(data), obj.name)


def _metadata(obj: CodeObject, descriptors: dict[str, KernelDescriptor], note: bytes | None) -> dict[str, KernelMetadata]:
    """The kernels whose metadata changes: as the text says, else in step with the descriptor."""
    wanted = {entry.name: entry.metadata for entry in obj.kernels}
    if note is not None:
        wanted |= {kernel.name: kernel for kernel in kernels_of(unpack(note, obj.name, 0), obj.name, 0)}
    else:
        for entry in obj.kernels:
            if (new := descriptors.get(entry.name)) is not None:
                wanted[entry.name] = in_step(entry.metadata, entry.descriptor, new)
    return {entry.name: wanted[entry.name] for entry in obj.kernels if wanted.get(entry.name) != entry.metadata}


def _kernel(
    obj: CodeObject,
    entry: KernelEntry,
    coded: Coded | None,
    document: Document,
    descriptor: KernelDescriptor | None,
    metadata: KernelMetadata | None,
) -> Kernel:
    kernel = recover(obj, entry.name)
    if coded is not None:
        kernel = edited_kernel(kernel, coded, document, descriptor)
    return replace(kernel, descriptor=descriptor or kernel.descriptor, metadata=metadata or kernel.metadata)


def _note(obj: CodeObject) -> bytes:
    return obj.data[obj.note[0] : sum(obj.note)]
