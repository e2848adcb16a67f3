"""The blocks of a sequence that is being read."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e


class Blocks:
    """The blocks of a sequence that is being read."""

    __slots__ = ("bindings", "blocks")

    def __init__(self) -> None:
        self.blocks: list[e.BindingBlock] = []
        self.bindings: list[e.Binding] = []

    def close(self) -> tuple[e.BindingBlock, ...]:
        """End the open block, and return all blocks so far."""
        if self.bindings:
            self.blocks.append(e.BindingBlock(tuple(self.bindings)))
            self.bindings = []
        return tuple(self.blocks)
