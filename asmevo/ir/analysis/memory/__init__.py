"""Addresses and what accesses do to memory."""
