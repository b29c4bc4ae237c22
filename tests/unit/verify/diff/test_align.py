from dataclasses import replace

import pytest

from asmevo.backend.writer import rebuild
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.verify.diff.align import aligned
from asmevo.verify.equivalence.edited import structure_difference
from support import EXAMPLES, SHIPPED


def pair(name):
    """A kernel, and another order of its first long region after a trip through a file."""
    code_object = load_file(EXAMPLES / "kernels" / f"{name}.co")
    kernel = recover(code_object)
    for block in kernel.blocks:
        for region in regions_of(block):
            graph = RegionGraph.build(kernel, region)
            for position in range(len(graph.nodes)):
                _, high = graph.freedom(position)
                if high > position:
                    order = list(range(len(graph.nodes)))
                    order.insert(high, order.pop(position))
                    edited = reordered(graph, order)
                    if edited is not None and edited.blocks != kernel.blocks:
                        return kernel, edited, recover(load(rebuild(code_object, edited), "edited"))
    pytest.fail("no legal move was found")


def text(kernel):
    return [(b.label, [(i.mnemonic, i.operands, i.modifiers) for i in b.instructions]) for b in kernel.blocks if not b.frozen]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_trip_through_a_file_is_undone(name):
    kernel, edited, loaded = pair(name)
    after = aligned(kernel, loaded)
    assert structure_difference(kernel, after) is None
    assert text(after) == text(edited)
    known = {i.uid: i for i in kernel.instructions()}
    moved = [i for i in after.instructions() if i.uid in known]
    assert all(known[i.uid] is i for i in moved)
    assert len({i.uid for i in after.instructions()}) == sum(1 for _ in after.instructions())


def test_the_same_kernel_stays_the_same():
    kernel = recover(load_file(EXAMPLES / "kernels" / "matmul_fp16.co"))
    assert aligned(kernel, kernel).blocks == kernel.blocks


def test_another_shape_is_left_alone():
    kernel = recover(load_file(EXAMPLES / "kernels" / "matmul_fp16.co"))
    other = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    assert aligned(kernel, other) is other


def test_a_changed_instruction_gets_a_number_of_its_own():
    kernel = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    block = max(kernel.blocks, key=lambda b: 0 if b.frozen else len(b.instructions))
    index = next(k for k, i in enumerate(block.instructions) if i.mnemonic == "v_add_f32_e32")
    victim = block.instructions[index]
    changed = replace(victim, mnemonic="v_sub_f32_e32")
    body = (*block.instructions[:index], changed, *block.instructions[index + 1 :])
    after = replace(kernel, blocks=tuple(replace(b, instructions=body) if b is block else b for b in kernel.blocks))
    found = aligned(kernel, after).block(block.label).instructions[index]
    assert found.mnemonic == "v_sub_f32_e32"
    assert found.uid not in {i.uid for i in kernel.instructions()}


def test_a_descriptor_that_differs_in_more_than_the_entry_is_kept():
    kernel = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    assert kernel.descriptor is not None
    grown = replace(kernel, descriptor=replace(kernel.descriptor, group_segment_bytes=4096))
    moved = replace(kernel, descriptor=replace(kernel.descriptor, entry_offset=8192))
    assert aligned(kernel, grown).descriptor == grown.descriptor
    assert aligned(kernel, moved).descriptor == kernel.descriptor
