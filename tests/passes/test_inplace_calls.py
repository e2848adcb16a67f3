"""DataflowUseInplaceCalls: elementwise operators overwrite an operand that nothing reads afterwards."""

from __future__ import annotations

from random import Random
from textwrap import indent

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer import IRModule
from relax_explorer.core.exec import builtins
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings

HEAD = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj])
                T.writes(x[vi, vj])
                x[vi, vj] = x[vi, vj] + T.float32(1.0)

    @R.function(private=True)
    def same(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return p

    @R.function(private=True)
    def new(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        q: R.Tensor((2, 3), "float32") = R.exp(p)
        t: R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")) = (q, q)
        r: R.Tensor((2, 3), "float32") = t[1]
        return r

    @R.function(private=True)
    def one() -> R.Tensor((2, 3), "float32"):
        q: R.Tensor((2, 3), "float32") = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
        return q

"""
EITHER = """    @R.function(private=True)
    def either(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        k: R.Tensor((), "bool") = R.less(R.sum(p), R.const(5.0, "float32"))
        if k:
            r: R.Tensor((2, 3), "float32") = R.exp(p)
        else:
            r: R.Tensor((2, 3), "float32") = cls.one()
        return r

    @R.function(private=True)
    def either_new(p: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        k: R.Tensor((), "bool") = R.less(R.sum(p), R.const(5.0, "float32"))
        if k:
            r: R.Tensor((2, 3), "float32") = R.exp(p)
        else:
            r: R.Tensor((2, 3), "float32") = R.sin(p)
        return r

    @R.function(private=True)
    def either_held() -> R.Tensor((2, 3), "float32"):
        q: R.Tensor((2, 3), "float32") = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32")
        t: R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")) = (q, q)
        r: R.Tensor((2, 3), "float32") = t[1]
        return r

    @R.function(private=True)
    def either_view() -> R.Tensor((2, 3), "float32"):
        q: R.Tensor((6,), "float32") = R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "float32")
        r: R.Tensor((2, 3), "float32") = R.reshape(q, (2, 3))
        return r

"""
MAIN = """    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), z: R.Tensor(("n", 3), "float32"),
             u: R.Tensor("float32", ndim=2), c: R.Tensor((), "bool"), t: R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32"))):
        cls = Module
        n = T.int64()
"""  # fmt: skip


def program(lines: str) -> str:
    """A function whose only block has these lines; its output is `out`."""
    body = lines.strip().replace("; ", "\n") + "\nR.output(out)"
    functions = HEAD + EITHER if "either" in body else HEAD
    return f"{functions}{MAIN}        with R.dataflow():\n{indent(body, ' ' * 12)}\n        return out\n"


def changed(text: str) -> IRModule:
    return rxe.apply_pass(rxe.normalize(rxe.parse(text)), "DataflowUseInplaceCalls")


def overwritten(module: IRModule) -> dict[str, int]:
    """The argument that each binding of a kernel in place overwrites, by the name of the binding."""
    return {
        binding.var.name: binding.value.attrs["inplace_indices"][0]
        for fn in module.relax_functions.values()
        for binding in bindings(fn)
        if getattr(binding.value, "op", None) is e.op_ref("relax.call_tir_inplace")
    }


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a = R.add(x, y); b = R.add(x, x); out = R.add(a, b)", {"out": 1}),
        ("a = R.add(x, y); b = R.exp(x); e = R.add(a, b); d = R.exp(b); out = R.add(e, d)", {"e": 0, "out": 1}),
        ("a = R.add(x, y); out = R.add(a, a)", {"out": 1}),
        ("a = R.add(x, y); b = R.subtract(a, a); out = R.add(a, b)", {"out": 1}),
        ("out = R.nn.relu(x)", {}),
        ("a = t[0]; out = R.nn.relu(a)", {}),
        ("a = R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 'float32'); out = R.nn.relu(a)", {}),
        ("a = R.zeros((2, 3), 'float32'); out = R.multiply(a, x)", {"out": 0}),
        # copies
        ("a = R.add(x, y); b = a; out = R.nn.silu(b)", {"out": 0}),
        ("a = R.add(x, y); b = a; e = R.nn.relu(b); out = R.add(e, a)", {"out": 1}),
        ("a = R.add(x, y); e = R.nn.relu(a); b = a; out = R.exp(e)", {}),
        ("a = R.add(x, y); b = a; out = R.add(a, b)", {}),
        ("a = R.add(x, y); b = R.match_cast(a, R.Tensor((2, 3), 'float32')); e = R.nn.relu(b); out = R.add(e, a)", {"out": 1}),
        ("a = R.add(x, y); b = R.match_cast(a, R.Tensor((2, 3), 'float32')); out = R.nn.relu(b)", {"out": 0}),
        # tuples
        ("a = R.add(x, y); p = (a, x); b = p[0]; e = R.nn.relu(b); d = p[1]; out = R.add(e, d)", {"e": 0, "out": 0}),
        ("a = R.add(x, y); p = (a, x); e = R.nn.relu(a); d = p[1]; out = R.add(e, d)", {"e": 0, "out": 0}),
        ("a = R.add(x, y); p = (a, x); e = R.nn.relu(a); d = p[0]; out = R.add(e, d)", {"out": 1}),
        ("a = R.add(x, y); p = (x, (a, x)); q = p[1]; e = R.nn.relu(a); d = q[0]; out = R.add(e, d)", {"out": 1}),
        ("a = R.add(x, y); p = (x, (a, x)); q = p[1]; d = q[0]; out = R.nn.relu(d)", {"out": 0}),
        ("a = R.add(x, y); p = (a, x); e = R.nn.relu(a); out = (e, p)", {}),
        ("a = R.add(x, y); p = (a, x); q = p; e = R.nn.relu(a); out = (e, q)", {}),
        ("a = R.add(x, y); p = (a, x); e = R.nn.relu(a); q = p; w = (q, x); out = R.exp(e)", {"e": 0}),
        ("a = R.add(x, y); e = R.nn.relu(a); out = (e, a)", {}),
        ("a = R.split(x, 3, axis=1); b = a[0]; e = R.nn.relu(b); d = a[1]; out = R.add(e, d)", {"e": 0, "out": 1}),
        # views
        ("a = R.add(x, y); b = R.reshape(a, (3, 2)); out = R.nn.relu(b)", {"out": 0}),
        ("a = R.add(x, y); b = R.reshape(a, (3, 2)); e = R.nn.relu(b); d = R.exp(a); out = (e, d)", {}),
        ("b = R.reshape(x, (3, 2)); out = R.nn.relu(b)", {}),
        ("b = R.expand_dims(x, 0); out = R.nn.relu(b)", {}),
        ("b = R.permute_dims(x); out = R.nn.relu(b)", {}),
        ("b = R.squeeze(x); out = R.nn.relu(b)", {}),
        ("b = R.flatten(x); out = R.nn.relu(b)", {}),
        ("b = R.memory.view(x, (3, 2)); out = R.nn.relu(b)", {}),
        ("b = R.memory.ensure_zero_offset(x); out = R.nn.relu(b)", {}),
        ("a = R.add(x, y); b = R.permute_dims(a); e = R.add(a, R.permute_dims(b)); out = e", {}),
        # shapes and dtypes
        ("a = R.add(z, z); out = R.nn.relu(a)", {"out": 0}),
        ("a = R.concat((z, z)); out = R.nn.relu(a)", {"out": 0}),
        ("a = R.add(u, u); out = R.nn.relu(a)", {}),
        ("a = R.add(x, y); out = R.add(a, u)", {}),
        ("a = R.add(x, y); b = R.sum(a, axis=[0]); out = R.add(b, a)", {"out": 1}),
        ("a = R.sum(x, axis=[0]); out = R.add(a, x)", {}),
        ("a = R.sum(x, axis=[0], keepdims=True); out = R.add(a, x)", {}),
        ("a = R.exp(x); d = R.greater(x, y); out = R.add(a, d)", {"out": 0}),
        ("a = R.astype(x, 'int32'); out = R.add(a, a)", {"out": 1}),
        # operators
        ("a = R.add(x, y); b = R.exp(a); e = R.maximum(b, x); out = R.power(e, x)", {}),
        ("a = R.add(x, y); out = R.divide(a, R.const(2.0, 'float32'))", {"out": 0}),
        ("a = R.add(x, y); out = R.divide(R.const(2.0, 'float32'), a)", {"out": 0}),
        ("a = R.add(x, y); out = R.subtract(R.const([1.0, 2.0, 3.0], 'float32'), a)", {"out": 1}),
        # calls
        ("b = cls.new(x); out = R.nn.relu(b)", {}),
        ("a = R.add(x, y); b = cls.new(a); out = R.nn.relu(b)", {"out": 0}),
        ("a = R.add(x, y); b = cls.same(a); e = R.nn.relu(b); d = R.exp(a); out = R.add(e, d)", {"out": 1}),
        ("b = cls.one(); out = R.nn.relu(b)", {}),
        ("a = R.add(x, y); b = cls.either(a); out = R.nn.relu(b)", {}),
        ("a = R.add(x, y); b = cls.either_new(a); out = R.nn.relu(b)", {"out": 0}),
        ("b = cls.either_view(); out = R.nn.relu(b)", {}),
        ("b = cls.either_held(); out = R.nn.relu(b)", {}),
        ("b = R.exp(y); a = R.call_pure_packed('f', b, ty_args=R.Tensor((2, 3), 'float32')); out = R.nn.relu(a)", {}),
        ("a = R.call_dps_packed('f', (y,), R.Tensor((2, 3), 'float32')); out = R.nn.relu(a)", {"out": 0}),
        ("a = R.add(x, y); b = R.call_tir_inplace(cls.bump, (a,), inplace_indices=[0], out_ty=R.Tensor((2, 3), 'float32')); "
         "e = R.nn.relu(b); d = R.exp(e); out = R.add(d, e)", {"b": 0, "e": 0, "out": 1}),
        ("b = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_ty=R.Tensor((2, 3), 'float32')); out = R.nn.relu(b)", {"b": 0}),
    ],
)  # fmt: skip
def test_the_last_reader_overwrites_memory_of_the_block(lines: str, expected: dict[str, int]) -> None:
    module = changed(program(lines))
    assert overwritten(module) == expected
    assert rxe.well_formed(module) or "dps" in lines  # in the specification, it is impure
    again = rxe.normalize(rxe.parse(module.script()))
    assert rxe.structural_equal(again, module, map_free_vars=True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("w = R.add(x, y)\nwith R.dataflow():\n    a = R.nn.relu(w)\n    b = R.nn.relu(a)\n    R.output(b)\nreturn b", {"b": 0}),
        ("w = R.add(x, y)\nv = R.nn.relu(w)\nreturn v", {}),
        ("with R.dataflow():\n    a = R.add(x, y)\n    b = R.nn.relu(a)\n    R.output(a, b)\nreturn b", {}),
        ("if c:\n    with R.dataflow():\n        b = R.add(x, y)\n        d = R.nn.relu(b)\n        R.output(d)\n    r = d\n"
         "else:\n    r = x\nreturn r", {"d": 0}),
        ("@R.function\ndef g(q: R.Tensor((2, 3), 'float32')) -> R.Tensor((2, 3), 'float32'):\n    with R.dataflow():\n"
         "        a = R.add(q, x)\n        b = R.nn.relu(a)\n        R.output(b)\n    return b\nr = g(y)\nreturn r", {"b": 0}),
        ("with R.dataflow():\n    R.output()\nreturn x", {}),
    ],
)  # fmt: skip
def test_each_block_is_looked_at_alone(body: str, expected: dict[str, int]) -> None:
    assert overwritten(changed(f"{HEAD}{MAIN}{indent(body, ' ' * 8)}\n")) == expected


def test_what_a_nested_function_captures_is_read_when_it_is_called() -> None:
    lines = """
a = R.add(x, y)
@R.function
def g(q: R.Tensor((2, 3), 'float32')) -> R.Tensor((2, 3), 'float32'):
    w: R.Tensor((2, 3), 'float32') = R.add(q, a)
    return w
b = R.nn.relu(a)
d = g(b)
out = R.exp(d)"""
    assert overwritten(changed(program(lines))) == {}


def test_kernels_are_shared_and_named_after_those_with_new_memory() -> None:
    lines = "a = R.add(x, y); b = R.nn.relu(a); d = R.nn.relu(b); e = R.add(d, R.sum(x, axis=[0])); out = R.add(x, e)"
    module = changed(program(lines))
    assert [name for name in module.functions if name.endswith("_inplace")] == [
        "add1_inplace", "add_inplace", "relu_inplace",
    ]  # fmt: skip


def test_a_name_in_use_is_left_alone() -> None:
    text = program("a = R.add(x, y); out = R.nn.relu(a)").replace("bump", "relu_inplace")
    assert "relu_inplace1" in changed(text).functions


def test_copies_that_would_overwrite_what_is_read_stay_copies() -> None:
    """`b` is new memory here. As a view of `a` it would change what `d` reads."""
    text = program(
        "a = R.add(x, y); b = R.expand_dims(a, 0); e = R.nn.relu(b); d = R.exp(a); out = (e, d)"
    ).replace(
        "R.nn.relu(b)",
        "R.call_tir_inplace(cls.bump1, (b,), inplace_indices=[0], out_ty=R.Tensor((1, 2, 3), 'float32'))",
    )
    bump = text[text.index("    @T.prim_func") : text.index("    @R.function(private=True)")]
    bump = (
        bump.replace("bump", "bump1")
        .replace("T.Buffer((T", "T.Buffer((T.int64(1), T")
        .replace("[vi, vj]", "[0, vi, vj]")
    )
    module = rxe.normalize(rxe.parse(text.replace("class Module:\n", f"class Module:\n{bump}")))
    for name in ("LegalizeOps", "RewriteDataflowReshape"):
        module = rxe.apply_pass(module, name)
    assert "R.reshape" not in module.script()
    calm = rxe.normalize(rxe.parse(program("b = R.expand_dims(x, 0); out = R.exp(b)")))
    for name in ("LegalizeOps", "RewriteDataflowReshape"):
        calm = rxe.apply_pass(calm, name)
    assert "R.reshape" in calm.script()


# -- random programs, run with kernels that really overwrite --------------------------------------------------------


def _overwrite(machine: Running, frame: Frame, at: Instruction, args: list[np.ndarray]) -> None:
    """As the virtual machine does it: the operand itself is overwritten. The explorer's machine works on a copy."""
    fn = machine.module.functions[args[0].name]  # type: ignore[attr-defined]  # the first argument names the kernel
    inputs = list(args[1])
    machine.kernels.call(fn, inputs)
    machine.write(frame, at.target, inputs[at.node.attrs["inplace_indices"][0]])


def _line(random: Random, number: int, tensors: list[str], pairs: list[str]) -> str:
    """A binding of a random value, noted among the tensors or pairs of tensors. Without pairs, all values are tensors."""
    name, one, other = f"v{number}", random.choice(tensors), random.choice(tensors)
    if pairs and random.random() < 0.2:
        tensors.append(name)
        return f"{name} = {random.choice(pairs)}[{random.randrange(2)}]"
    if pairs and random.random() < 0.15:
        pairs.append(name)
        return f"{name} = ({one}, {other})" if random.random() < 0.8 else f"{name} = {pairs[0]}"
    tensors.append(name)
    calls = [f"cls.{fn}({one})" for fn in ("same", "new")]
    return f"{name} = " + random.choice(
        [f"R.{op}({one}, {other})" for op in ("add", "subtract", "multiply", "divide")]
        + [f"R.nn.relu({one})", f"R.nn.silu({one})", f"R.exp({one})", one, f"R.reshape({one}, (2, 3))"]
        + [f"R.permute_dims(R.permute_dims({one}))", f"R.squeeze(R.expand_dims({one}, 0), 0)", *calls]
        + (
            [f"cls.either({one})", f"cls.either_new({one})", "cls.either_view()", "cls.one()"]
            if pairs
            else []
        )
    )


def random_text(seed: int, plain: bool = False) -> str:
    """A program of 14 bindings with one output of several values. A plain one has no tuples before that, and no constants."""
    random = Random(seed)
    tensors, pairs = ["x", "y"], [] if plain else ["t"]
    lines = [_line(random, number, tensors, pairs) for number in range(14)]
    out = ", ".join([*random.choices(tensors, k=3), random.choice(pairs or tensors)])
    return program("\n".join([*lines, f"out = ({out})"]))


def flat(value: object) -> list[np.ndarray]:
    return (
        [item for part in value for item in flat(part)] if isinstance(value, tuple) else [np.asarray(value)]
    )


def test_what_is_overwritten_is_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtins.TABLE, "relax.call_tir_inplace", _overwrite)
    count = 0
    for seed in range(200):
        module = rxe.normalize(rxe.parse(random_text(seed)))
        after = rxe.apply_pass(module, "DataflowUseInplaceCalls")
        count += len(overwritten(after))
        x = np.arange(1, 7, dtype="float32").reshape(2, 3) / 8
        args = [x, x + 1, x, x, np.array(seed % 2 == 0), (x - 1, x / 2)]
        given = [array.copy() for array in flat(tuple(args))]
        results = [flat(rxe.run(m, "main", args)) for m in (module, after)]
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=f"seed {seed}")
        for one, other in zip(given, flat(tuple(args)), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"an argument of seed {seed}")
    assert count > 100
