"""Where all lanes are known to be on."""

from asmevo.ir.analysis.dataflow.exec_full import ExecFull, full_at_entry
from asmevo.ir.analysis.manager import AnalysisManager
from programs import kernel_of

TEXT = """
entry:
    s_cbranch_scc1 other
restored:
    s_mov_b64 exec, -1
    s_branch join
other:
    s_nop 0
join:
    s_and_b64 exec, exec, s[4:5]
exit:
    s_endpgm
"""


def test_nothing_is_assumed_about_the_launch():
    assert AnalysisManager(kernel_of(TEXT)).get(ExecFull).at_entry == frozenset()


def test_a_stated_full_entry_holds_until_a_change():
    kernel = kernel_of(TEXT)
    full = full_at_entry(kernel, AnalysisManager(kernel), entry_full=True)
    assert full == {"entry", "restored", "other", "join"}


def test_all_lanes_are_on_after_setting_them():
    kernel = kernel_of("entry:\n s_mov_b64 exec, -1\nnext:\n s_endpgm")
    assert AnalysisManager(kernel).get(ExecFull).at_entry == {"next"}
