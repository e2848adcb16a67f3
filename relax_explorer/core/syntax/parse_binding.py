"""Reads the bindings of Relax functions: assignments, match_casts, declarations."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import rebuild
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT32, INT64
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.types import erase_struct_info, wrap_type
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.context import Blocks, Skip
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.parse_signature import SignatureReader
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix

# -- match shapes ----------------------------------------------------------------------------------------------------
# Reads `R.match_shape(x, [n, m])`, the statement of note 004 (Test I) that compares the shape of a value and binds
# variables.
# It is a match_cast to lengths alone. `R.match_shape(x, [n, m], [n, m * 4])` names its new variables. A match_cast
# binds whole dimensions only (errata E-41), so `m * 4` takes three: of the length, of m as the quotient, and of the
# pattern.


MATCH_SHAPE = "R.match_shape"
_LISTS = (ast.List, ast.Tuple)
_FORMS = (
    "write R.match_shape(x, [n, m]), or R.match_shape(x, [n, m], [n, m * 4]) with the new variables first"
)


@dataclass(frozen=True)
class MatchShape:
    """What was read: the value, its pattern, and the variables that no whole dimension binds, with the axes that tell them."""

    value: ast.expr
    pattern: tuple[p.PrimExpr, ...]
    solved: tuple[tuple[p.PrimVar, int], ...] = ()

    def casts(self, value: e.Expr, annotation: s.StructInfo | None, span: Span | None) -> list[e.MatchCast]:
        """The match_casts that compare the value and bind all variables."""
        lengths, quotients = list(self.pattern), []
        for new, axis in self.solved:
            lengths[axis] = length = p.PrimVar(f"{new.name}_length")
            quotients.append((new, _solved(self.pattern[axis], new, length)))
        found = []
        if quotients:
            found.append(e.MatchCast(None, value, _lengths_of(value, tuple(lengths)), None, span, True))
        for new, quotient in quotients:
            number = e.ShapeExpr((quotient,), None, span)
            found.append(e.MatchCast(None, number, s.ShapeStructInfo((new,)), None, span))
        return [*found, e.MatchCast(None, value, _lengths_of(value, self.pattern), annotation, span, True)]


def _lengths_of(value: e.Expr, pattern: tuple[p.PrimExpr, ...]) -> s.StructInfo:
    """The StructInfo of a pattern; the normalizer knows more of the value."""
    info = s.ShapeStructInfo() if isinstance(value, e.ShapeExpr) else value.struct_info
    return s.with_lengths(info, pattern)


def read_match_shape(info: InfoReader, call: ast.Call) -> MatchShape:
    """The statement; `info` reads its dimensions. Names in the first of two lists, else those without a meaning, are new."""
    if len(call.args) not in (2, 3) or call.keywords:
        raise info.ctx.fail(codes.BAD_CALL, "match_shape takes a value and a shape", call, help=_FORMS)
    value, *named, shape = call.args
    new = [_new_variable(info, name) for names in named for name in _listed(info, names)]
    _listed(info, shape)
    names = {part.id for part in ast.walk(shape) if isinstance(part, ast.Name)}
    before = [info.resolve(name) for name in names]
    outside = info.in_signature, info.in_quotes
    info.in_signature = info.in_quotes = not named
    try:
        pattern = info.shape_argument(shape)
    finally:
        info.in_signature, info.in_quotes = outside
    if not isinstance(pattern, tuple):
        raise _no_list(info, shape)
    new += [var for var in p.free_vars(*pattern) if not any(var is known for known in before)]
    unbound = [var for var in dict.fromkeys(new) if not any(var is dim for dim in pattern)]
    solved: list[tuple[p.PrimVar, int]] = []
    while unbound:
        found = next(
            ((v, n) for v in unbound for n, dim in enumerate(pattern) if _tells(dim, v, unbound)), None
        )
        if found is None:
            text = f"no dimension of the pattern tells {unbound[0]}"
            fix = "a dimension such as n, n * 4 or n * 4 + 3 tells n"
            raise info.ctx.fail(codes.BAD_CALL, text, call, help=fix)
        solved.append(found)
        unbound.remove(found[0])
    return MatchShape(value, pattern, tuple(solved))


def _listed(info: InfoReader, node: ast.expr) -> list[ast.expr]:
    """The items of a list, a tuple, or `R.shape` of one."""
    if isinstance(node, ast.Call) and dotted(node.func) == "R.shape" and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, _LISTS):
        raise _no_list(info, node)
    return node.elts


def _no_list(info: InfoReader, node: ast.expr) -> Skip:
    text = f"{ast.unparse(node)[:40]!r} is no list of dimensions"
    return info.ctx.fail(codes.BAD_CALL, text, node, help=_FORMS)


def _new_variable(info: InfoReader, node: ast.expr) -> p.PrimVar:
    if not isinstance(node, ast.Name):
        text = f"{ast.unparse(node)[:40]!r} is not the name of a new shape variable"
        raise info.ctx.fail(codes.BAD_CALL, text, node, help=_FORMS)
    return info.define(node.id, INT64)


def _tells(dim: p.PrimExpr, var: p.PrimVar, unbound: list[p.PrimVar]) -> bool:
    """True if a dimension is a multiple of a variable plus something without variables that are not known yet."""
    parts = dict(CANONICAL.polynomial(dim))
    factor = parts.pop((var,), 0)
    others = p.free_vars(*(atom for monomial in parts for atom in monomial))
    return factor > 0 and not any(other is new for other in others for new in unbound)


def _solved(dim: p.PrimExpr, var: p.PrimVar, length: p.PrimVar) -> p.PrimExpr:
    """The largest value of a variable that is no negative length, for which `dim` is not more than `length`."""
    parts = dict(CANONICAL.polynomial(dim))
    factor = parts.pop((var,))
    rest = simplify(p.Sub(length, rebuild(parts, var.dtype))) if parts else length
    known = p.Max(rest, p.IntImm(0)) if parts else rest
    return p.FloorDiv(known, p.IntImm(factor))


# -- parse binding ---------------------------------------------------------------------------------------------------


TYPE_VARS = frozenset({"TypeVar", "typing.TypeVar"})
MATCH_CASTS = frozenset({"R.match_cast", "R.cast"})  # to a StructInfo, or to a type without a shape
_VARIABLES = frozenset({e.Var, e.DataflowVar})
_SCALARS = _VARIABLES | {e.PrimValue}


class BindingReader(SignatureReader):
    """Reads assignments to names."""

    def unread(self, node: ast.AST) -> e.Call:
        """A placeholder for an unreadable expression. The variables in it count as used."""
        values = [self.names.get(part.id) for part in ast.walk(node) if isinstance(part, ast.Name)]
        return e.unread(tuple([var for var in values if isinstance(var, e.Var)]), self.ctx.span(node))

    def _bind_unread(self, name: str, node: ast.stmt, blocks: Blocks) -> None:
        var = self.new_var(name, None, node)
        blocks.bindings.append(e.VarBinding(var, self.unread(node), None, self.ctx.span(node)))
        if name != "_":
            self.names[name] = var

    def new_var(self, name: str, info: s.StructInfo | None, node: ast.AST) -> e.Var:
        """A new variable for the current block."""
        inside = self.output_names is not None and name not in self.output_names
        var_class = e.DataflowVar if inside else e.Var
        return var_class(name, info, self.ctx.span(node))

    def _ann_assign(self, node: ast.AnnAssign, blocks: Blocks) -> None:
        if type(node.target) is not ast.Name:
            raise self.ctx.fail(codes.BAD_STATEMENT, "only a name can be bound", node)
        try:
            annotation: s.StructInfo | None = self.annotation(node.annotation)
        except Skip:
            annotation = None
        if node.value is None:
            raise self.ctx.fail(codes.BAD_STATEMENT, f"{node.target.id!r} is declared but has no value", node)
        self._bind(node.target, node.value, annotation, node, blocks)

    def _assign(self, node: ast.Assign, blocks: Blocks) -> None:
        target = node.targets[0]
        if len(node.targets) != 1:
            raise self.ctx.fail(codes.BAD_STATEMENT, "an assignment binds one variable", node)
        if isinstance(target, ast.Tuple):
            self._unpack(target, node, blocks)
        elif isinstance(target, ast.Name):
            if not self._module_alias(target, node.value) and not self._shape_var(target, node.value):
                self._bind(target, node.value, None, node, blocks)
        else:
            raise self.ctx.fail(codes.BAD_STATEMENT, "only a name can be bound", node)

    def _module_alias(self, target: ast.Name, value: ast.expr) -> bool:
        if isinstance(value, ast.Name) and value.id in self.ctx.module_names and value.id not in self.names:
            self.ctx.module_names.add(target.id)
            self.ctx.aliases.add(target.id)
            return True
        return False

    def _shape_var(self, target: ast.Name, value: ast.expr) -> bool:
        """`n = T.int64()`: the n of the signature, or else a new shape variable."""
        if not isinstance(value, ast.Call):
            return False
        if value.args:
            return self._type_var(target, value)
        element = dtype_of_prefix(dotted(value.func))
        if element is None:
            return False
        known = self.names.get(target.id)
        if not isinstance(known, p.PrimVar):
            self._define(target.id, element)
        elif known.dtype is not element:
            text = f"{target.id!r} is {known.dtype}, and is declared again as {element}"
            fix = f"write {target.id} = T.{known.dtype}(), or use another name"
            raise self.ctx.fail(codes.BAD_STATEMENT, text, value, help=fix)
        return True

    def _type_var(self, target: ast.Name, value: ast.Call) -> bool:
        """`n = TypeVar("n")`: each nested function after it has its own variable for it."""
        if dotted(value.func) not in TYPE_VARS:
            return False
        named = value.args[0]
        if isinstance(named, ast.Name) and named.id not in self.names:
            text, help = f"{named.id!r} is not defined", f'write TypeVar("{named.id}")'
            self.ctx.refuse(codes.UNDEFINED, text, named, help=help)
        if self.ctx.type_vars.get(target.id) is None:
            self._type_vars.append(target.id)
            self.ctx.declare(target.id)
        return True

    def _unpack(self, target: ast.Tuple, node: ast.Assign, blocks: Blocks) -> None:
        names = [element.id for element in target.elts if isinstance(element, ast.Name)]
        if len(names) != len(target.elts):
            raise self.ctx.fail(codes.BAD_STATEMENT, "only names can be bound", node)
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(names):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
            if all(
                self._shape_var(element, value) for element, value in pairs if isinstance(element, ast.Name)
            ):
                return
        packed = self.expr.value(node.value)
        size = len(packed.fields) if isinstance(packed, e.Tuple) else len(names)
        if size != len(names):
            text = f"{len(names)} names are bound to {size} values"
            raise self.ctx.fail(
                codes.BAD_STATEMENT, text, node, help="bind as many names as there are values"
            )
        if not isinstance(packed, (e.Var, e.Tuple)):
            text = "TVM does not unpack the result of a call or an index"
            help = f"bind it first: pair = …; {names[0] if names else 'a'} = pair[0]; …"
            self.ctx.refuse(codes.BAD_STATEMENT, text, node.value, help=help)
        if not isinstance(packed, e.Var):
            var = self.new_var("_".join(names)[:40], None, target)
            blocks.bindings.append(e.VarBinding(var, packed, None, self.ctx.span(node)))
            packed = var
        for index, name in enumerate(names):
            var = self.new_var(name, None, target.elts[index])
            element = e.TupleGetItem(packed, index, None, self.ctx.span(target.elts[index]))
            blocks.bindings.append(e.VarBinding(var, element, None, self.ctx.span(node)))
            self.names[name] = var

    def _bind(
        self,
        target: ast.Name,
        value: ast.expr,
        annotation: s.StructInfo | None,
        node: ast.stmt,
        blocks: Blocks,
    ) -> None:
        span = self.ctx.span(node)
        if type(value) is ast.Call and dotted(value.func) in MATCH_CASTS:
            thrown_away = target.id == "_" and annotation is None  # TVM's form of a cast without a variable
            self._match_cast(None if thrown_away else target, value, annotation, span, blocks)
            return
        if type(value) is ast.Call and dotted(value.func) == MATCH_SHAPE:
            thrown_away = target.id == "_" and annotation is None
            self._match_shape(None if thrown_away else target, value, annotation, span, blocks)
            return
        try:
            bound = self.expr.bound_value(value, annotation)
        except Skip:
            bound = self.unread(value)
        var = self.new_var(target.id, annotation, target)
        blocks.bindings.append(e.VarBinding(var, bound, annotation, span))
        self._name_bound(target.id, var, bound)

    def _name_bound(self, name: str, var: e.Var, value: e.Expr) -> None:
        self.names[name] = var
        if type(value) in _SCALARS:
            self.expr.note_scalar(var, value)

    def _match_cast(
        self,
        target: ast.Name | None,
        call: ast.Call,
        annotation: s.StructInfo | None,
        span: Span | None,
        blocks: Blocks,
    ) -> None:
        arguments = dict(zip(("value", "struct_info"), call.args, strict=False))
        arguments.update({keyword.arg or "": keyword.value for keyword in call.keywords})
        info = arguments.get("struct_info") or arguments.get("ty")
        if "value" not in arguments or info is None:
            raise self.ctx.fail(codes.BAD_CALL, f"{dotted(call.func)} takes a value and a StructInfo", call)
        self._refuse_parts(call, arguments)
        cast_to = self._type(info) if dotted(call.func) == "R.cast" else self.annotation(info)
        value = self._cast_value(arguments["value"], cast_to)
        var = None if target is None else self.new_var(target.id, cast_to, target)
        blocks.bindings.append(e.MatchCast(var, value, cast_to, annotation, span))
        if var is not None and target is not None:
            self.names[target.id] = var

    def _cast_value(self, node: ast.expr, cast_to: s.StructInfo) -> e.Expr:
        """The value of a match_cast. A number of Python takes the dtype that it is cast to; TVM reads it as int32 or float32."""
        value = self.expr.value(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            text = "TVM casts no tuple that is written out"
            self.ctx.refuse(codes.BAD_CALL, text, node, help="bind the tuple to a name, and cast that")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and cast_to is not s.OBJECT:
            text = f"TVM casts a string to R.Object only, not to {cast_to}"
            self.ctx.refuse(codes.BAD_CALL, text, node, help="leave the cast out")
        number = node.operand if isinstance(node, ast.UnaryOp) else node
        if type(value) is not e.PrimValue or not isinstance(number, ast.Constant):
            return value
        return self._cast_number(value, type(number.value), cast_to, node)

    def _cast_number(
        self, value: e.PrimValue, kind: type, cast_to: s.StructInfo, node: ast.expr
    ) -> e.PrimValue:
        theirs = {int: INT32, float: FLOAT32}.get(kind)
        target = cast_to.dtype if isinstance(cast_to, s.PrimStructInfo) else None
        if theirs is None or target is None or not (target.is_int if kind is int else target.is_float):
            return value
        if target is not theirs:
            help = f"write R.prim_value(T.{target}({ast.unparse(node)}))"
            self.ctx.refuse(codes.BAD_CALL, f"TVM reads this number as {theirs}", node, help=help)
        literal = value.value
        assert isinstance(literal, (p.IntImm, p.FloatImm))  # a number of the text
        return e.PrimValue(p.as_prim(literal.value, target), None, value.span)

    def _refuse_parts(self, call: ast.Call, arguments: dict[str, ast.expr]) -> None:
        """Report arguments that a match_cast does not have; `struct_info=` is that of TVM up to 0.25."""
        name = dotted(call.func)
        unknown = arguments.keys() - {"value", "struct_info", "ty"}
        if unknown or len(call.args) > 2:
            text = f"{name} has no argument {min(unknown)!r}" if unknown else f"{name} takes two arguments"
            raise self.ctx.fail(codes.BAD_CALL, text, call)
        if name == "R.match_cast" and any(keyword.arg == "struct_info" for keyword in call.keywords):
            text = "TVM 0.27 calls this argument ty"
            self.ctx.refuse(codes.BAD_CALL, text, call, help="write ty=…, or no name")

    def _match_shape(
        self,
        target: ast.Name | None,
        call: ast.Call,
        annotation: s.StructInfo | None,
        span: Span | None,
        blocks: Blocks,
    ) -> None:
        read = read_match_shape(self.info, call)
        value = self.expr.value(read.value)
        if read.solved and type(value) not in e.LEAVES:  # several casts read it
            held = self.new_var("matched", None, call)
            blocks.bindings.append(e.VarBinding(held, value, None, span))
            value = held
        *others, last = read.casts(value, annotation, span)
        var = None if target is None else self.new_var(target.id, last.struct_info, target)
        blocks.bindings += [*others, replace(last, var=var)]
        if var is not None:
            self.names[var.name] = var

    def _type(self, node: ast.expr) -> s.StructInfo:
        """The target of `R.cast`: a type, as StructInfo without shapes."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            fix = f'R.astype(x, "{node.value}") converts the elements of a tensor'
            raise self.ctx.fail(codes.BAD_CALL, "R.cast checks a type and converts nothing", node, help=fix)
        info = self.annotation(node)
        if wrap_type(erase_struct_info(info)) is not info:
            text = f"R.cast takes a type, but {info} has a shape or a value"
            raise self.ctx.fail(codes.BAD_CALL, text, node, help="write R.match_cast")
        return info
