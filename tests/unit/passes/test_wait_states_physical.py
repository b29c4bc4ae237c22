"""A pair that is close by the compiler's reading, but kept apart by a busy matrix unit, stays apart when that moves away."""

from asmevo.frontend.parser import parse_source
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.passes.wait_states import AllowedShortfalls, with_body
from asmevo.verify.static.hazards import new_hazard_findings

SOURCE = """k:
  v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
  v_mfma_f32_32x32x8_f16 a[16:31], v[0:1], v[2:3], a[16:31]
  v_accvgpr_read_b32 v20, a0
  s_endpgm
"""


def test_what_filled_the_time_must_not_move_away():
    kernel = parse_source(SOURCE)
    block = kernel.blocks[0]
    allowed = AnalysisManager(kernel).get(AllowedShortfalls)
    assert allowed.exceeded_by(kernel, block.label) == []
    first, second, read, end = block.instructions
    moved = with_body(kernel, block.label, (second, first, read, end))
    assert allowed.exceeded_by(moved, block.label)
    assert new_hazard_findings(kernel, moved).findings


def test_a_physical_trim_counts_on_no_unit_that_a_wait_may_have_outlasted():
    kernel = parse_source("""k:
      v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[26:27], v[0:15]
      ds_read_b64 v[28:29], v22
      s_waitcnt lgkmcnt(0)
      v_perm_b32 v18, v28, v29, s0
      s_nop 1
      v_mfma_f32_32x32x8_f16 v[0:15], v[18:19], v[26:27], v[0:15]
      s_endpgm
    """)
    after = PassManager(parse_pipeline("nop-trim{physical=true}")).run(kernel).kernel
    assert new_hazard_findings(kernel, after).findings == ()


def test_passes_after_a_physical_trim_are_accepted():
    kernel = parse_source(SOURCE.replace("  v_acc", "  s_nop 15\n  v_acc"))
    text = "nop-trim{physical=true},list-schedule,nop-trim{physical=true}"
    after = PassManager(parse_pipeline(text)).run(kernel).kernel
    assert new_hazard_findings(kernel, after).findings == ()
