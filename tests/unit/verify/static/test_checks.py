from dataclasses import replace

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.frontend.source import parse_source
from asmevo.report.findings import grouped
from asmevo.verify.judge import Judge, Level
from asmevo.verify.static.checks import check_all
from asmevo.verify.static.resources import LDS_LIMIT, check_lds
from asmevo.verify.verdict import Outcome
from support import EXAMPLES, SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels_have_no_error(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    assert [f for f in check_all(kernel) if f.severity is Severity.ERROR] == []


def test_groups_are_counted_and_errors_come_first():
    barrier = "ds_write_b32 v0, v1\nds_read_b32 v2, v0\nds_read_b32 v4, v0\ns_barrier\nv_mov_b32_e32 v3, v2"
    groups = grouped(check_all(parse_source(f"top:\n{barrier}\ns_endpgm\n", "t.s")))
    assert [(g.code, g.severity, g.rule, len(g.findings)) for g in groups] == [
        ("E0501", Severity.ERROR, "", 1),
        ("E0503", Severity.WARNING, "LDS store", 1),
        ("E0503", Severity.NOTE, "LDS read", 2),
    ]
    assert groups[2].findings[0].producer is not None


@pytest.mark.parametrize(("target", "limit"), [("gfx90a", 65536), ("gfx942", 65536), ("gfx950", 163840)])
def test_lds_above_the_limit_is_refused(target, limit):
    kernel = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    descriptor = kernel.descriptor
    assert descriptor is not None

    def of(size):
        return replace(kernel, target=target, descriptor=replace(descriptor, group_segment_bytes=size))

    assert check_lds(of(limit)) == []
    assert [f.code for f in check_lds(of(limit + 1))] == [LDS_LIMIT]
    if target == kernel.target:
        assert Judge(Level.STATIC)(of(limit), of(limit + 1)).outcome is Outcome.REFUTED
