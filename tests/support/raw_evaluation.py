"""Random nested expressions, and an evaluator of them that does not use normal form."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from relax_explorer.core.ir import expr as e
from tests.support.spec_trees import bind, block, call, function, seq, tensor, var

Log = list[tuple[str, float]]


def random_function(seed: int) -> e.Function:
    """A function of a bool and a number; its body nests calls, tuples, sequences and branches, and some calls are logged."""
    random = Random(seed)
    condition, x = var("c", tensor((), "bool")), var("x", tensor(()))
    return function([condition, x], _number(random, [x], condition, 4), pure=False)


def _number(random: Random, known: list[e.Expr], condition: e.Var, depth: int) -> e.Expr:
    kind = random.choice(["leaf", "add", "logged", "field", "if", "sequence"]) if depth else "leaf"
    if kind == "leaf":
        return random.choice(known)

    def part() -> e.Expr:
        return _number(random, known, condition, depth - 1)

    if kind == "add":
        return call("add", part(), part())
    if kind == "logged":
        packed = e.ExternFunc(random.choice(["spec.one", "spec.two"]))
        return e.Call(packed, (part(),), sinfo_args=(tensor(()),))
    if kind == "field":
        return e.TupleGetItem(e.Tuple((part(), part())), random.randrange(2))
    if kind == "if":
        return e.If(condition, part(), part())
    name = e.Var(f"v{random.randrange(10**6)}")
    inner = _number(random, [*known, name], condition, depth - 1)
    return seq([block(bind(name, part()))], inner)


def evaluate(expr: e.Expr, values: dict[e.Expr, Any], log: Log) -> Any:
    """The value of a raw expression, operands left to right, one evaluation per occurrence."""
    if isinstance(expr, e.Var):
        return values[expr]
    if isinstance(expr, e.If):
        taken = expr.true_branch if evaluate(expr.condition, values, log) else expr.false_branch
        return evaluate(taken, values, log)
    if isinstance(expr, e.Tuple):
        return tuple(evaluate(field, values, log) for field in expr.fields)
    if isinstance(expr, e.TupleGetItem):
        return evaluate(expr.tuple, values, log)[expr.index]
    if isinstance(expr, e.SeqExpr):
        inside = dict(values)
        for part in expr.blocks:
            for binding in part.bindings:
                assert binding.var is not None  # these programs have no match_cast without a variable
                inside[binding.var] = evaluate(binding.value, inside, log)
        return evaluate(expr.body, inside, log)
    assert isinstance(expr, e.Call)
    arguments = [evaluate(arg, values, log) for arg in expr.args]
    if isinstance(expr.op, e.ExternFunc):
        return logged(expr.op.name, arguments[0], log)
    return arguments[0] + arguments[1]


def logged(name: str, value: Any, log: Log) -> Any:
    """The effect of the packed functions of these programs: record their argument, and change it."""
    log.append((name, float(value)))
    return np.float32(value * 2 if name == "spec.one" else value - 1)
