"""The memory budget of a recorded run: old results of pure calls are evicted, and computed again when they are read.

Half of the budget holds the newest results. A quarter holds results at even distances before them, so that computing an evicted
one starts close by; the distance doubles when they need too much. The last quarter holds what was computed again lately.

Kept are results that something else refers to (a tuple of the program, a closure, a caller, a view), results that the program
still reads, and all results of programs that write into existing memory.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, deque

from relax_explorer.core.exec import builtins
from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.frame import Evicted, Frame
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.plan import Plan
from relax_explorer.core.exec.values import Value, bytes_of, describe
from relax_explorer.core.ops import find

_REFERENCES = (
    5  # to a value without aliases: its register, write and event, a local variable, and the count itself
)
_Place = tuple[int, int]  # the number of a change, and its bytes


class Budget:
    """Keeps the results of one machine within `most` bytes."""

    def __init__(self, machine: Machine, most: int) -> None:
        self.machine, self.most = machine, most
        self.seen = 0  # changes looked at
        self.evicted = 0  # number of evicted results
        self.newest: deque[_Place] = deque()
        self.marks: list[_Place] = []
        self.distance, self.since = 1, 0  # between marks, and results since the last one
        self.newest_bytes = self.mark_bytes = 0
        self.waiting: list[_Place] = []  # results that something still refers to
        self.patience = 64  # results that may wait before all are tried again
        self.again: OrderedDict[int, tuple[Evicted, Value, int]] = (
            OrderedDict()
        )  # by identity of the stand-in
        self.again_bytes = 0
        self.last_reads: dict[Plan, dict[int, int]] = {}

    def look(self) -> None:
        """Count the newest step, and evict what is too much."""
        log = self.machine.log
        if self.seen == len(log) or self.machine.is_mutable:
            return
        number = self.seen
        self.seen += 1
        change = log[number]
        if not _is_pure_call(change):
            return
        self._drop_operands(change)
        size = bytes_of(change.event.content)
        self.newest.append((number, size))
        self.newest_bytes += size
        while self.newest_bytes > self.most // 2 and len(self.newest) > 1:
            place = self.newest.popleft()
            self.newest_bytes -= place[1]
            self.since += 1
            if self.since >= self.distance:
                self.since = 0
                self.marks.append(place)
                self.mark_bytes += place[1]
            else:
                self._evict(place)
        if self.mark_bytes > self.most // 4 and len(self.marks) > 1:
            self._thin_out()

    def _thin_out(self) -> None:
        """Evict every second mark."""
        for place in self.marks[1::2]:
            self.mark_bytes -= place[1]
            self._evict(place)
        self.marks = self.marks[::2]
        self.distance *= 2

    # -- evicting -------------------------------------------------------------------------------------------------

    def _evict(self, place: _Place) -> None:
        """Evict a result, or let it wait."""
        if self._is_evicted(place):
            return
        self.waiting.append(place)
        if len(self.waiting) > self.patience:
            self.waiting = [item for item in self.waiting if not self._is_evicted(item)]
            self.patience = max(64, 2 * len(self.waiting))

    def _is_evicted(self, place: _Place) -> bool:
        """Evict a result if nothing else needs it."""
        number, _ = place
        change = self.machine.log[number]
        frame, at = change.frame, change.frame.plan.code[change.after - 1]
        if self._last_read(frame.plan, at.target) >= frame.pc:
            return False
        value = change.event.content
        if sys.getrefcount(value) > _REFERENCES or frame.registers[at.target] is not value:
            return False
        stand_in = Evicted(self, frame, change.after - 1, describe(value))
        change.event.content = stand_in
        self._put(change, at.target, stand_in)
        self.evicted += 1
        return True

    def _drop_operands(self, change: Change) -> None:
        """Drop the operand tuples of a call, which nothing reads any more: they would keep their fields."""
        for index in range(change.before, change.after - 1):
            at = change.frame.plan.code[index]
            if at.kind == "tuple":
                self._put(change, at.target, Evicted(self, change.frame, index, "an operand"))

    def _put(self, change: Change, slot: int, stand_in: Evicted) -> None:
        frame = change.frame
        frame.registers[slot] = stand_in
        change.writes[:] = [
            (own, register, old, stand_in if register == slot and own is frame else new)
            for own, register, old, new in change.writes
        ]

    def _last_read(self, plan: Plan, slot: int) -> int:
        """The last instruction that reads a register. All jumps go forward."""
        known = self.last_reads.get(plan)
        if known is None:
            reads = [(register, n) for n, at in enumerate(plan.code) for register in at.args]
            known = self.last_reads[plan] = dict(reads)
        return known.get(slot, -1)

    # -- computing again ------------------------------------------------------------------------------------------

    def recall(self, evicted: Evicted) -> Value:
        """The value of an evicted result. Evicted results that it needs are computed first."""
        hit = self.again.get(id(evicted))
        if hit is not None:
            self.again.move_to_end(id(evicted))
            return hit[1]
        found: dict[int, Value] = {}
        order, readers = self._needed(evicted, found)
        frame = evicted.frame
        assert isinstance(frame, Frame)
        scratch = Frame(frame.function, frame.name, frame.dims)
        for item in order:
            value = found[id(item)] = self._computed(scratch, frame, item, found)
            self._remember(item, value)
            for operand in self._operands(item):
                readers[id(operand)] -= 1
                if not readers[id(operand)]:
                    found.pop(id(operand), None)
        return found[id(evicted)]

    def _needed(self, evicted: Evicted, found: dict[int, Value]) -> tuple[list[Evicted], dict[int, int]]:
        """The evicted results to compute, operands first, and how many of them read each. Those at hand are put into `found`."""
        order: list[Evicted] = []
        readers: dict[int, int] = {}
        known: set[int] = set()
        stack: list[tuple[Evicted, bool]] = [(evicted, False)]
        while stack:
            item, is_ready = stack.pop()
            if is_ready:
                order.append(item)
                continue
            if id(item) in known:
                continue
            known.add(id(item))
            stack.append((item, True))
            for operand in self._operands(item):
                readers[id(operand)] = readers.get(id(operand), 0) + 1
                hit = self.again.get(id(operand))
                if hit is not None and id(operand) not in known:
                    found[id(operand)] = hit[1]
                elif id(operand) not in found:
                    stack.append((operand, False))
        return order, readers

    def _operands(self, item: Evicted) -> list[Evicted]:
        """The evicted operands of a result, each once."""
        frame = item.frame
        assert isinstance(frame, Frame)
        values = [frame.registers[slot] for slot in dict.fromkeys(frame.plan.code[item.index].args)]
        return [value for value in values if type(value) is Evicted]

    def _computed(self, scratch: Frame, frame: Frame, item: Evicted, found: dict[int, Value]) -> Value:
        at = frame.plan.code[item.index]
        for slot in at.args:
            value = frame.registers[slot]
            scratch.registers[slot] = found[id(value)] if type(value) is Evicted else value
        self.machine.compute(scratch, at)
        value = scratch.registers[at.target]
        for slot in (*at.args, at.target):
            scratch.registers[slot] = None
        return value

    def _remember(self, item: Evicted, value: Value) -> None:
        size = bytes_of(value)
        self.again[id(item)] = (item, value, size)
        self.again_bytes += size
        while self.again_bytes > self.most // 4 and len(self.again) > 1:
            self.again_bytes -= self.again.popitem(last=False)[1][2]


def _is_pure_call(change: Change) -> bool:
    """True for a step that only computed a new value from its operands."""
    binding, event = change.event.binding, change.event
    if event.kind != "bind" or binding is None or _has_effect(change):
        return False
    at = change.frame.plan.code[change.after - 1]
    if at.kind != "op" or at.binding is not binding or not bytes_of(event.content):
        return False
    name = at.node.op.name
    op = find(name)
    if name == "relax.call_tir":
        return True
    return name not in builtins.TABLE and op is not None and op.pure and not op.allocates and not op.shares


def _has_effect(change: Change) -> bool:
    return bool(change.memory or change.states or change.printed or change.bound)
