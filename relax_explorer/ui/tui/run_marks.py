"""The marks and values of the bindings of a frame, found when a row is drawn: a step of a long function visits only what is visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Value
from relax_explorer.viz.ir_table import IrTable


class DoneValues(Mapping[int, Value]):
    """The values that the bindings of a frame have made so far, by the identity of the binding.

    The registers are copied, for the frame goes on: those that were written, since the garbage collector visits each copy.
    """

    def __init__(self, frame: Frame) -> None:
        self._code, self._places = frame.plan.code, frame.plan.places
        self._registers = frame.registers[: frame.plan.written_before(frame.pc)]

    def __getitem__(self, node: int) -> Value:
        """The value of the last instruction of the binding that was done. Raises KeyError if none was: its register is empty."""
        for place in reversed(self._places[node]):
            slot = self._code[place].target
            if slot < len(self._registers) and self._registers[slot] is not None:
                return self._registers[slot]
        raise KeyError(node)

    def __iter__(self) -> Iterator[int]:
        return (node for node in self._places if node in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class RunMarks(Mapping[int, str]):
    """The marks of the rows of a table, by the identity of the node: some of their own, ✓ for done, · for a binding that is not done."""

    def __init__(self, table: IrTable, done: DoneValues, own: Mapping[int, str]) -> None:
        self._table, self._done, self._own = table, done, own

    def __getitem__(self, node: int) -> str:
        """The mark of a node. Raises KeyError if it has none."""
        mark = self._own.get(node) or ("✓" if node in self._done else "")
        if mark:
            return mark
        if self._table.places[self._table.row_of[node]].kind != "binding":
            raise KeyError(node)
        return "·"

    def __iter__(self) -> Iterator[int]:
        return (node for node in self._table.row_of if node in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True  # a run has marks; to count them would visit each row
