"""Stories of searches that were never made, for tests of how they are shown."""

from dataclasses import replace

from asmevo.report.story.changes import changes
from asmevo.report.story.telling import Chapter, Spent, Story
from asmevo.search.lineage.records import Node, Run, Tried
from programs import kernel_of

PROGRAM = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32_e32 v1, 0
s_waitcnt lgkmcnt(0)
loop:
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32_e32 v3, v2, v3
v_add_u32_e32 v1, 4, v1
v_cmp_gt_u32_e32 vcc, 64, v1
s_cbranch_vccnz loop
s_endpgm
"""
DIGEST = "0" * 64


def told(nodes=3, name="k", description="a move"):
    """A run with a chain of `nodes` candidates and a second branch; every other attempt was refused."""
    original = kernel_of(PROGRAM)
    original = replace(original, name=name)
    label = next(b.label for b in original.blocks if len(b.instructions) > 4)
    run = Run(1, "2026-01-01T00:00:00+00:00", "0", name, "gfx942", DIGEST, DIGEST, 7, {}, 1000.0)
    kernels, chapters, attempts = {None: original}, [], []
    for number in range(1, nodes + 1):
        parent = None if number == 1 else 1 if number == nodes else number - 1
        before = kernels[parent]
        block = before.block(label)
        one, two, *rest = block.instructions
        order = (two, one, *rest) if number % 2 else (*rest[:1], one, two, *rest[1:])
        after = replace(before, blocks=tuple(replace(b, instructions=order) if b.label == label else b for b in before.blocks))
        kernels[number] = after
        basis = ({"method": "z3", "outcome": "proved", "detail": description, "assumptions": [description]},)
        cycles = 1000.0 * 0.99**number
        node = Node(number, 1, parent, DIGEST, {}, "reorder", description, "proved", basis, cycles, run.started)
        refused = Tried(2 * number - 2, "pipeline", description, "refuted", None, "because", None)
        tried = Tried(2 * number - 1, "reorder", description, "accepted", cycles, "", number, cost={"seconds": 1.5})
        attempts += [refused, tried]
        chapters.append(
            Chapter(node, tried, 1000.0, tuple(changes(before, after)), {"vmcnt": 0.5, "nop": 0.1}, {"vmcnt": 0.25})
        )
    curve = ((0, 1000.0), *((t.number + 1, t.cycles) for t in attempts if t.cycles), (len(attempts), 1000.0 * 0.99**nodes))
    return Story(
        run=run,
        attempts=tuple(attempts),
        chapters=tuple(chapters),
        curve=curve,
        statuses={"accepted": nodes, "refuted": nodes},
        spent=(Spent("pipeline", nodes, 0, {}), Spent("reorder", nodes, nodes, {"seconds": 1.5 * nodes})),
        original=original,
        best=kernels[nodes or None],
        best_node=chapters[-1].node if chapters else None,
        dispatches=(),
        notes=("a note",),
    )
