"""The parser's face: a line to an instruction, a source file to a kernel. Owns no logic of its own."""

from asmevo.frontend.line import parse_line
from asmevo.frontend.source import parse_source

__all__ = ["parse_line", "parse_source"]
