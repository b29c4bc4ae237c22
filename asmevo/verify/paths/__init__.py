"""Whether a path through a kernel can be taken."""
