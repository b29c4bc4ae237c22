"""Reducing: what stays is needed, what was asked about was sound, and the bound holds."""

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_instruction
from asmevo.ir.verifier import verify_kernel
from asmevo.passes.reduce import reduce_kernel

TEXT = "k:\n" + "".join(f"  v_mov_b32_e32 v{n}, {n % 60}\n" for n in range(40)) + "  s_cbranch_scc1 end\nend:\n  s_endpgm\n"


def names(kernel):
    return {print_instruction(i) for i in kernel.instructions()}


@pytest.mark.parametrize("needed", [{7}, {0, 39}, {3, 4, 20, 33}, set()])
def test_only_what_is_needed_stays(needed):
    wanted = {f"v_mov_b32_e32 v{n}, {n % 60}" for n in needed}
    asked = []

    def fails(kernel):
        asked.append(kernel)
        return wanted <= names(kernel)

    found = reduce_kernel(parse_source(TEXT), fails)
    assert names(found.kernel) == {*wanted, "s_cbranch_scc1 end", "s_endpgm"}
    assert found.is_minimal
    assert found.trials == len(asked) < 200
    assert all(verify_kernel(kernel) == [] for kernel in asked)


def test_the_trials_are_bounded_and_what_was_found_still_fails():
    found = reduce_kernel(parse_source(TEXT), lambda k: "v_mov_b32_e32 v7, 7" in names(k), most_trials=3)
    assert (found.trials, found.is_minimal) == (3, False)
    assert "v_mov_b32_e32 v7, 7" in names(found.kernel)
    assert len(names(found.kernel)) < 42
