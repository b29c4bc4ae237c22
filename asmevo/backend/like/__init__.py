"""An object with the edits of its listing in it, and nothing else changed."""

from asmevo.backend.like.merge import assemble_like

__all__ = ["assemble_like"]
