"""Measurements of the search."""
