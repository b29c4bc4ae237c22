"""Proofs over every path of a kernel: waits, wait states, registers, resources, barriers."""
