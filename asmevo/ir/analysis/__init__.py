"""Read-only facts derived from a kernel, cached by the manager."""
