"""Calls back before chosen operations of an emulated run, with the wave's state at that moment.

Owns how an operation's handler is replaced by a call and how the call ends the run. It must not know what observers look for.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator.engine import STOPPED
from asmevo.backend.emulator.prepare import Prepared
from asmevo.backend.emulator.setup import Memory, Plan
from asmevo.backend.launch import Dispatch
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import EXEC, VGPR0

_HANDLER = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
Words = npt.NDArray[np.uint32]


@dataclass(slots=True)
class Moment:
    """One wave just before an operation; of a vector register the lanes that are off hold what they held before.

    In strict mode a register whose load is not waited for still holds its old value: see `is_pending`. A moment is only good
    inside the call that got it. `execute` runs the operation at once, so that its results can be looked at.
    """

    number: int
    """The operation's number in the kernel."""
    instruction: Instruction
    wave: int
    workgroup: tuple[int, int, int]
    state: Any
    """The wave's STATE record."""
    addresses: tuple[int, int]
    """Host addresses of the wave's state and of the decoded operation, for native code."""
    dispatch: Dispatch
    memory: Memory
    status: int | None = None
    """What the operation returned once `execute` was called."""
    _run: Callable[[int, int], int] | None = None

    @property
    def exec_mask(self) -> int:
        """EXEC."""
        return self.pair(EXEC)

    def pair(self, unit: int) -> int:
        """Two consecutive scalar registers."""
        scalar = self.state["scalar"]
        return int(scalar[unit]) | int(scalar[unit + 1]) << 32

    def scalar(self, unit: int) -> int:
        """A scalar register or special state by its unit number."""
        return int(self.state["scalar"][unit])

    def vector(self, unit: int) -> Words:
        """A vector register by its unit number: a copy of 64 lanes, uint32."""
        return np.array(self.state["vector"][unit - VGPR0])

    def valid_lanes(self, unit: int) -> int:
        """Lanes (a mask) in which the unit holds a value; strict mode only."""
        return int(self.state["valid"][unit])

    def is_pending(self, unit: int) -> bool:
        """Whether a load that no wait has covered will write the unit; strict mode only."""
        return bool(self.state["pending"][unit])

    def execute(self) -> int:
        """Run the operation now, once; its status."""
        if self.status is None:
            assert self._run is not None
            self.status = self._run(*self.addresses)
        return self.status


Call = Callable[[Moment], bool]
"""Sees a moment; True ends the run there."""


@dataclass(slots=True)
class Watch:
    """Calls before operations; an observer of the engine. One watch serves one run after another, never two at once.

    An exception inside a call ends the run and is raised by it.
    """

    _calls: list[tuple[Callable[[Instruction], bool], Call]] = field(default_factory=list[Any])
    _keep: list[Any] = field(default_factory=list[Any])
    _failure: BaseException | None = None
    _dispatch: Dispatch | None = None
    _memory: Memory | None = None
    _plan: Plan | None = None

    def before(self, chosen: Callable[[Instruction], bool], call: Call) -> None:
        """Call `call` before every instruction that `chosen` accepts.

        Calls go in the order in which they were added, until one ends the run.
        """
        self._calls.append((chosen, call))

    def attach(self, prepared: Prepared) -> Prepared:
        """The operations with calls in them."""
        ops = prepared.ops.copy()
        self._keep.clear()
        for number, instruction in enumerate(prepared.instructions):
            calls = [call for chosen, call in self._calls if chosen(instruction)]
            if calls:
                handler = self._handler(prepared, number, instruction, calls)
                self._keep.append(handler)
                ops["handler"][number] = ctypes.cast(handler, ctypes.c_void_p).value
        return replace(prepared, ops=ops)

    def begin(self, dispatch: Dispatch, memory: Memory, plan: Plan) -> None:
        """Notes what moments need."""
        self._dispatch, self._memory, self._plan = dispatch, memory, plan
        self._failure = None

    def end(self) -> None:
        """Raises what a call raised."""
        failure, self._failure = self._failure, None
        self._plan = self._memory = None
        if failure is not None:
            raise failure

    def _handler(self, prepared: Prepared, number: int, instruction: Instruction, calls: Iterable[Call]) -> Any:
        original = _HANDLER(int(prepared.ops["handler"][number]))
        told = tuple(calls)

        def handler(state: int, op: int) -> int:
            try:
                moment = self._moment(number, instruction, state, op, original)
                # What a call has run already cannot be taken back: the run then ends behind it.
                if any(call(moment) for call in told):
                    return STOPPED
                return original(state, op) if moment.status is None else moment.status
            except BaseException as error:  # a call may raise anything: native code cannot pass it on, `end` does
                self._failure = error
                return STOPPED

        return _HANDLER(handler)

    def _moment(
        self, number: int, instruction: Instruction, state: int, op: int, original: Callable[[int, int], int]
    ) -> Moment:
        plan, memory, dispatch = self._plan, self._memory, self._dispatch
        assert plan is not None
        assert memory is not None
        assert dispatch is not None
        states = plan.group.states
        wave = (state - states.ctypes.data) // states.strides[0]
        group = plan.order.groups[int(plan.record["group"][0])].tolist()
        place = (group[0], group[1], group[2])
        return Moment(number, instruction, wave, place, states[wave], (state, op), dispatch, memory, None, original)
