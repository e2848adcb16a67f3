"""Random plans of memory for random programs, and an oracle that tells by brute force which of them destroy a value.

`python -m tests.fuzz.memory_plans -n 2000` compares the checker with the oracle on as many plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions
from tests.support.pass_material import pass_material

STEPS = "LambdaLift,LegalizeOps,RewriteDataflowReshape,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
_ALLOCATION = re.compile(
    r"( +)(\w+)(: .*)? = R\.builtin\.alloc_tensor\(R\.shape\(\[(.*?)\]\), (R\.dtype\(\"\w+\"\)), .*"
)
_HEAD = re.compile(r"R\.func_attr|cls = |\w+ = T\.int64|[\"#]")
_WIDTH = {"float32": 4, "int64": 8, "int32": 4, "bool": 1, "float16": 2}
LENGTH = 3  # of each shape variable, for the oracle
_PATHS = 64


@cache
def lowered(seed: int) -> str | None:
    """A random program before its memory is planned; None if it may not end."""
    module = rxe.run_pipeline(rxe.parse(pass_material(seed)), STEPS)
    return None if "forever" in module.relax_functions else module.script()


def planned(text: str, random: Random) -> str:
    """The program with tensors at random places of few storages. Where a function plans symbolic tensors, too, all start at byte 0."""
    lines: list[str] = []
    start, storages, at_start = None, 0, False
    for line in text.splitlines():
        if line.startswith("    def "):
            start, storages, at_start = None, random.choice((1, 2, 3, 6)), random.random() < 0.3
        elif start is None and line.startswith("        ") and not _HEAD.match(line.strip()):
            start = len(lines)
            lines += [
                f'        plan_{number}: R.Object = R.memory.alloc_storage(R.shape([4096]), R.prim_value(0), R.str("global"), '
                'R.dtype("uint8"))'
                for number in range(storages)
                if "T." not in line
            ]
        found = _ALLOCATION.match(line)
        if found and random.random() < 0.9 and (at_start or not re.search("[a-z]", found[4])):
            indent, name, kind, shape, dtype = found.groups()
            offset = 0 if at_start else random.choice((0, 0, 0, 8, 24, 48, 96))
            storage = random.randrange(storages)
            line = f"{indent}{name}{kind or ''} = R.memory.alloc_tensor(plan_{storage}, R.prim_value({offset}), R.shape([{shape}]), {dtype})"
        lines.append(line)
    return "\n".join(lines) + "\n"


@dataclass(eq=False)
class _Bytes:
    """A tensor: its storage as a mapping from bytes to the tensor that wrote them, and its own bytes."""

    storage: dict[int, Any]
    places: range
    is_written: bool = False

    @property
    def is_whole(self) -> bool:
        return all(self.storage.get(place) is self for place in self.places)


class Destroyed(Exception):
    """A run reads bytes that another tensor has overwritten."""


class Unsupported(Exception):
    """The oracle does not know a construct."""


def is_wrong(module: IRModule) -> bool:
    """True if some choice of all branches makes a run of some function read bytes that another tensor has overwritten."""
    return any(_destroys(module, fn) for fn in module.relax_functions.values())


def _destroys(module: IRModule, fn: e.Function) -> bool:
    pending: list[dict[Any, bool]] = [{}]
    for _ in range(_PATHS):
        if not pending:
            break
        run = _Run(module, pending.pop())
        try:
            run.read(run.function(fn, [_argument(param.struct_info) for param in fn.params]))
        except Destroyed:
            return True
        pending += run.others
    return False


def _argument(info: s.StructInfo | None) -> Any:
    if isinstance(info, s.TupleStructInfo):
        return tuple(map(_argument, info.fields))
    return object()


class _Run:
    """One run. `choices` are the sides of conditions; `others` those that remain to be tried."""

    def __init__(self, module: IRModule, choices: dict[Any, bool]) -> None:
        self.module, self.choices, self.number = module, choices, 0
        self.others: list[dict[Any, bool]] = []
        self.conditions: dict[int, int] = {}
        self.alive: list[Any] = []

    def function(self, fn: e.Function, args: list[Any]) -> Any:
        frame = dict(zip(fn.params, args, strict=True))
        return self.sequence(fn.body, frame)

    def sequence(self, seq: e.SeqExpr, frame: dict[e.Var, Any]) -> Any:
        for block in seq.blocks:
            for binding in block.bindings:
                value = self.value(binding.value, frame)
                if binding.var is not None:
                    frame[binding.var] = value
        return self.value(seq.body, frame)

    def value(self, expr: e.Expr, frame: dict[e.Var, Any]) -> Any:
        if isinstance(expr, e.Var):
            return frame[expr]
        if isinstance(expr, e.Tuple):
            return tuple([self.value(item, frame) for item in expr.fields])
        if isinstance(expr, e.TupleGetItem):
            return self.value(expr.tuple, frame)[expr.index]
        if isinstance(expr, e.If):
            side = self.choose(self.value(expr.condition, frame))
            return self.sequence(sequences(expr)[0 if side else 1], frame)
        if isinstance(expr, e.Call):
            return self.call(expr, frame)
        if isinstance(expr, e.Function):
            raise Unsupported("a nested function")
        return object()

    def choose(self, condition: Any) -> bool:
        """The side of an If; conditions that are one value choose alike."""
        self.alive.append(condition)
        self.read(condition)
        key = self.conditions.setdefault(id(condition), len(self.conditions))
        if key not in self.choices:
            self.choices[key] = True
            self.others.append({**self.choices, key: False})
        return self.choices[key]

    def call(self, call: e.Call, frame: dict[e.Var, Any]) -> Any:
        name = getattr(call.op, "name", "")
        fn = self.module.functions.get(name) if isinstance(call.op, e.GlobalVar) else None
        if name == "relax.memory.alloc_storage":
            return {}
        if name == "relax.memory.alloc_tensor":
            return self.place(call, frame)
        args = [self.value(arg, frame) for arg in call.args]
        if name == "relax.reshape":
            return args[0]
        if isinstance(fn, PrimFunc):
            return self.kernel(fn, args)
        if isinstance(fn, e.Function):
            return self.function(fn, args)
        if name in ("relax.shape_of", "relax.builtin.alloc_tensor", "relax.null_value"):
            return object()
        if isinstance(call.op, (e.ExternFunc, e.OpRef)) and "closure" not in name:
            for arg in args:
                self.read(arg)
            return object()
        raise Unsupported(name or str(call.op))

    def place(self, call: e.Call, frame: dict[e.Var, Any]) -> _Bytes:
        storage, offset, shape, dtype = call.args[:4]
        assert isinstance(offset, e.PrimValue)
        assert isinstance(offset.value, p.IntImm)
        assert isinstance(shape, e.ShapeExpr)
        assert isinstance(dtype, e.DataTypeImm)
        size = _WIDTH[str(dtype.value)]
        for length in shape.values:
            known = p.substitute(length, {var: p.IntImm(LENGTH, var.dtype) for var in p.free_vars(length)})
            size *= _number(known)
        low = offset.value.value
        return _Bytes(self.value(storage, frame), range(low, low + size))

    def kernel(self, fn: PrimFunc, args: list[Any]) -> None:
        """Inputs come first; the outputs are the tensors without elements. Each input that the kernel loads is read."""
        loaded = _loaded(fn)
        outputs = [arg for arg in args if isinstance(arg, _Bytes) and not arg.is_written]
        inputs = [
            arg
            for param, arg in zip(fn.params, args, strict=True)
            if not any(arg is output for output in outputs) and param in loaded
        ]
        for arg in inputs:
            self.read(arg)
        for output in outputs:
            output.is_written = True
            output.storage.update(dict.fromkeys(output.places, output))
        for arg in inputs:
            self.read(arg)

    def read(self, value: Any) -> None:
        if isinstance(value, tuple):
            for item in value:
                self.read(item)
        elif isinstance(value, _Bytes) and value.is_written and not value.is_whole:
            raise Destroyed


def _loaded(fn: PrimFunc) -> set[object]:
    """The buffers that a kernel loads."""
    exprs = [expr for node in statements(fn.body) for expr in subexpressions(*expressions(node))]
    return {expr.buffer for expr in exprs if isinstance(expr, BufferLoad)}


def _number(expr: p.PrimExpr) -> int:
    from relax_explorer.core.arith.simplify import simplify

    value = simplify(expr)
    assert isinstance(value, p.IntImm), expr
    return value.value


def verdicts(seed: int, plans: int) -> Iterator[tuple[str, bool, list[str]]]:
    """Plans of one random program: the text, whether it is wrong, and what the checker says."""
    text = lowered(seed)
    if text is None:
        return
    random = Random(seed)
    for _ in range(plans):
        plan = planned(text, random)
        module = rxe.normalize(rxe.parse(plan))
        said = [item.message for item in rxe.check(module) if item.code.id == "RX0157"]
        try:
            yield plan, is_wrong(module), said
        except Unsupported:
            return
