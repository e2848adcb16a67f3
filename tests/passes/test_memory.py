"""Passes on programs that overwrite tensors: values that share memory keep sharing it, others are never merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support import packed_functions
from tests.support.ready_modules import after as after_pass

INC = "_ = R.call_packed('test.inc_inplace', {}, sinfo_args=R.Tuple())"
HEAD = """
@I.ir_module
class Module:
    @R.function(private=True)
    def seen(p: R.Tensor((2,), "float32")) -> R.Tensor((1, 2), "float32"):
        q = R.reshape(p, R.shape([1, 2]))
        return q
    @R.function(private=True, pure=False)
    def bump(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        _ = R.call_packed("test.inc_inplace", p, sinfo_args=R.Tuple())
        return p
    @R.function(private=True, pure=False)
    def far_bump(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q = Module.bump(p)
        return q
    @R.function(private=True, pure=False)
    def farther_bump(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q = Module.far_bump(p)
        return q
    @T.prim_func(private=True)
    def inc(a: T.Buffer((2,), "float32")):
        for i in range(2):
            a[i] = a[i] + T.float32(1)
    @T.prim_func(private=True)
    def inc_by(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = b[i] + a[i]
    @R.function(private=True, pure=False)
    def lowered_bump(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        _ = Module.inc(p)
        return p
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        cls = Module
"""


@pytest.fixture(autouse=True)
def _packed() -> None:
    packed_functions.register()
    rxe.packed_function("test.keep")(keep)
    rxe.packed_function("test.own")(own)
    rxe.packed_function("test.overwrite_kept")(overwrite_kept)


_KEPT: list[Any] = []


def keep(array: Any) -> None:
    """Keep a tensor."""
    _KEPT.append(array)


def own() -> Any:
    """A new tensor, kept."""
    _KEPT.append(np.zeros(2, np.float32))
    return _KEPT[-1]


def overwrite_kept() -> None:
    """Add 1 to the tensor kept last."""
    _KEPT[-1] += 1


def program(body: str) -> rxe.IRModule:
    lines = body.strip().replace("INC(", "\0").splitlines()
    text = ""
    for line in lines:
        if "\0" in line:
            indent, _, rest = line.partition("\0")
            line = indent + INC.format(rest[:-1])
        text += f"        {line}\n"
    return rxe.normalize(rxe.parse(HEAD + text))


def values(module: rxe.IRModule) -> Any:
    made = rxe.run(module, "main", [np.zeros(2, np.float32), np.ones(2, np.float32), np.array(True)])
    return [array.reshape(-1)[0] for array in (made if isinstance(made, tuple) else (made,))]


def calls(module: rxe.IRModule, name: str) -> int:
    text = module.script()
    return text.count(f"R.{name}(")


HELD = 'z: R.Tensor("float32", ndim=1) = x\ns = R.shape_of(z)\ns2 = R.shape_of(z)\n'

# For each program its results, with INC(v) for a packed function that adds 1 to v in place.
OVERWRITTEN = {
    "between": ("a = R.add(x, x)\nINC(x)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "the result": ("a = R.add(x, x)\nb = R.add(x, x)\nINC(a)\nreturn (a, b)", [1, 0]),
    "the later result": ("a = R.add(x, x)\nb = R.add(x, x)\nINC(b)\nreturn (a, b)", [0, 1]),
    "through a copy": ("z = x\na = R.add(x, x)\nINC(z)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "through a tuple": ("t = (y, x)\na = R.add(x, x)\nz = t[1]\nINC(z)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "through a reshape": (
        "z = R.reshape(x, R.shape([1, 2]))\na = R.add(x, x)\nINC(z)\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "through a result": ("z = cls.seen(x)\na = R.add(x, x)\nINC(z)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "in a branch": (
        "a = R.add(x, x)\nif c:\n    INC(x)\n    z = x\nelse:\n    z = x\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "by a branch's result": (
        "if c:\n    z = x\nelse:\n    z = y\na = R.add(x, x)\nINC(z)\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "by a function": ("a = R.add(x, x)\n_ = cls.bump(x)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "by a function of a function": ("a = R.add(x, x)\n_ = cls.farther_bump(x)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "what a function gave back": ("a = R.add(x, x)\nz = cls.bump(y)\nINC(z)\nreturn (a, y)", [0, 3]),
    "by a function that calls a PrimFunc": (
        "a = R.add(x, x)\n_ = cls.lowered_bump(x)\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "by a PrimFunc": ("a = R.add(x, x)\n_ = cls.inc(x)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "by a PrimFunc that reads another": ("a = R.add(x, x)\n_ = cls.inc_by(y, x)\nb = R.add(x, x)\nreturn (a, b)", [0, 2]),
    "by a PrimFunc, through a tuple": (
        "t = (y, x)\nz = t[1]\na = R.add(x, x)\n_ = cls.inc_by(y, z)\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "by a PrimFunc that gets it twice": ("a = R.add(y, y)\n_ = cls.inc_by(y, y)\nb = R.add(y, y)\nreturn (a, b)", [2, 4]),
    "by a PrimFunc in a branch": (
        "a = R.add(x, x)\nif c:\n    _ = cls.inc_by(y, x)\n    z = x\nelse:\n    z = x\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "by a closure": (
        "@R.function(pure=False)\ndef g(z: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n    INC(x)\n    return z\n"
        "a = R.add(x, x)\nw = g(y)\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "by a closure's copy": (
        "@R.function(pure=False)\ndef g(z: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n    INC(x)\n    return z\n"
        "t = (g, y)\nh = t[0]\na = R.add(x, x)\nw = h(y)\nb = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "inside a closure": (
        "a = R.add(x, x)\n@R.function\ndef g() -> R.Tensor((2,), 'float32'):\n    b = R.add(x, x)\n    return b\n"
        "INC(x)\nw = g()\nreturn (a, w)", [0, 2],
    ),
    "a folded value": ('a = R.zeros(R.shape([2]), "float32")\nINC(a)\nreturn a', [1]),
    "a constant field of a tuple": (
        't = (x, R.const([1.0, 2.0], "float32"))\np = t[1]\nINC(p)\nq = R.add(p, x)\nreturn q', [2],
    ),
    "a field that another one shares": (
        'k = R.const([1.0, 2.0], "float32")\nt = (x, k)\np = t[1]\nINC(p)\nq = t[1]\nreturn (q, p, k)', [2, 2, 2],
    ),
    "a constant": ('a = R.const([1.0, 2.0], "float32")\nINC(a)\nb = R.add(a, a)\nreturn b', [4]),
    "a mention before two others": (
        'k = R.const([1.0, 2.0], "float32")\nINC(k)\na = R.const([1.0, 2.0], "float32")\n'
        'b = R.const([1.0, 2.0], "float32")\nINC(b)\nreturn (k, a, b)', [2, 1, 2],
    ),
    "one of two mentions": (
        'a = R.const([1.0, 2.0], "float32")\nINC(a)\nb = R.const([1.0, 2.0], "float32")\nreturn (a, b)', [2, 1],
    ),
    "the operand of a reshape": ("a = R.reshape(x, R.shape([1, 2]))\nINC(x)\nreturn a", [1]),
    "the operand of a squeeze": (
        "a = R.expand_dims(x, axis=0)\nb = R.squeeze(a, axis=[0])\nINC(x)\nreturn (a, b)", [0, 0],
    ),
    "what a closure reads when it is called": (
        "a = R.add(x, x)\n@R.function\ndef g() -> R.Tensor((2,), 'float32'):\n    b = R.add(x, x)\n    d = R.add(b, y)\n    return d\n"
        "INC(x)\nw = g()\nreturn (a, w)", [0, 3],
    ),
    "what a closure was called with": (
        "@R.function(pure=False)\ndef g(z: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n    a = R.add(z, z)\n    INC(x)\n"
        "    b = R.add(z, z)\n    d = R.subtract(b, a)\n    return d\nw = g(x)\nreturn w", [2],
    ),
    "by who had made it": (
        "s = R.call_packed('test.own', sinfo_args=R.Tensor((2,), 'float32'))\na = R.add(s, s)\n"
        "_ = R.call_packed('test.overwrite_kept', sinfo_args=R.Tuple())\nb = R.add(s, s)\nreturn (a, b)", [0, 2],
    ),
    "what a callee kept": (
        "_ = R.call_packed('test.keep', x, sinfo_args=R.Tuple())\na = R.add(x, x)\n_ = R.call_packed('test.overwrite_kept', sinfo_args=R.Tuple())\n"
        "b = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "what an unknown callee was given": (
        "z = R.call_packed('test.f', x, sinfo_args=R.Tensor((2,), 'float32'))\na = R.add(x, x)\nINC(z)\n"
        "b = R.add(x, x)\nreturn (a, b)", [0, 2],
    ),
    "the result, whose shape gets another name": (
        HELD + "a = R.broadcast_to(x, s2)\nINC(a)\nb = R.broadcast_to(x, s)\nreturn (a, b)", [1, 0],
    ),
    "an operand, whose shape gets another name": (
        HELD + "v = R.broadcast_to(x, s2)\na = R.sum(v)\nINC(v)\nb = R.sum(v)\nreturn (a, b)", [0, 2],
    ),
    "a killed variable, by its copy": ("z = R.exp(x)\nw = z\n_ = R.memory.kill_tensor(z)\nreturn w", [1]),
    "a killed copy, by the variable": ("z = R.exp(x)\nw = z\n_ = R.memory.kill_tensor(w)\nreturn z", [1]),
    "a killed field of a tuple": (
        "z = R.exp(x)\nt = (z, x)\n_ = R.vm.kill_object(z)\nw = t[0]\nreturn w", [1],
    ),
    "a copy made in a branch": (
        "z = R.exp(x)\nif c:\n    w = z\nelse:\n    w = y\n_ = R.memory.kill_tensor(z)\nreturn w", [1],
    ),
    "an equal call, killed": ("z = R.exp(x)\n_ = R.memory.kill_tensor(z)\nw = R.exp(x)\nreturn w", [1]),
    "equal casts, killed one by one": (
        "z = R.match_cast(x, R.Tensor((2,), 'float32'))\nw = R.match_cast(x, R.Tensor((2,), 'float32'))\n"
        "_ = R.memory.kill_tensor(z)\nv = R.exp(w)\n_ = R.memory.kill_tensor(w)\nreturn v", [1],
    ),
    "equal tuples, killed one by one": (
        "z = (x, y)\nw = (x, y)\n_ = R.vm.kill_object(z)\nv = w[0]\n_ = R.vm.kill_object(w)\nreturn v", [0],
    ),
    "a killed argument that a function gives back": (
        "z = R.exp(x)\nw = cls.seen(z)\nv = cls.bump(z)\n_ = R.memory.kill_tensor(z)\nreturn (w, v)", [2, 2],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_no_pass_changes_the_value(name: str) -> None:
    body, wanted = OVERWRITTEN[name]
    before = program(body)
    assert values(before) == wanted
    for item in rxe.passes.names():
        assert values(after_pass(before, item)) == wanted, item
    for pipeline in ("default", "simplify"):
        assert values(rxe.run_pipeline(before, pipeline)) == wanted, pipeline


UNTOUCHED = {
    "another tensor": "a = R.add(x, x)\nz = R.exp(y)\nINC(z)\nb = R.add(x, x)\nreturn (a, b)",
    "before both": "INC(x)\na = R.add(x, x)\nb = R.add(x, x)\nreturn (a, b)",
    "before both, through a reshape": "z = R.reshape(x, R.shape([1, 2]))\nINC(z)\na = R.add(x, x)\nb = R.add(x, x)\nreturn (a, b)",
    "before two calls that may give x back": (
        "_ = R.call_packed('test.own', sinfo_args=R.Tensor((2,), 'float32'))\nINC(x)\n_ = R.add(x, x)\n"
        "a = R.call_pure_packed('test.first', x, sinfo_args=R.Tensor((2,), 'float32'))\n"
        "b = R.call_pure_packed('test.first', x, sinfo_args=R.Tensor((2,), 'float32'))\nv = R.add(a, x)\nw = R.add(b, x)\nreturn (v, w)"
    ),
    "after both": "a = R.add(x, x)\nb = R.add(x, x)\nINC(x)\nreturn (a, b)",
    "another tensor, by a PrimFunc that reads it": (
        "z = R.exp(x)\na = R.add(z, z)\nw = R.exp(y)\n_ = cls.inc_by(z, w)\nb = R.add(z, z)\nreturn (a, b, w)"
    ),
    "another tensor, by a PrimFunc that reads a field of a tuple": (
        "z = R.exp(x)\nt = (z, y)\nv = t[0]\nw = R.exp(y)\na = R.add(z, z)\n_ = cls.inc_by(v, w)\nb = R.add(z, z)\nreturn (a, b, w)"
    ),
    "nothing, by a print": "a = R.add(x, x)\n_ = R.print(x)\nb = R.add(x, x)\nreturn (a, b)",
    "in the other branch": (
        "if c:\n    INC(x)\n    z = R.add(x, x)\nelse:\n    v = R.add(y, y)\n    w = R.add(y, y)\n    z = R.add(v, w)\nreturn z"
    ),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_nothing_overwrites_is_computed_once(name: str) -> None:
    before = program(UNTOUCHED[name])
    after = rxe.run_pipeline(before, ["EliminateCommonSubexpr", "CanonicalizeBindings"])
    assert calls(after, "add") == calls(before, "add") - 1
    assert values(after) == values(before)


@pytest.mark.parametrize(
    ("callee", "args", "left"),
    [
        ("relax.run.print", "R.str('{}'), x", 1),
        ("relax.run.print", "R.str('{}'), x, y", 1),
        ("relax.run.assert_op", "c, R.str(''), x", 1),
        ("lib.print", "R.str('{}'), x", 2),
    ],
)
def test_lowered_prints_and_assertions_only_read(callee: str, args: str, left: int) -> None:
    call = f"_ = R.call_packed('{callee}', {args}, sinfo_args=R.Tuple())"
    before = program(f"INC(y)\na = R.add(x, x)\n{call}\nb = R.add(x, x)\nreturn (a, b)")
    after = rxe.apply_pass(before, "EliminateCommonSubexpr")
    assert calls(after, "add") == left
    assert callee in rxe.apply_pass(after, "DeadCodeElimination").script()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("a = R.broadcast_to(x, s2)\nINC(a)\nb = R.broadcast_to(x, s)\nreturn (a, b)", "broadcast_to"),
        ("v = R.broadcast_to(x, s2)\na = R.sum(v)\nINC(v)\nb = R.sum(v)\nreturn (a, b)", "sum"),
    ],
)
def test_a_shape_of_another_name_hides_no_write(body: str, name: str) -> None:
    before = program(HELD + body)
    after = rxe.apply_pass(before, "EliminateCommonSubexpr")
    assert calls(after, "shape_of") == 1
    assert calls(after, name) == calls(before, name)


def test_what_a_callee_overwrites_is_asked_anew_after_an_edit() -> None:
    head = HEAD.replace(
        "def bump",
        "def silent(p: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n"
        "        _ = R.print(p)\n        return p\n    @R.function(private=True, pure=False)\n    def bump",
    )
    lines = ("a = R.add(x, x)", "_ = cls.silent(x)", "b = R.add(x, x)", "return (a, b)")
    old = rxe.normalize(rxe.parse(head + "".join(f"        {line}\n" for line in lines)))
    assert calls(rxe.apply_pass(old, "EliminateCommonSubexpr"), "add") == 1
    new = old.having({**old.functions, "silent": old["bump"]})
    assert new["main"] is old["main"]
    assert calls(rxe.apply_pass(new, "EliminateCommonSubexpr"), "add") == 2


def test_a_module_that_overwrites_nothing_shares_as_before() -> None:
    text = (
        HEAD
        + "        a = R.reshape(x, R.shape([1, 2]))\n        b = R.reshape(x, R.shape([1, 2]))\n        return (a, b)\n"
    )
    after = rxe.run_pipeline(rxe.normalize(rxe.parse(text)), ["EliminateCommonSubexpr", "LegalizeOps"])
    main = after["main"]
    assert [type(b.value).__name__ for b in bindings(main)] == ["Call", "Var"]
    assert "R.reshape" not in after.script()


def test_a_reshape_whose_memory_is_overwritten_is_kept_with_a_reason() -> None:
    before = program("a = R.reshape(x, R.shape([1, 2]))\nINC(x)\nreturn a")
    outcome = run_step(steps("LegalizeOps")[0], before)
    assert [item.code.id for item in outcome.problems] == ["RX0405"]
    assert calls(outcome.module, "reshape") == 1  # the call in `seen`, an unused function, is lowered
    called = rxe.apply_pass(program("z = cls.seen(x)\nINC(z)\nreturn x"), "LegalizeOps")
    assert calls(called, "reshape") == 1  # here its caller overwrites the result
    skipped = rxe.apply_pass(
        program("a = R.reshape(y, R.shape([1, 2]))\nb = R.add(a, a)\nreturn b"), "LegalizeOps"
    )
    assert calls(skipped, "reshape") == 0


@pytest.mark.parametrize(
    ("kind", "op"), [('R.Prim("float32")', "clip(x, n, n)"), ("R.Shape([1, 2])", "reshape(x, n)")]
)
def test_scalars_and_shapes_are_never_overwritten(kind: str, op: str) -> None:
    head = f'@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32"), n: {kind}):\n'
    lines = (
        f"a = R.{op}",
        f'm = R.call_packed("test.f", n, sinfo_args={kind})',
        f"b = R.{op}",
        "return (a, b, m)",
    )
    before = rxe.normalize(rxe.parse(head + "".join(f"    {line}\n" for line in lines)))
    assert calls(rxe.apply_pass(before, "EliminateCommonSubexpr"), op[: op.index("(")]) == 1


def test_a_mark_whose_memory_is_overwritten_is_its_operand() -> None:
    before = program("a = R.grad.no_grad(x)\nINC(x)\nreturn a")
    outcome = run_step(steps("LegalizeOps")[0], before)
    assert outcome.problems == ()
    assert calls(outcome.module, "grad.no_grad") == 0
    assert values(outcome.module) == values(before) == [1]


def test_callers_that_stand_before_their_callees_write_too() -> None:
    def function(name: str, value: str) -> str:
        head = f'    @R.function(private=True, pure=False)\n    def {name}(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
        return f'{head}        q: R.Tensor((2,), "float32") = {value}\n        return p\n'

    first, rest = HEAD.split("    @R.function(private=True)", 1)
    chain = "".join(function(f"c{n}", f"Module.c{n + 1}(p)") for n in range(4)) + function(
        "c4", "Module.bump(p)"
    )
    lines = ("a = R.add(x, x)", "_ = cls.c0(x)", "b = R.add(x, x)", "return (a, b)")
    text = (
        first
        + chain
        + "    @R.function(private=True)"
        + rest
        + "".join(f"        {line}\n" for line in lines)
    )
    assert calls(rxe.apply_pass(rxe.normalize(rxe.parse(text)), "EliminateCommonSubexpr"), "add") == 2


def test_an_unknown_callee_may_keep_what_it_is_given() -> None:
    """A function parameter may keep `x`; a later call of it, without arguments, overwrites it."""
    body = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), f: R.Callable((R.Tensor((2,), "float32"),), R.Tuple(), False)):
    _ = f(x)
    a = R.add(x, x)
    _1 = R.call_packed("test.overwrite_kept", sinfo_args=R.Tuple())
    b = R.add(x, x)
    return (a, b)
"""
    before = rxe.normalize(rxe.parse(body))
    assert calls(rxe.apply_pass(before, "EliminateCommonSubexpr"), "add") == 2
    kept = rxe.normalize(rxe.parse(body.replace("f(x)\n", "R.print(x)\n")))
    assert calls(rxe.apply_pass(kept, "EliminateCommonSubexpr"), "add") == 1
