import numpy as np
import pytest

from asmevo.backend.launch import PointerSlot
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.abi import KernelArgument, KernelMetadata
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.data import POISON
from asmevo.verify.launch.dispatches import load_launches

VISIBLE = (
    KernelArgument("x", 0, 8, "global_buffer"),
    KernelArgument("out", 8, 8, "global_buffer"),
    KernelArgument("n", 16, 4, "by_value"),
)
HIDDEN = (
    KernelArgument("", 24, 4, "hidden_block_count_x"),
    KernelArgument("", 28, 2, "hidden_group_size_x"),
    KernelArgument("", 30, 2, "hidden_remainder_x"),
    KernelArgument("", 32, 8, "hidden_global_offset_x"),
    KernelArgument("", 40, 2, "hidden_grid_dims"),
    KernelArgument("", 44, 4, "hidden_dynamic_lds_size"),
)
HEAD = "version = 1\nworkgroup = [64]\n"
ARGS = """args = [
  { name = "x", buffer = ["n"], dtype = "f32", fill = "arange" },
  { name = "out", buffer = ["n"], dtype = "f32", role = "out" },
  { name = "n", scalar = "n", dtype = "i32" },
]
"""
CASE = "[[case]]\ngrid = [2]\nvalues = { n = 6 }\n"


def kernel(arguments=VISIBLE + HIDDEN, **options):
    metadata = KernelMetadata("k", "k.kd", arguments, **options)
    return Kernel("k", "gfx942", (), (), None, metadata)


@pytest.fixture
def load(tmp_path):
    def read(text, of=None):
        path = tmp_path / "launch.toml"
        path.write_text(text)
        return load_launches(path, of or kernel())

    return read


def test_a_case_becomes_a_dispatch(load):
    (dispatch,) = load(HEAD + ARGS + CASE)
    assert (dispatch.name, dispatch.grid, dispatch.workgroup) == ("case0", (2, 1, 1), (64, 1, 1))
    assert dispatch.pointers == (PointerSlot(0, 0), PointerSlot(8, 1))
    assert np.frombuffer(dispatch.buffers[0].data.tobytes(), np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert int.from_bytes(dispatch.kernarg[16:20], "little") == 6


def test_roles(load):
    source, target = load(HEAD + ARGS + CASE)[0].buffers
    assert (source.writable, source.defined) == (False, True)
    assert (target.writable, target.defined) == (True, False)
    assert (target.data == POISON).all()


def test_hidden_arguments_come_from_the_launch(load):
    (dispatch,) = load(HEAD + "dynamic_lds_bytes = 512\n" + ARGS + CASE)
    words = [
        int.from_bytes(dispatch.kernarg[a:b], "little") for a, b in ((24, 28), (28, 30), (30, 32), (32, 40), (40, 42), (44, 48))
    ]
    assert words == [2, 64, 0, 0, 1, 512]


def test_names_place_arguments_whatever_their_order(load):
    reordered = """args = [
      { name = "n", scalar = 7, dtype = "i32" },
      { name = "out", buffer = [4], dtype = "f32", role = "out" },
      { name = "x", buffer = [4], dtype = "f32", fill = "zeros" },
    ]
    """
    (dispatch,) = load(HEAD + reordered + CASE)
    assert dispatch.pointers == (PointerSlot(8, 0), PointerSlot(0, 1))
    assert dispatch.kernarg[16:20] == b"\7\0\0\0"


def test_without_names_position_decides(load):
    unnamed = tuple(KernelArgument("", a.offset, a.size, a.value_kind) for a in VISIBLE)
    (dispatch,) = load(HEAD + ARGS + CASE, kernel(unnamed))
    assert [slot.offset for slot in dispatch.pointers] == [0, 8]


def test_without_metadata_natural_alignment_packs(load):
    args = """args = [
      { scalar = 1, dtype = "i32" },
      { name = "b", buffer = [4], dtype = "u8", fill = "zeros" },
      { scalar = -1, dtype = "i16" },
      { pointer = "b", offset = 3 },
      { bytes = "aabb", at = 40 },
    ]
    """
    (dispatch,) = load(HEAD + args + CASE, Kernel("k", "gfx942", (), ()))
    assert dispatch.pointers == (PointerSlot(8, 0), PointerSlot(24, 0, 3))
    assert dispatch.kernarg[16:18] == b"\xff\xff"
    assert dispatch.kernarg[40:] == b"\xaa\xbb"


def test_a_case_overrides_the_top(load):
    dispatches = load(HEAD + ARGS + CASE + '[[case]]\nname = "b"\ngrid = [1, 2]\nworkgroup = [8, 8]\nvalues = { n = 3 }\n')
    assert [d.workgroup for d in dispatches] == [(64, 1, 1), (8, 8, 1)]
    assert [d.buffers[0].data.size for d in dispatches] == [24, 12]


def test_array_of_tables_form(load):
    head = '[[args]]\nbuffer = [2]\ndtype = "u8"\n'
    tables = f'{head}fill = "zeros"\n{head}role = "out"\n[[args]]\nscalar = 2\ndtype = "i32"\n'
    assert len(load(HEAD + tables + CASE)[0].buffers) == 2


def test_the_same_file_gives_the_same_bytes(load):
    text = HEAD + ARGS.replace('"arange"', '"normal"') + CASE
    assert load(text)[0].buffers[0].data.tobytes() == load(text)[0].buffers[0].data.tobytes()


def test_an_unfilled_argument_may_be_zero_if_the_file_says_so(load):
    more = kernel((*VISIBLE, KernelArgument("scratch", 24, 8, "global_buffer")))
    with pytest.raises(DiagnosticError, match=r"E0226.*scratch"):
        load(HEAD + ARGS + CASE, more)
    (dispatch,) = load(HEAD + 'rest = "zero"\n' + ARGS + CASE, more)
    assert dispatch.kernarg[24:32] == bytes(8)


@pytest.mark.parametrize(
    ("old", "new", "code", "shown"),
    [
        ("version = 1", "version = 2", "E0222", "2"),
        ("version = 1\n", "", "E0222", None),
        ("workgroup = [64]", "workgroup = [64", "E0221", None),
        ("workgroup = [64]", "workgroups = [64]", "E0222", "[64]"),
        ("workgroup = [64]", "workgroup = [0]", "E0224", "[0]"),
        ("workgroup = [64]", "workgroup = [64, 32]", "E0224", "[64, 32]"),
        ("workgroup = [64]\n", "", "E0224", "[[case]]"),
        ("workgroup = [64]", 'workgroup = [64]\nkernel = "other"', "E0223", '"other"'),
        ("grid = [2]", "grid = [1.5]", "E0222", "[1.5]"),
        ("grid = [2]", 'grid = ["m"]', "E0224", '["m"]'),
        ("n = 6", "n = 6.5", "E0224", '["n"]'),
        ("n = 6", "n = 0", "E0225", '["n"]'),
        ("n = 6", "n = 600000000", "E0225", '["n"]'),
        ('name = "x"', 'name = "y"', "E0226", '"y"'),
        ('dtype = "i32"', 'dtype = "i64"', "E0226", "{"),
        ('dtype = "i32"', 'dtype = "int"', "E0225", '"int"'),
        ('fill = "arange"', 'fill = "random"', "E0225", '"random"'),
        ('fill = "arange"', 'role = "in"', "E0225", "{"),
        ('fill = "arange"', 'fill = "integers", low = -inf, high = 5', "E0225", "-inf"),
        ('fill = "arange"', 'fill = "integers", low = nan, high = 5', "E0225", "nan"),
        ('fill = "arange"', 'fill = "uniform", low = 2, high = 1', "E0225", "{"),
        ('fill = "arange"', 'fill = "special", share = 0', "E0225", "0"),
        ('fill = "arange"', 'fill = "special", share = 1.5', "E0225", "1.5"),
        ('fill = "arange"', 'fill = "special", share = nan', "E0225", "nan"),
        ('dtype = "f32", fill = "arange"', 'dtype = "i32", fill = "special"', "E0225", '"special"'),
        ('role = "out"', 'role = "out", fill = "zeros"', "E0225", '"zeros"'),
        ('role = "out"', 'role = "output"', "E0222", '"output"'),
        ('scalar = "n"', "scalar = 3000000000", "E0225", "3000000000"),
        ('scalar = "n"', 'pointer = "x"', "E0226", "{"),
        ('scalar = "n"', 'scalar = "n", bytes = "00"', "E0225", "{"),
        ('scalar = "n"', 'bytes = "0g"', "E0225", '"0g"'),
        ('scalar = "n"', 'scaler = "n"', "E0222", '"n"'),
    ],
)
def test_what_is_wrong_is_refused_where_it_stands(load, old, new, code, shown):
    with pytest.raises(DiagnosticError) as caught:
        load((HEAD + ARGS + CASE).replace(old, new))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    if shown:
        span = diagnostic.span
        assert span.source[span.column - 1 :].startswith(shown)


def test_a_missing_file_and_binary_data_are_refused(tmp_path):
    with pytest.raises(DiagnosticError, match="E0220"):
        load_launches(tmp_path / "none.toml", kernel())
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DiagnosticError, match="E0220"):
        load_launches(tmp_path / "b.toml", kernel())


def test_the_kernels_own_limits_hold(load):
    with pytest.raises(DiagnosticError, match="takes 32"):
        load(HEAD + ARGS + CASE, kernel(max_flat_workgroup_size=32))


def test_pointers_must_stay_inside(load):
    args = 'args = [{ name = "b", buffer = [4], dtype = "u8", fill = "zeros" }, { pointer = "b", offset = 5 }]\n'
    with pytest.raises(DiagnosticError, match="outside 'b'"):
        load(HEAD + args + CASE, Kernel("k", "gfx942", (), ()))


@pytest.mark.parametrize(
    "text",
    [
        # Eight gigabytes of doubles for one gigabyte of bytes.
        'args = [{ name = "x", buffer = [1000000000], dtype = "u8", fill = "integers", low = 0, high = 9 }]\n[[case]]\n',
        'args = [{ name = "x", buffer = [30000000], dtype = "u8", role = "out" }]\n'
        + "".join(f'[[case]]\nname = "{number}"\n' for number in range(40)),
    ],
    ids=["wide fill", "many cases"],
)
def test_small_elements_and_many_cases_take_bounded_memory(load, text):
    with pytest.raises(DiagnosticError) as caught:
        load(HEAD + "grid = [1]\n" + 'rest = "zero"\n' + text)
    assert caught.value.diagnostics[0].code == "E0225"


def test_hidden_arguments_of_version_4_are_filled(load):
    kinds = ("global_offset_x", "global_offset_y", "global_offset_z", "none", "none", "none", "multigrid_sync_arg")
    hidden = tuple(KernelArgument("", 24 + 8 * n, 8, f"hidden_{kind}") for n, kind in enumerate(kinds))
    (dispatch,) = load(HEAD + ARGS + CASE, kernel(VISIBLE + hidden))
    assert dispatch.kernarg[24:] == bytes(56)


def test_a_kernarg_segment_beyond_all_bounds_is_refused(load):
    huge = (*VISIBLE, KernelArgument("", 1 << 30, 8, "hidden_heap_v1"))
    with pytest.raises(DiagnosticError, match=r"E0226.*1073741832 bytes"):
        load(HEAD + ARGS + CASE, kernel(huge))
