"""The outputs of dataflow blocks: exactly the variables that something outside their block reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.check.matching import lasting
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import Facts, facts, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import WITH_BLOCKS, all_blocks, info_holders, merged_blocks, sequences
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


def settle_outputs(
    fn: e.Function, at: PassSite, kept: Collection[e.Var] = (), before: e.Function | None = None
) -> e.Function:
    """Make outputs that only their block reads dataflow variables, and drop outputs that only rename a dataflow variable.

    Outputs in `kept` stay without readers. So do those that are read outside in `before`, the function as it was, as in TVM.
    """
    fn = _merged(fn)
    blocks = Blocks(fn)
    changes = _changes(blocks, kept, fn if before is None else before) if blocks.outputs else None
    if changes is not None and (changes.defined or changes.dropped):
        fn = _renamed(fn, at, changes)
    return _with_single_casts(fn, at) if blocks.has_casts else fn


def _renamed(fn: e.Function, at: PassSite, changes: _Changes) -> e.Function:
    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        var = binding.var
        if var is None:
            return binding
        given = walk.given(var)
        if given in changes.dropped:
            target = changes.dropped[given]
            walk.rename(var, changes.defined.get(target) or walk.now(target))
            return ()
        new = changes.defined.get(given)
        if new is None:
            return binding
        walk.rename(var, new)
        return replace(binding, var=new)

    return rewrite(fn, at, rule)


@dataclass(slots=True)
class _Changes:
    """New variables for old ones, and outputs without a binding of their own, with the variables that they rename."""

    defined: dict[e.Var, e.Var] = field(default_factory=dict)
    dropped: dict[e.Var, e.Var] = field(default_factory=dict)


def _changes(blocks: Blocks, kept: Collection[e.Var], before: e.Function) -> _Changes:
    changes = _Changes()
    read = {var: var in kept or blocks.is_read_outside(var) for var in blocks.outputs}
    if before is not blocks.fn and not all(read.values()):
        old = Blocks(before)
        read = {var: now or (var in old.outputs and old.is_read_outside(var)) for var, now in read.items()}
    # What holds the shape of an output is an output, too.
    for var in [var for var, now in read.items() if now]:
        read.update(dict.fromkeys(_holders(var), True))
    for var, binding in blocks.outputs.items():
        source = blocks.renamed_by(binding)
        if read[var] and source is not None:
            if source in changes.defined:
                changes.dropped[var] = source
            else:
                changes.defined[source], changes.dropped[var] = var, source
    for var, binding in blocks.outputs.items():
        if not read[var]:
            source = blocks.renamed_by(binding) or _copied_inside(binding)
            if source is None:
                changes.defined[var] = e.var_like(var, _inside(binding, var), e.DataflowVar)
            else:
                changes.dropped[var] = source
    return changes


def _holders(var: e.Var) -> tuple[e.Var, ...]:
    """The variables that hold the shape of `var`, or of its fields."""
    return info_holders(var.struct_info) if var.struct_info is not None else ()


def _copied_inside(binding: e.Binding) -> e.Var | None:
    """The dataflow variable that an output only renames. Their StructInfo differs: that of an output names no dataflow variable."""
    source = binding.value
    if (
        type(source) is not e.DataflowVar
        or type(binding) is not e.VarBinding
        or binding.annotation is not None
    ):
        return None
    info = source.struct_info
    return source if info is not None and lasting(info) is binding.var.struct_info else None


def _inside(binding: e.Binding, var: e.Var) -> s.StructInfo | None:
    """The StructInfo of an output inside of its block, where it may mention a dataflow variable that holds its shape."""
    is_derived = type(binding) is e.VarBinding and binding.annotation is None
    return binding.value.struct_info or var.struct_info if is_derived else var.struct_info


class Blocks:
    """The dataflow blocks of a function: their outputs, and on demand the block of each binding."""

    def __init__(self, fn: e.Function) -> None:
        self.outputs: dict[e.Var, e.Binding] = {}
        self._facts: Facts | None = None
        self.fn = fn
        self.has_casts = False  # True if a dataflow block has a match_cast
        self._is_single = len(fn.body.blocks) == 1  # True if one block has all bindings
        todo = list(fn.body.blocks)
        while todo:
            block = todo.pop()
            is_dataflow = type(block) is e.DataflowBlock
            for binding in block.bindings:
                if is_dataflow and type(binding.var) is e.Var:
                    self.outputs[binding.var] = binding
                self.has_casts |= is_dataflow and type(binding) is e.MatchCast
                if type(binding.value) in WITH_BLOCKS:
                    self._is_single = False
                    todo += [inner for seq in sequences(binding.value) for inner in seq.blocks]

    @cached_property
    def home(self) -> dict[e.Binding, e.BindingBlock]:
        """The block of each binding, those of branches and nested functions included."""
        return {binding: block for block in all_blocks(self.fn) for binding in block.bindings}

    @cached_property
    def renamed(self) -> set[e.Var]:
        """The dataflow variables that outputs rename, directly or through copies, if something outside reads the output."""
        copies = {b.var: b for b in self.home if type(b) is e.VarBinding and type(b.value) is e.DataflowVar}
        found: set[e.Var] = set()
        for var in self.outputs.keys() & copies.keys():
            binding: e.Binding | None = copies[var] if self.is_read_outside(var) else None
            while binding is not None and (source := self.renamed_by(binding)) and source not in found:
                found.add(source)
                binding = copies.get(source)
        return found

    def is_read_outside(self, var: e.Var) -> bool:
        """True if something outside the block of output `var` reads it: a binding, a result, or a function inside the block.

        A function may outlive the block.
        """
        if var in self._returned:  # as nearly all are: then the readers of all variables need not be found
            return True
        if self._is_single:
            return False
        derived = self._facts = self._facts or facts(self.fn)
        block = self.home[self.outputs[var]]
        last = len(derived.bindings)
        return any(
            number == last or not self._is_inside(derived.bindings[number], block)
            for number in derived.users(var)
        )

    @cached_property
    def _returned(self) -> frozenset[e.Var]:
        return frozenset(variables(self.fn.body.body))

    def _is_inside(self, binding: e.Binding, block: e.BindingBlock) -> bool:
        return self.home[binding] is block and type(binding.value) is not e.Function

    def renamed_by(self, binding: e.Binding) -> e.Var | None:
        """The dataflow variable that a binding only renames, without a change of its StructInfo."""
        source = binding.value
        if type(binding) is not e.VarBinding or type(source) is not e.DataflowVar:
            return None
        return source if source.struct_info is binding.var.struct_info else None


def _with_single_casts(fn: e.Function, at: PassSite) -> e.Function:
    """The function with one match_cast for two neighbours, where the second makes an output and checks all that the first does."""
    made, derived = set(Blocks(fn).outputs.values()), facts(fn)
    pairs = [pair for block in all_blocks(fn) for pair in pairwise(block.bindings)]
    stronger = {
        first: cast
        for first, cast in pairs
        if cast in made
        and _is_enough(cast, first)
        and first.var is not None
        and len(derived.users(first.var)) == 1
    }
    second = set(stronger.values())

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if binding in stronger:
            return replace(stronger[binding], value=binding.value)
        if binding not in second or binding.var is None:
            return binding
        walk.rename(binding.var, binding.var)  # both casts became the one
        return ()

    return rewrite(fn, at, rule) if stronger else fn


def _is_enough(cast: e.Binding, first: e.Binding) -> bool:
    """True if a match_cast of a dataflow variable checks all that the one behind this variable does, which binds no length."""
    if type(cast) is not e.MatchCast or type(first) is not e.MatchCast:
        return False
    reads = type(cast.value) is e.DataflowVar and cast.value is first.var
    return reads and not defined_dims(first.struct_info) and always_fits(cast.struct_info, first.struct_info)


def _merged(fn: e.Function) -> e.Function:
    """The function with neighbouring blocks of one kind merged."""
    merged = merged_blocks(fn.body.blocks)
    if len(merged) == len(fn.body.blocks):
        return fn
    return replace(fn, body=replace(fn.body, blocks=tuple(merged)))
