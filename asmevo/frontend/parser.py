"""The parser's face: a line to an instruction, a source to its kernels. Owns no logic of its own."""

from asmevo.frontend.line import parse_line
from asmevo.frontend.source import SourceModule, parse_module, parse_source

__all__ = ["SourceModule", "parse_line", "parse_module", "parse_source"]
