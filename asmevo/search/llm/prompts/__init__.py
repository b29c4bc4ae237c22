"""Prompt templates, as files: one folder a version, which never changes once released."""
