"""A code object as labelled assembly that an assembler, and `asmevo asm`, make the same code object of."""

from asmevo.backend.listing.document import Options, print_object

__all__ = ["Options", "print_object"]
