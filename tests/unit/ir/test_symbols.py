import pytest

from asmevo.ir.symbols import SymbolError, swizzle_text, symbol_value


def arguments(text: str) -> list[str]:
    return text[text.index("(") + 1 : -1].replace(" ", "").split(",")


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("swizzle(QUAD_PERM,0,1,2,3)", 0x80E4),
        ("swizzle(BROADCAST,16,0)", 0x0010),
        ("swizzle(BROADCAST,4,3)", 0x007C),
        ("swizzle(SWAP,1)", 0x041F),
        ("swizzle(REVERSE,4)", 0x0C1F),
        ('swizzle(BITMASK_PERM,"0000p")', 0x0001),
        ("swizzle(ROTATE,1,3)", 0xC460),
        ("swizzle(FFT,5)", 0xE005),
    ],
)
def test_a_swizzle_packs_and_prints_back(text: str, offset: int) -> None:
    assert symbol_value("swizzle", arguments(text)) == offset
    assert swizzle_text(offset) == text


def lane_after(offset: int, lane: int) -> int:
    return ((lane & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)


def test_the_text_of_a_bit_mask_moves_lanes_as_its_number_does() -> None:
    for offset in range(0, 0x8000, 7):
        again = symbol_value("swizzle", arguments(swizzle_text(offset)))
        assert [lane_after(again, lane) for lane in range(32)] == [lane_after(offset, lane) for lane in range(32)]


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("hwreg", ["HW_REG_NONE"]),
        ("hwreg", ["64"]),
        ("hwreg", ["HW_REG_MODE", "0"]),
        ("hwreg", ["HW_REG_MODE", "0", "33"]),
        ("hwreg", ["HW_REG_MODE", "0", "0"]),
        ("sendmsg", ["MSG_NONE"]),
        ("sendmsg", []),
        ("gpr_idx", ["SRC3"]),
        ("swizzle", []),
        ("swizzle", ["QUAD_PERM", "0", "1", "2", "4"]),
        ("swizzle", ["SWAP", "32"]),
        ("swizzle", ["REVERSE", "3"]),
        ("swizzle", ["BITMASK_PERM", '"00p1"']),
        ("swizzle", ["WHIRL"]),
        ("nosuch", []),
    ],
)
def test_what_the_field_cannot_hold_is_refused(function: str, given: list[str]) -> None:
    with pytest.raises(SymbolError):
        symbol_value(function, given)
