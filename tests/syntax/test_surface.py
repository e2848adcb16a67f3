"""Every construct of real programs parses, prints, and reads back as the same structure, in both dialects.

A row is a name, the construct, and its text in the newer dialect ("" if it prints as written).
"""

from __future__ import annotations

import textwrap

import pytest

import relax_explorer as rxe
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import read
from tests.support.oracle import Oracle

DIALECTS = ("tvm-0.27", "tvm-0.19")
PARAMS = (
    'x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "int64"), c: R.Tensor((), "bool"), s: R.Shape([2, 3]), '
    't: R.Tuple(R.Tensor((2, 3), "float32"), R.Tuple(R.Tensor((1,), "int8"))), o: R.Object, p: R.Prim("int64"), '
    'f: R.Callable((R.Tensor((2, 3), "float32"),), R.Tensor((2, 3), "float32"))'
)
MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        for a, b in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("B"):
                va, vb = T.axis.remap("SS", [a, b])
                B[va, vb] = A[va, vb]

    @R.function
    def other(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return x

    @R.function(pure=False)
    def main({params}):
        cls = Module
{body}
"""


def in_function(body: str, params: str = PARAMS) -> str:
    """A module with these statements in its function `main`."""
    body = textwrap.dedent(body).strip()
    if "return" not in body:
        body += "\nreturn R.tuple()"
    return MODULE.format(params=params, body=textwrap.indent(body, "        "))


def round_trips(text: str) -> IRModule:
    """The module of `text`, after it was printed and parsed in each dialect."""
    module = rxe.parse(text)
    for dialect in DIALECTS:
        printed = module.script(dialect)
        again, report = read(printed, "printed.py")
        assert again is not None
        assert not report.errors, f"{list(report)}\n{printed}"
        assert rxe.structural_equal(again, module), printed
        assert rxe.structural_hash(again) == rxe.structural_hash(module)
        assert again.script(dialect) == printed
    return module


STATEMENTS: dict[str, tuple[str, str]] = {
    # values
    "int": ("y = 1", 'y = R.const(1, "int32")'),
    "float": ("y = 1.5", 'y = R.const(1.5, "float32")'),
    "bool": ("y = True", 'y = R.const(True, "bool")'),
    "prim value": ("y = R.prim_value(1)", ""),
    "prim value of a bool": ("y = R.prim_value(True)", ""),
    "prim value of a float": ("y = R.prim_value(2.5)", "y = T.float64(2.5)"),
    "prim value, annotated": ("y: T.int64 = 1", ""),
    "prim value of another dtype": ("y = T.int32(7)", ""),
    "negative prim value": ("y = R.call_packed('f', -1)", 'y = R.call_packed("f", -1)'),
    "prim arithmetic": ("y = R.call_packed('f', p + 1, p * 2 // 3)", 'R.call_packed("f", p + 1, p * 2 // 3)'),
    "infinity": ('y = R.const(float("inf"), "float32")', 'y = R.const("inf", "float32")'),
    "minus infinity": ('y = R.const(float("-inf"), "float32")', 'y = R.const("-inf", "float32")'),
    "not a number": ('y = R.const(float("nan"), "float64")', 'y = R.const("nan", "float64")'),
    "scalar infinity": ("y = R.call_packed('f', T.float32('inf'))", 'T.float32("inf")'),
    "negative constant": ('y = R.const(-2.5, "float16")', ""),
    "largest float": ('y = R.const(3.4028234663852886e+38, "float32")', 'R.const(3.4028234663852886e+38, "float32")'),
    "bfloat16": ('y = R.const(1.5, "bfloat16")', ""),
    "float8": ('y = R.const(1.5, "float8_e4m3fn")', ""),
    "int4": ('y = R.const(-3, "int4")', ""),
    "largest uint64": ('y = R.const(18446744073709551615, "uint64")', ""),
    "string": ('y = R.str("quo\\"te\\n")', ""),
    "bare string as argument": ('y = R.call_packed("f", "text")', 'R.call_packed("f", R.str("text"))'),
    "dtype": ('y = R.dtype("float16")', ""),
    "null": ("y = R.null_value()", ""),
    "shape": ("y = R.shape([1, 2])", ""),
    "empty shape": ("y = R.shape([])", ""),
    "array constant": ('y = R.const([[1, 2], [3, 4]], "int8")', 'y = metadata["ir.GenericConst"][0]'),
    "empty array constant": ('y = R.const([], "float32")', 'y = metadata["ir.GenericConst"][0]'),
    "bool array constant": ('y = R.const([True, False], "bool")', 'y = metadata["ir.GenericConst"][0]'),
    "bfloat16 array constant": ('y = R.const([1.5, 2.5], "bfloat16")', 'y = metadata["ir.GenericConst"][0]'),
    "packed function as a value": ('y = R.ExternFunc("test.f")', ""),
    "function of the module as a value": ("y = cls.other", ""),
    # tuples
    "tuple": ("y = (x, i)", ""),
    "tuple without parentheses": ("y = x, i", "y = (x, i)"),
    "one-tuple": ("y = (x,)", ""),
    "nested tuple": ("y = (x, (i, (c,)))", ""),
    "empty tuple": ("y = ()", "y = R.tuple()"),
    "tuple by name": ("y = R.tuple(x, i)", "y = (x, i)"),
    "list": ("y = [x, i]", "y = (x, i)"),
    "field": ("y = t[0]", ""),
    "field of a field": ("y = t[1][0]", ""),
    "unpacking": ("a, b = t", "a = t[0]"),
    "unpacking a call": ("a, b = R.split(x, 2, axis=0)", "a = a_b[0]"),
    "field of a tuple as written": ("y = (x, i)[1]", "y = i"),
    # operators of Python
    "arithmetic": ("y = x + x * x - x / x", "R.subtract(R.add(x, R.multiply(x, x)), R.divide(x, x))"),
    "power, floor, modulo": ("y = x ** x // x % x", "R.mod(R.floor_divide(R.power(x, x), x), x)"),
    "comparison": ("y = x > x", "y = R.greater(x, x)"),
    "negation": ("y = -x", "y = R.negative(x)"),
    "scalar beside a tensor in a call": ("y = R.add(x, 1.0)", ""),
    # calls
    "nested calls": ("y = R.exp(R.add(x, R.sin(x)))", ""),
    "keywords for operands": ("y = R.add(x1=x, x2=x)", "y = R.add(x, x)"),
    "operator by keywords": ("y = R.nn.softmax(x, axis=-1)", ""),
    "axes as a list": ("y = R.permute_dims(x, axes=[1, 0])", ""),
    "axes as a tuple": ("y = R.sum(x, axis=(0, 1), keepdims=True)", "y = R.sum(x, axis=[0, 1], keepdims=True)"),
    "shape as a tuple": ("y = R.reshape(x, (3, 2))", "y = R.reshape(x, R.shape([3, 2]))"),
    "shape as a list": ("y = R.reshape(x, [3, 2])", "y = R.reshape(x, R.shape([3, 2]))"),
    "shape as a variable": ("y = R.reshape(x, s)", ""),
    "call of the module": ("y = cls.other(x)", ""),
    "call by the class": ("y = Module.other(x)", "y = cls.other(x)"),
    "call of a parameter": ("y = f(x)", ""),
    "call_tir": ('y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))', ""),
    "call_tir, one argument": ('y = R.call_tir(cls.kernel, x, R.Tensor((2, 3), "float32"))', "(x,), out_ty="),
    "call_tir, arguments in a list": ('y = R.call_tir(cls.kernel, [x], R.Tensor((2, 3), "float32"))', "(x,), out_ty="),
    "call_tir, a variable of arguments": ('y = R.call_tir(cls.kernel, t, R.Tensor((2, 3), "float32"))', "cls.kernel, t, out_ty"),
    "call_tir, several results": (
        'y = R.call_tir(cls.kernel, (x,), out_ty=[R.Tensor((2, 3), dtype="float32"), R.Tensor((), dtype="int8")])', ""),
    "call_tir, out_sinfo": ('y = R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((2,), "int8"))', 'out_ty=R.Tensor((2,), dtype="int8")'),
    "call_tir, tir_vars": (
        'y = R.call_tir(cls.kernel, (x,), out_ty=R.Tensor((2,), dtype="int8"), tir_vars=R.shape([2]))', ""),
    "call_tir, no arguments": ('y = R.call_tir(cls.kernel, R.tuple(), out_ty=R.Tensor((2,), dtype="int8"))', ""),
    "call_tir_inplace": (
        'y = R.call_tir_inplace(cls.kernel, (x,), out_ty=R.Tensor((2, 3), dtype="float32"), inplace_indices=[0])', ""),
    "call_tir_with_grad": (
              'y = R.call_tir_with_grad(cls.kernel, (x,), out_ty=R.Tensor((2, 3), dtype="float32"), te_grad_name="g", '
        'te_grad_kwargs={"k": T.float32(1.0)})',
        ""),
    "call_dps_packed": ('y = R.call_dps_packed("f", (x,), out_ty=R.Tensor((2, 3), dtype="float32"))', ""),
    "call_packed": ('y = R.call_packed("f", x, ty_args=(R.Tensor((2, 3), dtype="float32"),))', ""),
    "call_packed, one type": ('y = R.call_packed("f", x, ty_args=R.Tensor(ndim=2))', "ty_args=(R.Tensor(ndim=2),)"),
    "call_packed, sinfo_args": ('y = R.call_packed("f", x, sinfo_args=[R.Object])', "ty_args=(R.Any,)"),
    "call_packed, two types": ('y = R.call_packed("f", ty_args=(R.Any, T.int64))', 'ty_args=(R.Any, R.Prim("int64"))'),
    "call_packed, attributes": ('y = R.call_packed("f", x, attrs_type_key="ffi.Dict", k=1, ty_args=(R.Any,))', ""),
    "call_pure_packed": ('y = R.call_pure_packed("f", x, ty_args=(R.Tensor((2, 3), dtype="float32"),))', ""),
    "call_pure_packed without types": ('y = R.call_pure_packed("f", x)', ""),
    "call_inplace_packed": ('y = R.call_inplace_packed("f", x, inplace_indices=[0], ty_args=(R.Tensor((2, 3), dtype="float32"),))', ""),
    "call_builtin_with_ctx": (
        'y = R.call_builtin_with_ctx("vm.builtin.alloc", (R.prim_value(1), x), ty_args=(R.Any,))', '"vm.builtin.alloc", (1, x), ty_args'),
    "call_py_func": ('y = R.call_py_func("g", (x,), out_ty=R.Tensor((2, 3), dtype="float32"))', 'R.call_py_func(R.str("g"), (x,), out_ty=R.Tensor'),
    "make_closure": ("y = R.make_closure(cls.other, (x,))", ""),
    "invoke_closure": ('y = R.invoke_closure(f, (x,), ty_args=(R.Tensor((2, 3), dtype="float32"),))', ""),
    "invoke_pure_closure": ('y = R.invoke_pure_closure(f, (x,), ty_args=(R.Any,))', ""),
    "emit": ("y = R.emit(R.exp(x))", "y = R.exp(x)"),
    "emit_with_ty": ('y = R.emit_with_ty("relax.add", (x, x), R.Tensor(ndim=2))', "y = R.add(x, x, ty_args=(R.Tensor(ndim=2),))"),
    "layout_transform": ("y = R.layout_transform(x, index_map=T.index_map(lambda a, b: (b, a)), pad_value=None)", "T.index_map(lambda a, b: (b, a))"),
    "virtual device": ('y = R.to_vdevice(x, dst_vdevice="llvm:0:global")', ""),
    "hint_on_device": ("y = R.hint_on_device(x, R.device(1, 0))", 'R.hint_on_device(x, R.device(device_type=1, index=0), "global")'),
    "hint_on_device by its name": ("y = R.hint_on_device(x, R.device('cuda', index=1))", "x, R.device(device_type=2, index=1)"),
    "hint_on_device by its kind": ('y = R.hint_on_device(x, R.vulkan(), "shared")', 'x, R.device(device_type=7, index=0), "shared")'),
    "hint_on_device as printed": ('y = R.hint_on_device(x, R.device(device_type=2, index=1), "global")', ""),
    "lowered calls": (
        """
        y = R.vm.alloc_storage(R.shape([24]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
        z = R.vm.alloc_tensor(y, R.prim_value(0), R.shape([2, 3]), R.dtype("float32"), R.prim_value(0))
        _ = cls.kernel(x, z)
        R.vm.kill_object(y)
        R.memory.kill_tensor(z)
        """, 'z = R.vm.alloc_tensor(y, 0, R.shape([2, 3]), R.dtype("float32"), 0)'),
    "memory": (
        'y = R.memory.alloc_storage(R.shape([24]), R.prim_value(0), R.str("global"), R.dtype("float32"))', "R.shape([24]), 0, R.str"),
    "builtin.alloc_tensor": (
        'y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))', ', 0, R.str("global")'),
    "builtin.alloc_tensor, typed": (
        'y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"), ty_args=(R.Tensor((4,), dtype="float32"),))', ""),
    "collectives": ('y = R.ccl.allreduce(x, op_type="sum", in_group=True)', ""),
    "unknown operator": ('y = R.frob.nicate(x, (x, 1), axis=None, k=[1, "a", 0.5, {"b": True}], d="float32")', ""),
    "print": ('R.print(x, format="{}")', ""),
    "assert": ('R.assert_op(c, x, format="{}")', ""),
    "einsum": ('y = R.einsum((x, x), subscripts="ij,kj->ik")', ""),
    "device mesh": ('y = R.dist.annotate_sharding(x, device_mesh="mesh[0]", placement="S[0], R")', ""),
    # statements
    "annotation": ('y: R.Tensor((2, 3), dtype="float32") = R.exp(x)', ""),
    "weaker annotation": ("y: R.Tensor = R.exp(x)", ""),
    "annotation Any": ("y: R.Object = x", "y: R.Any = x"),
    "bare statement": ("R.call_packed('f', x)", 'R.call_packed("f", x)'),
    "thrown away": ("_ = R.exp(x)\n_ = R.sin(x)", ""),
    "docstring": ('"""What it does."""\ny = x', "y = x"),
    "pass": ("pass\ny = x", "y = x"),
    "return of a call": ("return R.exp(x)", ""),
    "return of a tuple": ("return x, i", "return (x, i)"),
    "return of nothing": ("return", "return R.tuple()"),
    "return of a field": ("return t[0]", ""),
    "rebinding": ("x = R.exp(x)\nx = R.exp(x)\nreturn x", "return x_2"),
    "match_cast": (
        "n = T.int64()\nm = T.int64()\ny: R.Tensor((n, m), dtype=\"float32\") = R.match_cast(o, R.Tensor((n, m), dtype=\"float32\"))", ""),
    "match_cast without a variable": ('n = T.int64()\nR.match_cast(o, R.Shape([n]))', "_ = R.match_cast(o, R.Shape([n]))"),
    "match_cast by keywords": ("y = R.match_cast(value=o, struct_info=R.Tensor(ndim=2))", "R.match_cast(o, R.Tensor(ndim=2))"),
    "two shape variables at once": ("n, m = T.int64(), T.int64()\ny = R.match_cast(o, R.Shape([n, m]))", "m = T.int64()"),
    "shape variable never bound": ("n = T.int64()\nk = T.int64()\ny: R.Tensor((n,), dtype=\"int8\") = o\nz = R.shape([k + 1])", ""),
    "if": ("if c:\n    y = R.exp(x)\nelse:\n    y = x", "y = y_then"),
    "elif": ("if c:\n    y = R.exp(x)\nelif c:\n    y = R.sin(x)\nelse:\n    y = x", "if c:"),
    "if over a scalar condition": ("if p > 3:\n    y = x\nelse:\n    y = R.exp(x)", "if p > 3:"),
    "if over a constant": ("if R.const(True):\n    y = x\nelse:\n    y = R.exp(x)", 'if R.const(True, "bool"):'),
    "dataflow": (
        "with R.dataflow():\n    lv = R.exp(x)\n    y = R.sin(lv)\n    z = R.cos(y)\n    R.output(y, z)\nreturn z", ""),
    "dataflow without output": ("with R.dataflow():\n    lv = R.exp(x)\n    R.output()", ""),
    "local function": (
        """
        @R.function
        def g(a: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
            b = R.exp(a)
            return b
        y = g(x)
        return y
        """, ""),
    "local function with lengths of its own": (
        """
        @R.function
        def g(a: R.Tensor(("k",), dtype="float32")) -> R.Tensor(("k * 2",), dtype="float32"):
            k = T.int64()
            b = R.match_cast(a, R.Tensor((k * 2,), "float32"))
            return b
        return g
        """, 'def g(a: R.Tensor((k,), dtype="float32")) -> R.Tensor(("k * 2",), dtype="float32"):'),
    "local recursion": (
        """
        @R.function
        def g(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            b = g(a)
            return b
        return g
        """, "b = g(a)"),
    "function attributes": ('R.func_attr({"relax.force_pure": True, "num_input": 1, "tir_var_upper_bound": {"n": 10}})\nreturn x',
        'R.func_attr({"num_input": 1, "relax.force_pure": True, "tir_var_upper_bound": {"n": 10}})'),
    "attributes of every kind": ('R.func_attr({"a": [1, [2.5, None], "t"], "b": {"c": True}, "d": -1, "e": 0.0, "f": -0.0})\nreturn x', ""),
    "names that hide": ("T_ = R.exp(x)\nmetadata = R.exp(x)\nself = metadata\nreturn self", "metadata_ = R.exp(x)"),
    "letters beyond ASCII": ("größe = R.exp(x)\nreturn größe", "return gr__e"),
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement(name: str) -> None:
    written, printed = STATEMENTS[name]
    text = round_trips(in_function(written)).script()
    for line in (printed or textwrap.dedent(written)).strip().splitlines():
        if line.strip():
            assert line.strip() in text, text


ANNOTATIONS = {
    "shape and dtype": ('R.Tensor((2, 3), "float32")', 'R.Tensor((2, 3), dtype="float32")'),
    "shape in a list": ('R.Tensor([2, 3], "float32")', 'R.Tensor((2, 3), dtype="float32")'),
    "by keywords": ('R.Tensor(shape=(2,), dtype="int8")', 'R.Tensor((2,), dtype="int8")'),
    "dtype alone": ('R.Tensor("float16")', 'R.Tensor(dtype="float16")'),
    "dtype and rank": ('R.Tensor("float16", ndim=2)', 'R.Tensor(dtype="float16", ndim=2)'),
    "rank alone": ("R.Tensor(ndim=3)", "R.Tensor(ndim=3)"),
    "nothing": ("R.Tensor()", "R.Tensor"),
    "nothing, bare": ("R.Tensor", "R.Tensor"),
    "no shape": ("R.Tensor(None, dtype='int8', ndim=2)", 'R.Tensor(dtype="int8", ndim=2)'),
    "rank 0": ('R.Tensor((), "float32")', 'R.Tensor((), dtype="float32")'),
    "void": ('R.Tensor((2,), "void")', "R.Tensor((2,))"),
    "quoted dimensions": ('R.Tensor(("n", "n * 2", "n // 2 + 1"), "int8")', 'R.Tensor((n, "n * 2", "n // 2 + 1"), dtype="int8")'),
    "a quoted call": ('R.Tensor(("T.max(n, 1)",))', 'R.Tensor(("T.max(n, 1)",))'),
    "a quoted cast": ("R.Tensor((\"T.Cast('int64', n)\",))", 'R.Tensor(("T.Cast(\\"int64\\", n)",))'),
    "virtual device": ('R.Tensor((2,), "int8", "cuda:0")', 'R.Tensor((2,), dtype="int8", vdevice="cuda:0")'),
    "virtual device by keyword": ('R.Tensor((2,), dtype="int8", vdevice="llvm:0:global")', 'vdevice="llvm:0:global"'),
    "shape": ("R.Shape", "R.Shape"),
    "shape called": ("R.Shape()", "R.Shape"),
    "shape of a rank": ("R.Shape(ndim=2)", "R.Shape(ndim=2)"),
    "shape of lengths": ('R.Shape(["n", 4])', "R.Shape([n, 4])"),
    "shape in a tuple": ("R.Shape((2, 3))", "R.Shape([2, 3])"),
    "shape of nothing": ("R.Shape([])", "R.Shape([])"),
    "tuple": ("R.Tuple(R.Tensor, R.Tuple(R.Object))", "R.Tuple(R.Tensor, R.Tuple(R.Any))"),
    "tuple of a list": ("R.Tuple([R.Tensor, R.Shape])", "R.Tuple(R.Tensor, R.Shape)"),
    "empty tuple": ("R.Tuple()", "R.Tuple"),
    "None": ("None", "R.Tuple"),
    "object": ("R.Object", "R.Any"),
    "any": ("R.Any()", "R.Any"),
    "scalar": ('R.Prim("float32")', "T.float32"),
    "scalar by keyword": ('R.Prim(dtype="int32")', "T.int32"),
    "scalar of TIR": ("T.bool", "T.bool"),
    "function": ('R.Callable((R.Tensor((2,), "int8"),), R.Tensor)', 'R.Callable((R.Tensor((2,), dtype="int8"),), R.Tensor, True)'),
    "impure function": ("R.Callable((), R.Object, False)", "R.Callable((), R.Any, False)"),
    "any function": ("R.Callable", "R.Callable"),
    "any function, called": ("R.Callable()", "R.Callable"),
    "function with a result": ("R.Callable(ret=R.Tensor(ndim=1), purity=True)", "R.Callable(ret=R.Tensor(ndim=1), purity=True)"),
    "function with a derive function": ('R.Callable(derive_func="default_derive")', 'derive_func="default_derive"'),
    "function with lengths": (
        'R.Callable((R.Tensor(("k",)),), R.Tensor(("k + 1",)), True)', 'R.Callable((R.Tensor((k,)),), R.Tensor(("k + 1",)), True)'),
    "string": ("I.StringType()", "R.Any"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotation(name: str) -> None:
    written, printed = ANNOTATIONS[name]
    text = round_trips(f"@R.function\ndef main(a: {written}):\n    return a\n").script()
    assert printed in text, text


MODULES: dict[str, tuple[str, str]] = {
    "PEP 695 header": (
        "@I.ir_module\nclass Module:\n    @R.function\n"
        '    def main[n, m](x: R.Tensor((n, n * 2, m), "float32")) -> R.Tensor((m + 1,)):\n'
        "        k = T.int64()\n        y = R.match_cast(x, R.Tensor((k, n)))\n        return y\n"
        "    @T.prim_func\n    def add[n](A: T.Buffer((n, 4), 'float32')):\n        A[0, 0] = A[0, 0]\n",
        'def main(x: R.Tensor((n, "n * 2", m), dtype="float32")) -> R.Tensor(("m + 1",)):',
    ),
    "TypeVar": ('n = TypeVar("n")\n@R.function\ndef main(x: R.Tensor((n, "n + 1"))):\n    return R.shape([n])\n', 'n = TypeVar("n")'),
    "typing.TypeVar": (
        "from __future__ import annotations\nimport typing\nfrom tvm.script import relax as R\n"
        'n = typing.TypeVar("n")\n@R.function\ndef main(x: R.Tensor((n,))):\n    return x\n', 'n = TypeVar("n")'),
    "TypeVar named by a number": (
        '100 = TypeVar("100")\n@R.function\ndef main(x: R.Tensor((100, "100 * 2", 4))):\n    return R.shape([100])\n', 'v100 = TypeVar("v100")'),
    "TypeVar with a dash": (
        'batch-size = TypeVar("batch-size")\n@R.function\ndef main(x: R.Tensor((batch-size, "batch-size + 1"))):\n    return x\n',
        'R.Tensor((batch_size, "batch_size + 1"))'),
    "PEP 695 header with a number": ("@R.function\ndef main[3](x: R.Tensor((3, 4))):\n    return x\n", 'v3 = TypeVar("v3")'),
    "TypeVars of two functions": (
        'n = TypeVar("n")\n@R.function\ndef f(x: R.Tensor((n,))):\n    return x\n@R.function\ndef g(x: R.Tensor((n, n))):\n    return x\n', ""),
    "module-level shape variable": ("n = T.int64()\n@R.function\ndef main(x: R.Tensor((n,))):\n    return x\n", 'n = TypeVar("n")'),
    "tvm.script.ir_module": ("@tvm.script.ir_module\nclass M:\n    @R.function\n    def main():\n        return R.tuple()\n", "@I.ir_module"),
    "options of the module": (
        "@I.ir_module(s_tir=True, check_well_formed=False)\nclass M:\n    @R.function(check_well_formed=False)\n"
        "    def main():\n        return R.tuple()\n", "@I.ir_module\n"),
    "a base class": ("@I.ir_module\nclass M(BasePyModule):\n    @R.function\n    def main():\n        return R.tuple()\n", ""),
    "attributes": (
        '@I.ir_module\nclass M:\n    I.module_attrs({"b": 1, "a": "x", "c": [1, 2]})\n    @R.function\n    def main():\n        return R.tuple()\n',
        'I.module_attrs({"a": "x", "b": 1, "c": [1, 2]})'),
    "virtual devices": (
        '@I.ir_module\nclass M:\n'
        '    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice({"kind": "cuda", "arch": "sm_80"}, 0, "global")]})\n'
        '    @R.function\n    def main(x: R.Tensor((2,), "int8", "llvm:0:global")):\n        return x\n',
        "I.module_global_infos({\"vdevice\": [I.vdevice('llvm'), I.vdevice({'kind': 'cuda', 'arch': 'sm_80'}, 0, 'global')]})"),
    "device meshes": (
        '@I.ir_module\nclass M:\n    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))], "dummy": [I.dummy_global_info()]})\n'
        '    @R.function\n    def main(x: R.DTensor((2,), "float32", "mesh[0]", "S[0]")):\n        return x\n', "R.device_mesh((2,), I.Range(0, 2))"),
    "target": (
        '@I.ir_module\nclass M:\n    I.module_attrs({"target": T.target({"kind": "llvm"})})\n    @R.function\n'
        '    def main():\n        return R.tuple()\n',
        "T.target({'kind': 'llvm'})"),
    "external library": (
        '@I.ir_module\nclass M:\n    I.module_attrs({"external_mods": [metadata["ffi.Module"][0]]})\n'
        '    @R.function\n    def main():\n        return R.tuple()\n',
        "external_mods"),
    "external function": (
        '@I.ir_module\nclass M:\n    ext = R.ExternFunc("lib.f", R.Callable((R.Object,), R.Object))\n    @R.function(pure=False)\n'
        "    def main(x: R.Object):\n        y = M.ext(x)\n        return y\n", 'R.ExternFunc("lib.f", R.Callable((R.Any,), R.Any, True))'),
    "Python member": (
        '@I.ir_module\nclass M(BasePyModule):\n    @I.pyfunc\n    def helper(self, x):\n        """Doc."""\n'
        '        if x > 0:\n            return [i for i in x]\n'
        "        return x\n    @R.function\n    def main(x: R.Object):\n        return x\n", "        return [i for i in x]\n"),
    "rewriter": (
        "@R.rewriter\nclass Rewriter:\n    @R.function\n    def pattern(x: R.Tensor):\n        return R.exp(x)\n"
        "    @R.function\n    def replacement(x: R.Tensor):\n        return R.sin(x)\n", "R.sin(x)"),
    "private and impure": ("@R.function(private=True, pure=False)\ndef main():\n    return R.tuple()\n", "@R.function(private=True, pure=False)"),
    "a function called like a construct": ("@R.function\ndef R():\n    return R.tuple()\n", "def R():"),
    "a function with another symbol": (
        '@R.function\ndef f():\n    R.func_attr({"global_symbol": "other"})\n    return R.tuple()\n', '"global_symbol": "other"'),
    "private function with a symbol": (
        '@R.function(private=True)\ndef f():\n    R.func_attr({"global_symbol": "f"})\n    return R.tuple()\n', "def f():"),
    "attributes of statements": (
        '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), "float32")):\n    T.attr({"pragma_scope": "seq", "count": 2})\n'
        "    for i in range(4):\n        A[i] = T.float32(1)\n",
        'with T.attr({"pragma_scope": "seq"}):\n            with T.attr({"count": 2}):\n'),
    "Codegen attributes": (
        '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    R.func_attr({"Codegen": "dnnl", "Primitive": True})\n    @R.function\n'
        '    def local(y: R.Tensor((2,), "float32")):\n        R.func_attr({"Composite": "dnnl.relu"})\n        z = R.nn.relu(y)\n        return z\n'
        "    w = local(x)\n    return w\n", 'R.func_attr({"Composite": "dnnl.relu"})'),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_module(name: str) -> None:
    written, printed = MODULES[name]
    text = round_trips(written).script()
    assert printed in text, text


# Constructs that need running Python; the problem says so and proposes a fix.
PYTHON = {
    "emit_te": "y = R.emit_te(topi.add, x, x)",
    "call_te": "y = R.call_te(lambda a: a, x)",
    "comprehension": "y = R.concat([x for _ in range(3)], axis=0)",
    "generator": "y = R.tuple(*(x for _ in range(3)))",
    "f-string": 'y = R.call_packed(f"test.{n}", x)',
    "captured value": "y = R.const(np.zeros((2, 3)), 'float32')",
    "captured name": "y = R.const(weights, 'float32')",
    "captured attribute": "y = R.add(x, config.scale)",
    "lambda": "y = R.add(x, lambda: x)",
    "conditional expression": "y = x if True else R.exp(x)",
    "keyword dictionary": "y = R.exp(**{'x': x})",
    "starred arguments": "y = R.concat(*xs)",
    "loop": "for _ in range(3):\n    x = R.exp(x)\nreturn x",
    "while": "while True:\n    x = R.exp(x)\nreturn x",
    "augmented": "x += x\nreturn x",
    "call of Python": "y = helper(x)",
    "method": "y = x.reshape((4,))",
    "assert": "assert x\nreturn x",
    "slice": "y = x[0:1]",
    "meta_var": "y = I.meta_var(3)",
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_is_reported_with_what_to_do_instead(name: str) -> None:
    _, report = read(in_function(PYTHON[name]), "python.py")
    assert report.errors
    for item in report.errors:
        assert item.code.id in ("RX0010", "RX0011", "RX0014", "RX0015", "RX0026"), item.message
        assert item.help, item.message
    assert report.errors[0].span is not None


# Findings of the fuzzer, reduced: each is refused with a problem, or reads back.
ONCE_BROKEN = {
    "a function called R": "@R.function\ndef R(x: R.Object):\n    return x\n",
    "a quoted string in a quoted dimension": "@R.function\ndef main(x: R.Tensor((T.Cast('int32', n),))):\n    return x\n",
    "a used result of nothing": "@R.function(pure=False)\ndef main(x: R.Object):\n    y = R.print(x)\n    return y\n",
    "unordered attributes": '@R.function\ndef main():\n    R.func_attr({"b": {"z": 1, "a": 2}})\n    return R.tuple()\n',
    "a cast inside an expression": "@R.function\ndef main(x: R.Object):\n    return R.exp(R.match_cast(x, R.Tensor))\n",
    "a literal beyond int64": "@R.function\ndef main():\n    return R.prim_value(-9223372036854775809)\n",
    "a negative literal beyond int64": "@R.function\ndef main(x: R.Tensor((-92233720368547758080,))):\n    return x\n",
    "a rank that can't be": "@R.function\ndef main(x: R.Tensor(ndim=-7), y: R.Shape(ndim=-7)):\n    return x\n",
    "two ranks": "@R.function\ndef main(x: R.Tensor((2,), ndim=2)):\n    return x\n",
    "a variable unpacked from a declaration": "@R.function\ndef main():\n    a, = T.int64()\n    return R.tuple()\n",
    "an axis that is computed": '@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n    return R.sum(x, axis=2-1)\n',
    "an infinite integer": "@T.prim_func\ndef f(A: T.Buffer((T.int64(1e400),))):\n    pass\n",
    "too few arguments": "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[T.cast(1)] = T.Ramp(1)\n",
    "too many lanes": "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    A[T.Ramp(0, 1, 99999)] = A[0]\n",
    "a scalar beside a tensor": "@R.function\ndef main(s: R.Shape(ndim=2), p: T.int64):\n    return R.call_packed('f', s % p)\n",
    "a variable that nothing binds": "n = TypeVar('n')\n@T.prim_func\ndef f(A: T.Buffer((4,), 'int64')):\n    A[n] = T.int64(1)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ONCE_BROKEN)
def test_what_the_fuzzer_found(name: str) -> None:
    module, report = read(ONCE_BROKEN[name], "found.py")
    if module is not None and not report.errors:
        round_trips(ONCE_BROKEN[name])
    else:
        assert report.errors


READ_BY_TVM = {
    "a scalar in a tuple": (
        "q: R.Tuple(R.Any, T.int64) = (o, p)\nreturn q",
        'q: R.Tuple(R.Any, R.Prim("int64")) = (o, p)',
    ),
    "anything that is written in place": (
        'q = R.call_inplace_packed("f", o, inplace_indices=[0], ty_args=R.Any())\nreturn q',
        "ty_args=[R.Any()]",
    ),
}


@pytest.mark.parametrize("name", READ_BY_TVM)
def test_what_tvm_cannot_read_of_its_own_text_it_reads_of_ours(name: str, oracle: Oracle) -> None:
    body, printed = READ_BY_TVM[name]
    params = 'o: R.Any, p: R.Prim("int64"), f: R.Callable((R.Prim("int64"),), R.Prim("bool"))'
    ours = round_trips(in_function(body, params)).script()
    assert printed in ours
    theirs = oracle.script(oracle.parse(ours).get()).get()
    assert oracle.equal(ours, rxe.parse(theirs).script()).get().exact
