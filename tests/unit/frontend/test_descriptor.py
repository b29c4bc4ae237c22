from __future__ import annotations

import random
from dataclasses import replace

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.descriptor import encode_descriptor, parse_descriptor, with_entry


def test_fields_and_reserved_bytes_survive() -> None:
    source = random.Random(11)
    for _ in range(200):
        raw = source.randbytes(64)
        assert encode_descriptor(parse_descriptor(raw, "x")) == raw


def test_an_edit_changes_its_field_only() -> None:
    raw = bytes(range(64))
    edited = encode_descriptor(replace(parse_descriptor(raw, "x"), rsrc1=0))
    assert [i for i in range(64) if edited[i] != raw[i]] == [48, 49, 50, 51]
    moved = with_entry(parse_descriptor(raw, "x"), -256)
    assert moved.entry_offset == -256
    assert moved.raw == raw[:16] + (-256).to_bytes(8, "little", signed=True) + raw[24:]


def test_a_short_descriptor_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_descriptor(bytes(63), "x")
    assert caught.value.diagnostics[0].code == "E0110"
