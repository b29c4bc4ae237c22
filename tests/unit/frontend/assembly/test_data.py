import pytest

from asmevo.frontend.assembly.data import MAX_DATA, DataError, data_bytes, data_instruction


def placed(name: str, text: str) -> bytes:
    return data_bytes(name, text, 0, lambda begin, end: int(text[begin:end], 0))


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        (".byte", " 1, 255, -1", b"\x01\xff\xff"),
        (".short", " 0x1234", b"\x34\x12"),
        (".quad", " -2", b"\xfe" + b"\xff" * 7),
        (".long", "", b""),
        (".zero", " 3", b"\0\0\0"),
        (".skip", " 2, 7", b"\7\7"),
        (".fill", " 2, 3, 0x01020304", b"\4\3\2" * 2),
        (".fill", " 1, 8, -1", b"\xff" * 4 + b"\0" * 4),
        (".ascii", r' "a\n\x41\101", "b"', b"a\nAAb"),
        (".asciz", ' "a"', b"a\0"),
    ],
)
def test_bytes_of_directives(name: str, text: str, code: bytes) -> None:
    assert placed(name, text) == code


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (".byte", " 256", "does not fit in 1 bytes"),
        (".short", " -32769", "does not fit in 2 bytes"),
        (".zero", f" {MAX_DATA + 1}", "places at most"),
        (".zero", " -1", "places at most"),
        (".fill", " 1, 9, 0", "places at most"),
        (".fill", "", "other arguments"),
        (".zero", " 1, 2, 3", "other arguments"),
        (".ascii", ' "a", b', "a string in quotes is missing"),
        (".ascii", ' "a" b', "unexpected text"),
    ],
)
def test_bad_data_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        placed(name, text)


def test_data_stand_as_words_or_bytes() -> None:
    assert [str(item) for item in (data_instruction(b"\1\0\0\0").mnemonic, data_instruction(b"\1").mnemonic)] == [
        ".long",
        ".byte",
    ]
