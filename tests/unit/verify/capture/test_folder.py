"""Reading captured dispatches: what is tolerated and what is refused, with the file that is wrong."""

import json
import os

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.verify.capture.folder import check_contents, contents, read_capture
from captures import BASE, base_of, write_regions

DISPATCH = {"mangled_name": "k.kd", "grid": [512, 2, 1], "block": [256, 1, 1], "group_segment_size": 64}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "capture"
    (made / "memory").mkdir(parents=True)
    (made / "kernarg.bin").write_bytes(bytes(range(16)))
    (made / "dispatch.json").write_text(json.dumps(DISPATCH))
    write_regions(made, [b"abcd" * 4, b"xy" * 8])
    return made


def refusal(folder):
    with pytest.raises(DiagnosticError) as caught:
        read_capture(folder)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0229"
    return diagnostic


def test_a_capture_is_read(folder):
    found = read_capture(folder)
    assert (found.kernel, found.grid, found.workgroup, found.group_segment_bytes) == ("k", (2, 2, 1), (256, 1, 1), 64)
    assert found.kernarg == bytes(range(16))
    assert [(r.base, r.size_bytes) for r in found.regions] == [(BASE, 16), (base_of(1), 16)]
    assert contents(found, found.regions[1]) == b"xy" * 8


def test_addresses_lead_to_regions(folder):
    found = read_capture(folder)
    first, second = found.regions
    assert [found.region_at(a) for a in (BASE - 1, BASE, BASE + 15, BASE + 16)] == [None, first, first, None]
    assert found.region_at(base_of(1) + 15) is second
    assert found.region_at((1 << 64) - 1) is None


def test_the_folder_of_a_reproducer_has_the_capture_inside(folder):
    assert read_capture(folder.parent).folder == folder


def test_what_a_capture_may_lack(folder):
    (folder / "kernarg.bin").rename(folder / "kernarg_raw.bin")
    (folder / "dispatch.json").write_text(json.dumps({"grid": [64], "block": [64], "unheard_of": {"of": []}}))
    (folder / "memory_regions.json").write_text(json.dumps({"regions": [{"base": 4096, "size": 0}]}))
    found = read_capture(folder)
    assert (found.kernel, found.grid, found.group_segment_bytes, found.regions) == (None, (1, 1, 1), 0, ())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"grid": [500, 1, 1]}, "500 work-items and a work-group 256"),
        ({"grid": "many"}, "'grid' is no list"),
        ({"grid": []}, "'grid' is no list"),
        ({"grid": [1, 1, 1, 1]}, "'grid' is no list"),
        ({"grid": [1.5]}, "'grid' is 1.5, no whole number"),
        ({"grid": [True]}, "'grid' is True"),
        ({"grid": [-256]}, "'grid' is -256"),
        ({"grid": [1 << 40]}, "no whole number from 0 to"),
        ({"block": [0, 1, 1]}, "'block' has a side of 0"),
        ({"block": None}, "'block' is no list"),
        ({"group_segment_size": -1}, "'group_segment_size' is -1"),
        ({"mangled_name": ["k"]}, "'mangled_name' is no name"),
        ({"mangled_name": "k" * 5000}, "'mangled_name' is no name"),
    ],
)
def test_a_dispatch_that_is_impossible(folder, change, told):
    (folder / "dispatch.json").write_text(json.dumps({**DISPATCH, **change}))
    diagnostic = refusal(folder)
    assert told in diagnostic.message
    assert diagnostic.span.file.endswith("dispatch.json")


@pytest.mark.parametrize(
    ("regions", "told"),
    [
        ([], "memory regions is no JSON object"),
        ({}, "no list 'regions'"),
        ({"regions": {}}, "no list 'regions'"),
        ({"regions": [1]}, "a region is no JSON object"),
        ({"regions": [{"base": 1}]}, "'size' is None"),
        ({"regions": [{"base": "7f", "size": 1}]}, "'base' is '7f'"),
        ({"regions": [{"base": (1 << 64) - 4, "size": 8}]}, "ends beyond all addresses"),
        ({"regions": [{"base": 0, "size": 9}, {"base": 8, "size": 9}]}, "overlap"),
        ({"regions": [{"base": 0, "size": 0}] * 65537}, "more than 65536 regions"),
    ],
)
def test_regions_that_are_impossible(folder, regions, told):
    (folder / "memory_regions.json").write_text(json.dumps(regions))
    assert told in refusal(folder).message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not valid JSON"),
        ("{" * 200_000, "not valid JSON"),
        ("[" * 200_000, "it nests too deep"),
        ('{"grid": [NaN]}', "NaN is no JSON number"),
        (b"\xff\xfe\xff", "not valid JSON"),
        (" " * ((1 << 23) + 1), "more than 8388608 bytes"),
    ],
)
def test_text_that_is_no_json(folder, text, told):
    (folder / "dispatch.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert told in refusal(folder).message


def test_a_number_of_thousands_of_digits_is_refused(folder):
    # Some Pythons do not read it, others do and it is too large.
    (folder / "dispatch.json").write_text('{"block": [1], "grid": [' + "9" * 6000 + "]}")
    assert refusal(folder).span.file.endswith("dispatch.json")


@pytest.mark.parametrize("name", ["dispatch.json", "memory_regions.json", "kernarg.bin"])
def test_a_file_that_is_missing_or_none(folder, name):
    (folder / name).unlink()
    assert refusal(folder).message == "no such file"
    os.mkfifo(folder / name)
    assert refusal(folder).message == "no regular file"


def test_kernarg_that_is_too_long(folder):
    (folder / "kernarg.bin").write_bytes(bytes(65537))
    assert refusal(folder).message == "more than 65536 bytes"


def test_no_folder(folder):
    assert "no folder" in refusal(folder / "dispatch.json").message


@pytest.mark.parametrize("what", ["missing", "short", "long", "outside"])
def test_contents_that_are_not_the_regions(folder, what):
    capture = read_capture(folder)
    path = capture.regions[0].path
    size = path.stat().st_size
    path.unlink()
    told = {"missing": "no such file", "short": "15 bytes of a region of 16", "long": "17 bytes", "outside": "leads out"}[what]
    if what == "outside":
        (folder.parent / "secret").write_bytes(bytes(size))
        path.symlink_to(folder.parent / "secret")
    elif what != "missing":
        path.write_bytes(bytes(size + (1 if what == "long" else -1)))
    for check in (check_contents, contents):
        with pytest.raises(DiagnosticError, match=told):
            check(capture, capture.regions[0])
