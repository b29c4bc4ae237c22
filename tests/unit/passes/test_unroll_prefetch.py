"""Whatever the loop holds, what the pass makes of it is proved."""

from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.unroll_prefetch import UnrollPrefetch
from asmevo.verify.judge import Judge, Level
from asmevo.verify.verdict import Outcome

HEAD = """
k:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v9, 0
  v_mov_b32_e32 v14, 0
  v_mov_b32_e32 v15, 0
  s_mov_b64 s[6:7], 0
  s_mov_b32 s9, 0
  s_mov_b64 s[10:11], exec
  s_mov_b64 s[20:21], exec
  s_mov_b64 s[22:23], exec
"""
TAIL = """
  s_cbranch_execnz loop
end:
  s_mov_b64 exec, s[10:11]
  global_store_dword v9, v6, s[4:5]
  s_endpgm
"""
ADDRESS = st.sampled_from(
    [
        "v_mov_b32_e32 v4, v0",
        "v_lshlrev_b32_e32 v4, 2, v0",
        "v_add_u32_e32 v4, s9, v0",
        "v_add_u32_e32 v4, v5, v0",
        "v_mov_b32_e32 v1, v0\n  v_lshl_add_u32 v4, v1, 2, v0",
    ]
)
LOAD = st.sampled_from(
    [
        ("global_load_dword v1, v4, s[2:3]", "v1"),
        ("global_load_dwordx2 v[2:3], v4, s[2:3]", "v3"),
        ("global_load_dword v4, v4, s[2:3]", "v4"),
        ("global_load_dword v1, v4, s[2:3]\n  global_load_dword v2, v4, s[2:3] offset:4", "v2"),
    ]
)
NEXT = st.permutations(
    [
        "v_add_u32_e32 v0, 0x400, v0",
        "s_add_i32 s9, s9, 4",
        "s_nop 0",
    ]
).map("\n  ".join)
USE = st.sampled_from(
    [
        "v_add_f32_e32 v6, v6, {}",
        "v_add_f32_e32 v6, v6, {}\n  v_add_u32_e32 v5, 4, v5",
        "ds_add_u32 v9, {}",
        "v_mov_b32_e32 v5, {}",
        "global_store_dword v9, {}, s[4:5]",
    ]
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(address=ADDRESS, load=LOAD, following=NEXT, use=USE, most=st.sampled_from([2, 4]))
def test_what_is_unrolled_is_proved(address, load, following, use, most):
    text, data = load
    lines = [address, text, following, "v_cmp_le_u32_e32 vcc, s8, v0", "s_or_b64 s[6:7], vcc, s[6:7]", "s_waitcnt vmcnt(0)"]
    lines += [use.format(data), "s_waitcnt lgkmcnt(0)", "s_andn2_b64 exec, exec, s[6:7]"]
    kernel = parse_source(HEAD + "loop:\n  " + "\n  ".join(lines) + TAIL)
    result = PassManager([UnrollPrefetch(most=most)]).run(kernel)
    if result.changed:
        found = Judge(Level.SMT, timeout_s=60.0)(kernel, result.kernel)
        assert found.outcome is Outcome.PROVED, found.reason + "\n" + print_kernel(result.kernel)
        assert max(result.executions[i.uid] for i in result.kernel.block("loop").instructions) < 16
