"""Fills beyond the plain ones, sprinkles, sweeps, buffers behind pointers, and what is refused of them."""

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.launch import BufferLink, Tolerance
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.data import SPRINKLES, Fill, element_types, fill_values, special_classes, special_values
from asmevo.verify.launch.dispatches import parse_launches
from unit.backend.emulator.small_kernels import kernel as small

HEAD = "version = 1\ngrid = [1]\nworkgroup = [64]\n"


def load(text, target="gfx942"):
    return parse_launches(HEAD + text, "launch.toml", Kernel("k", target, (), ()))


def buffer(keys, target="gfx942"):
    (made,) = load(f'args = [{{ name = "b", {keys} }}]\n', target)[0].buffers
    return element_types(target)[made.dtype].decode(made.data)


def test_each_row_is_a_permutation():
    rows = buffer('buffer = [5, 9], dtype = "i32", fill = "permutation", low = 3').reshape(5, 9)
    assert (np.sort(rows, axis=1) == np.arange(3, 12)).all()
    assert len({tuple(row) for row in rows.tolist()}) > 1


def test_indices_are_distinct_in_each_row():
    rows = buffer('buffer = [50, 4], dtype = "i32", fill = "indices", high = 8').reshape(50, 4)
    assert all(len(set(row)) == 4 for row in rows.tolist())
    assert (rows.min(), rows.max()) == (0, 7)


def test_pages_are_distinct_everywhere():
    table = buffer('buffer = [4, 8], dtype = "i32", fill = "pages", low = 2, high = 40')
    assert len(set(table.tolist())) == 32
    assert table.min() >= 2
    assert table.max() < 40


@pytest.mark.parametrize(("count", "low", "high"), [(2, 0, 0), (5, 0, 100), (5, 25, 100), (9, 3, 64)])
def test_offsets_rise_to_their_end(count, low, high):
    starts = buffer(f'buffer = [{count}], dtype = "i32", fill = "offsets", low = {low}, high = {high}')
    assert (starts[0], starts[-1], len(starts)) == (0, high, count)
    assert (np.diff(starts) >= low).all()


def test_a_list_is_repeated():
    assert buffer('buffer = [5], dtype = "i32", fill = "list", data = [7, 8]').tolist() == [7, 8, 7, 8, 7]
    text = 'values = { n = 3 }\nargs = [{ buffer = [1], dtype = "f32", fill = "list", data = ["n"] }]\n'
    assert load(text)[0].buffers[0].data.view(np.float32).tolist() == [3.0]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "fp8", "bf8"])
@pytest.mark.parametrize("name", SPRINKLES)
def test_sprinkles_are_of_their_class(dtype, target, name):
    element = element_types(target)[dtype]
    values = buffer(
        f'buffer = [400], dtype = "{dtype}", fill = "constant", value = 1, sprinkle = ["{name}"], share = 0.3', target
    )
    encoded = element.encode(np.array(special_classes(element)[name])).reshape(-1, element.size)
    allowed = {row.tobytes() for row in encoded}
    bits = {element.encode(np.array([value])).tobytes() for value in values[values != 1]}
    assert bits
    assert bits <= allowed
    assert 0.15 < (values != 1).mean() < 0.45


def test_sprinkles_of_ocp_and_fnuz_differ():
    text = 'buffer = [200], dtype = "fp8", fill = "zeros", sprinkle = ["largest"], share = 1'
    assert np.abs(buffer(text, "gfx942")).max() == 240
    assert np.abs(buffer(text, "gfx950")).max() == 448


def test_special_is_normal_with_every_class():
    element = element_types("gfx942")["f16"]
    plain = Fill("normal", 4, specials=special_values(element))
    special = Fill("special", 4, specials=special_values(element))
    assert np.array_equal(fill_values(plain, 99), fill_values(special, 99), equal_nan=True)


def test_a_sweep_is_a_launch_for_each_choice():
    text = """
values = { m = 5 }
sweep = { n = [1, 2] }
args = [{ name = "b", buffer = ["n", "m"], dtype = "u8", fill = "zeros" }]
[[case]]
name = "a"
[[case]]
name = "b"
sweep = { m = [3, 4] }
"""
    found = {d.name: d.buffers[0].data.size for d in load(text)}
    assert found == {
        "a, n = 1": 5, "a, n = 2": 10, "b, n = 1, m = 3": 3, "b, n = 1, m = 4": 4, "b, n = 2, m = 3": 6, "b, n = 2, m = 4": 8,
    }  # fmt: skip


def test_a_cases_seed_changes_all_contents():
    text = 'args = [{ buffer = [8], dtype = "f32", fill = "normal" }]\n[[case]]\n[[case]]\nseed = 1\n[[case]]\nseed = 1\n'
    one, two, three = (d.buffers[0].data.tobytes() for d in load(text))
    assert one != two
    assert two == three


def test_pointers_lead_to_buffers_that_no_argument_holds():
    text = """
args = [{ name = "table", buffer = [4], dtype = "u64", fill = "pointers", to = ["page", "", "out"] },
        { name = "out", buffer = [64], dtype = "u32", role = "out" }]
buffers = [{ name = "page", buffer = [64], dtype = "u32", fill = "arange" }]
"""
    (launch,) = load(text)
    assert launch.links == (BufferLink(0, 0, 2), BufferLink(0, 16, 1))
    code = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
s_load_dwordx8 s[8:15], s[4:5], 0x0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[8:9]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[12:13]
"""
    result = run(small(code), launch)
    assert result.faults == ()
    assert result.buffers[1].view(np.uint32).tolist() == list(range(64))


def test_tolerances_go_to_the_buffer():
    text = 'args = [{ buffer = [4], dtype = "f16", role = "out", compare = { ulps = 2, relative = 1e-3 } }, ' + (
        '{ buffer = [4], dtype = "f16", role = "out", compare = "exact" }]\n'
    )
    loose, exact = load(text)[0].buffers
    assert loose.tolerance == Tolerance(ulps=2, relative=1e-3)
    assert exact.tolerance is None


@pytest.mark.parametrize(
    ("keys", "code", "shown"),
    [
        ('buffer = [4], dtype = "i32", fill = "indices", high = 3', "E0225", "{"),
        ('buffer = [2, 4], dtype = "i32", fill = "pages", high = 7', "E0225", "{"),
        ('buffer = [4], dtype = "i32", fill = "pages", high = 4000000000', "E0225", "4000000000"),
        ('buffer = [2, 4], dtype = "i32", fill = "offsets", high = 7', "E0225", "[2, 4]"),
        ('buffer = [1], dtype = "i32", fill = "offsets", high = 7', "E0225", "[1]"),
        ('buffer = [4], dtype = "i32", fill = "offsets", low = 3, high = 8', "E0225", "{"),
        ('buffer = [4], dtype = "i32", fill = "list"', "E0225", '"list"'),
        ('buffer = [4], dtype = "i32", fill = "zeros", data = [1]', "E0225", "[1]"),
        ('buffer = [4], dtype = "i32", fill = "list", data = [1.5]', "E0225", "[1.5]"),
        ('buffer = [4], dtype = "i32", fill = "list", data = []', "E0222", "[]"),
        ('buffer = [4], dtype = "i32", fill = "list", data = [nan]', "E0225", "[nan]"),
        ('buffer = [4], dtype = "f32", fill = "normal", sprinkle = ["nans"]', "E0225", '["nans"]'),
        ('buffer = [4], dtype = "f32", fill = "normal", sprinkle = []', "E0225", "[]"),
        ('buffer = [4], dtype = "i32", fill = "zeros", sprinkle = ["nan"]', "E0225", '["nan"]'),
        ('buffer = [4], dtype = "u32", fill = "pointers", to = ["b"]', "E0225", '"u32"'),
        ('buffer = [4], dtype = "u64", fill = "pointers"', "E0225", '"pointers"'),
        ('buffer = [1], dtype = "u64", fill = "pointers", to = ["b", "b"]', "E0225", '["b", "b"]'),
        ('buffer = [4], dtype = "u64", fill = "pointers", to = ["c"]', "E0225", '["c"]'),
        ('buffer = [4], dtype = "f32", role = "out", compare = {}', "E0225", "{}"),
        ('buffer = [4], dtype = "f32", role = "out", compare = { ulps = -1 }', "E0222", "{ ulps"),
        ('buffer = [4], dtype = "f32", role = "out", compare = { ulp = 1 }', "E0222", None),
        ('buffer = [4], dtype = "f32", role = "out", compare = { absolute = nan }', "E0222", None),
        ('buffer = [4], dtype = "f32", role = "out", compare = "close"', "E0222", '"close"'),
        ('buffer = [4], dtype = "i32", role = "out", compare = { ulps = 1 }', "E0225", "{ ulps"),
        ('buffer = [4], dtype = "f32", fill = "zeros", compare = { ulps = 1 }', "E0225", "{ ulps"),
    ],
)
def test_what_is_wrong_is_refused_where_it_stands(keys, code, shown):
    with pytest.raises(DiagnosticError) as caught:
        load(f'args = [\n  {{ scalar = 1, dtype = "f32" }},\n  {{ name = "b", {keys} }},\n]\n')
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    assert diagnostic.span.line == 6
    if shown:
        assert diagnostic.span.source[diagnostic.span.column - 1 :].startswith(shown)


@pytest.mark.parametrize(
    ("text", "code", "shown"),
    [
        ("sweep = { n = [] }\n", "E0224", "{ n"),
        (f"sweep = {{ n = {list(range(101))}, m = {list(range(10))} }}\n", "E0224", "{ n"),
        ('sweep = { n = ["x"] }\n', "E0222", None),
        ('args = []\nbuffers = [{ buffer = [1], dtype = "u8", fill = "zeros" }]\n', "E0225", "{ buffer"),
        ('args = []\nbuffers = [{ name = "x", at = 8, buffer = [1], dtype = "u8", fill = "zeros" }]\n', "E0225", "8"),
        ('args = []\nbuffers = [{ name = "x", scaler = 1 }]\n', "E0222", "1"),
        ("seed = -1\n", "E0222", "-1"),
    ],
)
def test_what_is_wrong_at_the_top_is_refused_where_it_stands(text, code, shown):
    with pytest.raises(DiagnosticError) as caught:
        load(text)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    if shown:
        assert diagnostic.span.source[diagnostic.span.column - 1 :].startswith(shown)


def test_the_place_is_found_behind_braces_in_strings_comments_and_tables():
    text = """args = [
  { name = "a}{", scalar = 1, dtype = "f32" }, # } { a comment
  { name = "b", buffer = [1], dtype = "f32", role = "out", compare = { ulps = 1 } },
  { name = "c", scalar = 1, dtype = "f33" },
]
"""
    with pytest.raises(DiagnosticError) as caught:
        load(text)
    assert caught.value.diagnostics[0].span.line == 7


HUGE = "0x" + "f" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        f'buffer = [4], dtype = "f32", fill = "constant", value = {HUGE}',
        f'buffer = [4], dtype = "f32", fill = "normal", scale = {HUGE}',
        f'buffer = [4], dtype = "u32", fill = "integers", high = {HUGE}',
        f'buffer = [4], dtype = "f64", fill = "list", data = [{HUGE}]',
        f'scalar = {HUGE}, dtype = "f64"',
        f'scalar = {HUGE}, dtype = "u64"',
        'buffer = [4], dtype = "f32", fill = "uniform", low = 0, high = inf',
        'buffer = [4], dtype = "f64", fill = "uniform", low = -1.5e308, high = 1.5e308',
        'buffer = [4], dtype = "f64", fill = "uniform", low = nan, high = 1',
    ],
)
def test_numbers_beyond_what_a_float_holds_are_refused(arguments):
    with pytest.raises(DiagnosticError) as caught:
        load(f'args = [{{ name = "b", {arguments} }}]\n')
    (found,) = caught.value.diagnostics
    assert found.code in ("E0224", "E0225")
    assert found.span is not None
    assert found.span.line > 0


def test_numbers_that_a_fill_does_not_use_may_be_anything():
    assert buffer('buffer = [3], dtype = "f32", fill = "constant", value = 2, high = inf').tolist() == [2, 2, 2]
