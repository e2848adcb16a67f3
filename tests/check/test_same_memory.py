"""Memory is followed again after a pass only if bindings access it in another way, and then each fault is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import memory_hazards
from relax_explorer.core.check.same_memory import accesses_alike
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.program.new_bindings import NewBindings
from tests.perf.generate import transformer

TEXT = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def up(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i] + T.float32(1)

    @R.function(private=True, pure=False)
    def second(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.up(x, a)
        b = R.memory.alloc_tensor(storage, R.prim_value(16), R.shape([4]), R.dtype("float32"))
        _1 = cls.up(a, b)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2 = cls.up(a, c)
        return c

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), q: R.Tensor((), "bool"), r: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Module
        storage = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.up(x, a)
        b = R.memory.alloc_tensor(storage, R.prim_value(16), R.shape([4]), R.dtype("float32"))
        _1 = cls.up(a, b)
        copied = b
        pair = (x, b)
        field = pair[1]
        place = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _2 = cls.up(x, place)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _3 = cls.up(copied, c)
        d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _4 = cls.up(field, d)
        _6 = cls.up(c, d)
        loose: R.Object = b
        if q:
            inside = b
            f = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
            _5 = cls.up(inside, f)
            y = f
        else:
            y = d
        return y
"""
Change = Callable[[dict[str, e.Binding]], dict[str, tuple[e.Binding, ...]]]
"""Tells of the bindings of a function by name what stands in the place of some."""


def changed(fn: e.Function, change: Change) -> e.Function:
    """The function with other bindings; those that hold no changed one are the same objects."""

    def known(seq: e.SeqExpr) -> dict[str, e.Binding]:
        found = {b.var.name: b for block in seq.blocks for b in block.bindings if b.var is not None}
        inner = [seq for b in found.values() if isinstance(b.value, e.If) for seq in branches(b.value)]
        return {**found, **{name: b for seq in inner for name, b in known(seq).items()}}

    def visit(seq: e.SeqExpr) -> e.SeqExpr:
        rows = [b for block in seq.blocks for b in block.bindings]
        new = tuple([item for b in rows for item in others.get(b.var.name if b.var else "", (inner(b),))])
        same = len(new) == len(rows) and all(a is b for a, b in zip(new, rows, strict=True))
        return seq if same else replace(seq, blocks=(e.BindingBlock(new),))

    def inner(binding: e.Binding) -> e.Binding:
        if not isinstance(binding.value, e.If):
            return binding
        true, false = map(visit, branches(binding.value))
        return replace(binding, value=replace(binding.value, true_branch=true, false_branch=false))

    others = change(known(fn.body))
    return replace(fn, body=visit(fn.body))


def branches(value: e.If) -> tuple[e.SeqExpr, e.SeqExpr]:
    assert isinstance(value.true_branch, e.SeqExpr)
    assert isinstance(value.false_branch, e.SeqExpr)
    return value.true_branch, value.false_branch


def with_args(binding: e.Binding, **by_number: e.Expr) -> e.Binding:
    """The binding of a call with other operands: `_0`, `_1`, …"""
    call = called(binding)
    args = [by_number.get(f"_{n}", arg) for n, arg in enumerate(call.args)]
    return e.with_value(binding, replace(call, args=tuple(args)))


def called(binding: e.Binding) -> e.Call:
    assert isinstance(binding.value, e.Call)
    return binding.value


def var(binding: e.Binding) -> e.Var:
    assert binding.var is not None
    return binding.var


def program() -> rxe.IRModule:
    module = rxe.normalize(rxe.parse(TEXT))
    assert list(memory_hazards.violations(module)) == []
    return module


def after(module: rxe.IRModule, function: str, change: Change) -> rxe.IRModule:
    return module.having({**module.functions, function: changed(module[function], change)})


def kill(binding: e.Binding) -> e.Binding:
    return m.statement(m.operation("relax.memory.kill_tensor", (var(binding),), m.UNIT))


def lowered(binding: e.Binding) -> e.Binding:
    return e.with_value(binding, replace(called(binding), op=e.op_ref("relax.vm.alloc_tensor")))


def storage_of_its_own(known: dict[str, e.Binding], *names: str) -> dict[str, tuple[e.Binding, ...]]:
    """Tensors without a storage, all in one new storage."""
    first = known["storage"]
    own = m.bound("own", first.value)
    placed = {
        name: e.with_value(
            known[name], replace(called(known["a"]), args=(own.var, *called(known["a"]).args[1:]))
        )
        for name in names
    }
    return {name: (own, new) if name == names[0] else (new,) for name, new in placed.items()}


ALIKE: dict[str, tuple[str, Change]] = {
    "lives end": ("main", lambda known: {"_2": (kill(known["a"]), known["_2"])}),
    "a copy is gone": (
        "main",
        lambda known: {"copied": (), "_3": (with_args(known["_3"], _0=var(known["b"])),)},
    ),
    "a copy in a branch is gone": (
        "main",
        lambda known: {"inside": (), "_5": (with_args(known["_5"], _0=var(known["b"])),)},
    ),
    "an allocation is lowered": ("main", lambda known: {"b": (lowered(known["b"]),)}),
    "a result has a storage of its own": ("main", lambda known: storage_of_its_own(known, "c")),
    "in another function": ("second", lambda known: storage_of_its_own(known, "c")),
}
ZERO = m.number(0)
WRONG: dict[str, tuple[str, Change]] = {
    "an offset": ("main", lambda known: {"b": (with_args(known["b"], _1=ZERO),)}),
    "an offset of a lowered allocation": (
        "main",
        lambda known: {"b": (with_args(lowered(known["b"]), _1=ZERO),)},
    ),
    "in another function": ("second", lambda known: {"b": (with_args(known["b"], _1=ZERO),)}),
    "a later place": ("main", lambda known: {"place": (with_args(known["place"], _1=m.number(16)),)}),
    "a copy of another tensor": (
        "main",
        lambda known: {"copied": (e.with_value(known["copied"], var(known["a"])),)},
    ),
    "a field of another tensor": (
        "main",
        lambda known: {
            "pair": (e.with_value(known["pair"], e.tuple_of((var(known["b"]), var(known["a"])))),)
        },
    ),
    "a copy in a branch": (
        "main",
        lambda known: {"inside": (e.with_value(known["inside"], var(known["a"])),)},
    ),
    "an operand in a branch": ("main", lambda known: {"_5": (with_args(known["_5"], _0=var(known["a"])),)}),
    "another operand instead of a copy": (
        "main",
        lambda known: {"copied": (), "_3": (with_args(known["_3"], _0=var(known["a"])),)},
    ),
    "a result of a branch behind a kill": (
        "main",
        lambda known: {
            "_2": (known["_2"], kill(known["x"] if "x" in known else known["b"])),
            "_5": (with_args(known["_5"], _0=var(known["a"])),),
        },
    ),
    "an earlier write": ("main", lambda known: {"_1": (), "_2": (known["_2"], known["_1"])}),
    "a write more": ("main", lambda known: {"_3": (with_args(known["_3"], _0=var(known["a"])), known["_3"])}),
    "one storage for two results": ("main", lambda known: storage_of_its_own(known, "c", "d")),
}  # fmt: skip


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are followed."""
    names: list[str] = []
    real = memory_hazards.MemoryWalk.__init__

    def noted(self: memory_hazards.MemoryWalk, module: rxe.IRModule, fn: e.Function, *rest: object) -> None:
        names.append(next(name for name, item in module.functions.items() if item is fn))
        real(self, module, fn, *rest)  # type: ignore[arg-type]  # the summaries

    monkeypatch.setattr(memory_hazards.MemoryWalk, "__init__", noted)
    return names


@pytest.mark.parametrize(("function", "change"), ALIKE.values(), ids=ALIKE)
def test_memory_that_is_accessed_alike_is_not_followed_again(
    function: str, change: Change, walks: list[str]
) -> None:
    before = program()
    new = after(before, function, change)
    assert new[function].body is not before[function].body
    walks.clear()
    assert list(memory_hazards.violations(new, NewBindings(new, before))) == []
    assert walks == []
    assert list(memory_hazards.violations(new)) == []
    assert walks != []


@pytest.mark.parametrize(("function", "change"), WRONG.values(), ids=WRONG)
def test_each_fault_is_found(function: str, change: Change) -> None:
    before = program()
    new = after(before, function, change)
    found = [item.message for item in memory_hazards.violations(new, NewBindings(new, before))]
    assert found
    assert found == [item.message for item in memory_hazards.violations(new)]


def other_condition(binding: e.Binding, condition: e.Expr) -> e.Binding:
    return e.with_value(binding, replace(binding.value, condition=condition))


def other_result(binding: e.Binding, result: e.Expr) -> e.Binding:
    assert isinstance(binding.value, e.If)
    branch = replace(branches(binding.value)[0], body=result)
    return e.with_value(binding, replace(binding.value, true_branch=branch))


UNSURE: dict[str, tuple[str, Change]] = {
    "a copy where nothing was shown": (
        "main",
        lambda known: {"d": (e.with_value(known["d"], var(known["a"])),)},
    ),
    "a storage that was a copy": ("main", lambda known: storage_of_its_own(known, "copied")),
    "a last call": ("second", lambda known: {"_2": (known["_2"], known["_1"])}),
    "another variable": (
        "main",
        lambda known: {"place": (e.VarBinding(e.Var("place"), known["place"].value),)},
    ),
    "another condition": (
        "main",
        lambda known: {"y": (other_condition(known["y"], e.Var("r")),)},
    ),
    "another result of a branch": ("main", lambda known: {"y": (other_result(known["y"], var(known["d"])),)}),
    "another callee": (
        "main",
        lambda known: {
            "_1": (e.with_value(known["_1"], replace(called(known["_1"]), op=m.extern("up"))),),
        },
    ),
    "no copy of an object": ("main", lambda known: {"loose": ()}),
}


@pytest.mark.parametrize(("function", "change"), UNSURE.values(), ids=UNSURE)
def test_what_may_access_memory_in_another_way_is_not_alike(function: str, change: Change) -> None:
    """Readers are the same objects as before."""
    before = program()
    assert not accesses_alike(after(before, function, change), before)


def test_a_storage_of_its_own_is_looked_at_beside_packed_functions() -> None:
    """What these do with an operand depends on whether it has a storage."""
    text = TEXT.replace(
        "        return c\n", '        _3 = R.call_packed("f", c, sinfo_args=R.Tuple())\n        return c\n'
    )
    before = rxe.normalize(rxe.parse(text))
    new = after(before, "second", lambda known: storage_of_its_own(known, "c"))
    assert not accesses_alike(new, before)


def test_shapes_that_the_machine_makes() -> None:
    """A tensor lies in other bytes if its lengths are others, though its allocation is the same object."""
    made = (
        "        h = R.null_value()\n"
        '        lengths = R.call_packed("vm.builtin.make_shape", h, R.prim_value(1), R.prim_value(0), R.prim_value(4), '
        "sinfo_args=R.Shape(ndim=1))\n"
    )
    head, main = TEXT.split("def main")
    start = "        a = R.memory.alloc_tensor(storage, R.prim_value(0), "
    text = f"{head}def main{main.replace(f'{start}R.shape([4])', f'{made}{start}lengths', 1)}"
    assert "lengths, R.dtype" in text
    before = rxe.normalize(rxe.parse(text))
    new = after(
        before, "main", lambda known: {"lengths": (with_args(known["lengths"], _3=e.PrimValue(p.IntImm(8))),)}
    )
    assert not accesses_alike(new, before)


def test_another_kernel() -> None:
    before, text = program(), TEXT.replace("a[i] + T.float32(1)", "b[i] + T.float32(1)")
    other = rxe.normalize(rxe.parse(text))["up"]
    assert not accesses_alike(before.having({**before.functions, "up": other}), before)
    assert not accesses_alike(before.having({**before.functions, "more": other}), before)


def test_a_function_that_returns_another_tensor() -> None:
    before = program()
    fn = before["main"]
    returned = replace(fn, body=replace(fn.body, body=var(fn.body.blocks[0].bindings[1])))
    assert not accesses_alike(before.having({**before.functions, "main": returned}), before)


def test_lowering_follows_memory_once(walks: list[str]) -> None:
    """Planning moves tensors; what comes behind it, up to the lowering of lengths, accesses them alike."""
    module = rxe.normalize(rxe.parse(transformer(137)))
    followed: dict[str, bool] = {}
    for step in steps("zero,default_build"):
        held = holding(module)
        walks.clear()
        module = run_step(step, module, held=held).module
        followed[step.of.name] = bool(walks)
    known = ("StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin")
    assert [followed[name] for name in known] == [True, False, False, False]
