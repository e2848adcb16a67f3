"""CanonicalizeBindings: copies, fields of known tuples and redundant match_casts go; branches are cast, and outputs are what is read outside."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import erase, lasting
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.wildcards import alike, renewed
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import Facts, facts, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    all_blocks,
    contents,
    info_holders,
    map_sequences,
    merged_blocks,
    sequences,
)
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.eliminate import killed
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without_plain_annotation
from relax_explorer.core.passes.same_lengths import equal_lengths, merge_lengths
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM

# -- branch results --------------------------------------------------------------------------------------------------
# The results of branches: each has the StructInfo of its If.


def cast_branches(fn: e.Function, at: PassSite) -> e.Function:
    """Cast the result of a branch to the StructInfo of the If where it is more precise, as TVM does.

    The cast always fits. Branches without bindings stay as they are, unless the other one has some.
    """
    if e.If not in contents(fn).values:
        return fn
    names = FreshNames.of(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is not e.If or not any(seq.blocks for seq in sequences(value)):
            return binding
        info, hint = value.struct_info, binding.var.name if binding.var is not None else "value"
        if info is None or isinstance(info, s.FuncStructInfo):  # a function is not looked into at run time
            return binding
        owner = walk.owner
        known = None if owner is None or owner is fn else bound_dims(owner)

        def cast(seq: e.SeqExpr) -> e.SeqExpr:
            have = seq.body.struct_info
            if known is not None and have is not None and alike(info, erase(have, known)):
                return seq  # what a nested function captures has no lengths of the function around it there
            return cast_branch(seq, info, names, hint)

        return map_sequences(binding, cast)

    return rewrite(fn, at, rule)


def cast_branch(seq: e.SeqExpr, info: s.StructInfo, names: FreshNames, hint: str) -> e.SeqExpr:
    """The branch with the cast behind its last binding. The same object if its result has this StructInfo."""
    have = seq.body.struct_info
    # A variable with the shape ends with its branch.
    if have is None or alike(info, s.without_values(have)) or alike(info, have) or info_holders(have):
        return seq
    info = renewed(info)  # its wildcards are those of this value
    var = e.Var(names(hint), info)
    block = e.BindingBlock((e.MatchCast(var, seq.body, info, None, seq.body.span),))
    return replace(seq, blocks=tuple(merged_blocks([*seq.blocks, block])), body=var, struct_info=info)


# -- outputs ---------------------------------------------------------------------------------------------------------
# The outputs of dataflow blocks: exactly the variables that something outside their block reads.


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


# -- canonicalize bindings -------------------------------------------------------------------------------------------
# CanonicalizeBindings: remove copies of variables, fields of known tuples, and redundant match_casts.


@function_pass(
    "CanonicalizeBindings", rebuilds=True, requires=[NORMAL_FORM], establishes=[CANONICAL_BINDINGS]
)
def canonicalize_bindings(fn: e.Function, at: PassSite) -> e.Function:
    """Propagate copies `y = x` and constants, fold `(a, b)[0]`, and drop match_casts that neither check nor bind anything.

    A shape variable that a match_cast binds to a known length is replaced by that length. A dataflow variable whose reader
    is the output `gv = lv` becomes that output, and an output that only its block reads becomes a dataflow variable. The result
    of a branch is cast to the StructInfo of its If. In the profile `tvm`, a match_cast that compares two known lengths makes
    them one instead.
    """
    return canonicalize(fn, at)


def canonicalize(fn: e.Function, at: PassSite) -> e.Function:
    """The function with canonical bindings, for passes that end or begin with this."""
    given = fn
    fn = _with_merged_lengths(fn, at)
    copies = _Copies(fn, at)
    fn = rewrite(fn, at, copies.rule)
    if copies.promoted:
        fn = rewrite(fn, at, copies.promotion())
    return settle_outputs(fn, at, copies.inlined, given)


def _with_merged_lengths(fn: e.Function, at: PassSite) -> e.Function:
    """The function with cast branches, and with one length for those that its match_casts tell to be equal.

    If this contradicts an annotation or an operator, the run stops there, or never comes there: all lengths keep their names.
    """
    merged = equal_lengths(fn, at) if at.as_tvm else merge_lengths(fn, at)
    new = None if merged is fn else _derived(cast_branches(merged, at), at)
    return cast_branches(fn, at) if new is None else new


def _derived(fn: e.Function, at: PassSite) -> e.Function | None:
    """The function whose StructInfo tells what follows from merged lengths: casts that compared them may be redundant now.

    An annotation that told what the value tells, as in printed text, hides nothing of it now. None if something is wrong now.
    """
    fn = rewrite(fn, at, without_plain_annotation)
    before = at.editor.done()
    if at.function not in before.functions:
        return fn
    module = before.having({**before.functions, at.function: fn})
    derived, report = normalize_with(module, after=before)
    if report.errors:
        return None
    new = derived[at.function]
    if not isinstance(new, e.Function) or new is fn:
        return fn
    at.record_in_order(fn, new)
    return new


class _Copies:
    """The rule of one walk. A tuple, or a field of one, is noted under its variable.

    A copy stays where dropping it would make a dataflow variable visible outside. In the profile `tvm` it is not asked what writes
    and kills.
    """

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        # Readers of a copy do not read the variable itself, which may have ended.
        self.killed = frozenset() if at.as_tvm else killed(fn)
        self.params: set[e.Var] = set(fn.params)
        self.blocks: Blocks | None = None  # created when the first constant is an output
        self.constants: set[e.Expr] = set()  # those that readers of their variables read directly
        self.bound: set[e.Expr] = set()  # those of them that were bound to variables, not written in tuples
        self.inlined: set[e.Var] = set()  # the variables of these constants
        self.home: dict[e.Var, e.BindingBlock | None] = {}  # the blocks of dataflow variables
        # Those that are read outside now, with the outputs that they become.
        self.promoted: dict[e.Var, e.Var] = {}

    @cached_property
    def memory(self) -> Aliases:
        """The aliases of the function. Only constants ask for them, and most functions bind none."""
        return aliases(self.at.module, self.at.function, self.fn)

    def rule(self, walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding.var) is e.DataflowVar:
            self.home[binding.var] = walk.block
        if type(binding) is e.MatchCast:
            return self._match_cast(walk, binding)
        assert type(binding) is e.VarBinding  # the only other type of binding
        value = binding.value
        if type(value) is e.Function:
            self.params.update(value.params)
        if type(value) is e.TupleGetItem:
            return self._get_item(walk, binding, value)
        if type(value) is e.Tuple:
            return self._tuple(walk, binding, value)
        if type(value) in _LITERALS:
            return self._constant(walk, binding, binding.var, value)
        if type(value) is e.PrimValue and isinstance(value.value, p.PrimVar):
            walk.rename(binding.var, value)
            return ()
        return self._copy(walk, binding, value) if isinstance(value, e.Var) else binding

    def _get_item(self, walk: Rewriter, binding: e.VarBinding, value: e.TupleGetItem) -> Answer:
        field = self._field(walk, value)
        walk.note(binding.var, field if type(field) is e.Tuple else value)
        if type(field) is e.Constant:
            return self._constant(walk, binding, binding.var, field)
        if type(field) is e.DataflowVar and self.home.get(field) is not walk.block:
            return self._from_outside(walk, binding, field)
        return self._copy(walk, replace(binding, value=field), field) if isinstance(field, e.Var) else binding

    def _copy(self, walk: Rewriter, binding: e.VarBinding, value: e.Var) -> Answer:
        if not self._replaceable(binding.var, value):
            known = walk.lookup(value)
            if type(known) is e.Tuple:
                walk.note(binding.var, known)
            return binding
        walk.rename(binding.var, value)
        return ()

    def _from_outside(self, walk: Rewriter, binding: e.VarBinding, field: e.Var) -> Answer:
        """Let readers read the dataflow variable of another block, which becomes an output."""
        output = self.promoted.get(field) or e.var_like(binding.var, field.struct_info, e.Var)
        if not self._replaceable(binding.var, output):
            return binding
        self.promoted[field] = output
        walk.rename(binding.var, output)
        return ()

    def promotion(self) -> Callable[[Rewriter, e.Binding], Answer]:
        """The rule of a second walk, which makes dataflow variables outputs, and drops copies of them."""
        outputs = set(self.promoted.values())

        def rule(walk: Rewriter, binding: e.Binding) -> Answer:
            var, value = binding.var, binding.value
            if var is not None and var in self.promoted:
                walk.rename(var, self.promoted[var])
                return replace(binding, var=self.promoted[var])
            if type(binding) is e.VarBinding and type(value) is e.Var and value in outputs:
                return self._copy(walk, binding, value)
            return binding

        return rule

    def _constant(self, walk: Rewriter, binding: e.Binding, var: e.Var, value: e.Expr) -> Answer:
        """Let readers read a constant directly. An output that only its block reads becomes a dataflow variable instead."""
        if type(value) is e.Constant and not self.at.as_tvm and self.memory.written(var):
            return binding
        if binding.value in self.constants or value in self.bound:  # a copy of the variable of this constant
            walk.rename(var, value)
            return ()
        self.blocks = self.blocks or Blocks(self.fn)
        if var in self.blocks.outputs and not self.blocks.is_read_outside(var):
            return binding
        if type(var) is e.DataflowVar and var in self.blocks.renamed:
            return binding  # it becomes the output that renames it
        walk.rename(var, value)
        self.inlined.add(var)
        self.constants.add(value)
        if binding.value is value:
            self.bound.add(value)
        return binding

    def _tuple(self, walk: Rewriter, binding: e.VarBinding, value: e.Tuple) -> Answer:
        whole = _unpacked(walk, value)
        if whole is None:
            walk.note(binding.var, value)
        elif whole in self.params and self._replaceable(binding.var, whole):
            walk.rename(binding.var, whole)
            return ()
        elif type(part := walk.lookup(whole)) is e.TupleGetItem:
            walk.note(binding.var, part)  # in a tuple around it, it stands for this field
        return binding

    def _field(self, walk: Rewriter, value: e.TupleGetItem) -> e.Expr | None:
        """The field of a known tuple, unless a kill ends it."""
        known = value.tuple if type(value.tuple) is e.Tuple else walk.lookup(value.tuple)
        if type(known) is not e.Tuple or value.index >= len(known.fields):
            return None
        field = known.fields[value.index]
        return None if field in self.killed else field

    def _replaceable(self, var: e.Var, leaf: e.Var) -> bool:
        """True if readers of `var` may read `leaf`: its scope is as large, its StructInfo as precise, and no kill ends it."""
        leaks = type(leaf) is e.DataflowVar and type(var) is not e.DataflowVar
        if leaks or leaf in self.killed or var in self.killed:
            return False
        have, want = leaf.struct_info, var.struct_info
        return have is want or (have is not None and want is not None and always_fits(have, want))

    def _match_cast(self, walk: Rewriter, binding: e.MatchCast) -> Answer:
        value, info = binding.value, binding.struct_info
        have = value.struct_info
        if have is None or (info is not have and info is not s.without_values(have)) or _binds(binding):
            return binding
        if type(value) is e.PrimValue and not isinstance(value.value, p.PrimVar):
            return binding
        if binding.var is None:
            return ()
        if type(value) is e.Constant:
            return self._constant(walk, binding, binding.var, value)
        if type(value) is e.PrimValue:
            walk.rename(binding.var, value)
            return ()
        if not isinstance(value, e.Var):
            return binding
        if self._replaceable(binding.var, value):
            walk.rename(binding.var, value)
            return ()
        return e.VarBinding(binding.var, value, binding.annotation, binding.span)


_LITERALS = (e.Constant, e.DataTypeImm)


def _unpacked(walk: Rewriter, value: e.Tuple) -> e.Var | None:
    """The tuple `t` if `value` is `(t[0], t[1], …)` with all of its fields."""
    parts = [walk.lookup(field) if isinstance(field, e.Var) else None for field in value.fields]
    whole = parts[0].tuple if parts and type(parts[0]) is e.TupleGetItem else None
    if not isinstance(whole, e.Var) or whole.struct_info is not value.struct_info:
        return None
    for index, part in enumerate(parts):
        if type(part) is not e.TupleGetItem or part.tuple is not whole or part.index != index:
            return None
    return whole


def _binds(binding: e.MatchCast) -> bool:
    """True if the cast defines a shape variable, which the StructInfo of the value does not mention yet."""
    info = binding.value.struct_info
    known = set(defined_dims(info)) if info is not None else set()
    return any(var not in known for var in defined_dims(binding.struct_info))
