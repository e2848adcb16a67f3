"""Prints modules and Relax functions as TVMScript text, line by line. Each line refers to its node."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.prim_text import quoted
from relax_explorer.core.ir.walk import all_dims, bindings, sequences
from relax_explorer.core.program.module import IRModule, Member
from relax_explorer.core.syntax.dialects import BEFORE_PURITY, REWRITER, Dialect, dialect, guess
from relax_explorer.core.syntax.doc import Line, Printed
from relax_explorer.core.syntax.metadata_text import write_metadata
from relax_explorer.core.syntax.names import Names, function_name, shape_name
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.core.syntax.printer_tir import print_prim_func
from relax_explorer.core.syntax.printer_tir_buffer import own_attrs, shape_vars
from relax_explorer.core.tir.stmt import PrimFunc

INDENT = "    "
# Calls with the StructInfo of their result as an argument. Their bindings need no annotation.
_SAID_IN_CALL = frozenset(
    {"relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed", "relax.call_tir_with_grad"}
)


def print_module(module: IRModule, dialect_name: str = "tvm-0.27") -> str:
    """The module as text in a dialect. All constants except scalars are in the metadata block at the top."""
    return printed_module(module, dialect_name).text


@collector_at_rest()
def printed_module(
    module: IRModule, dialect_name: str = "tvm-0.27", metadata: bool = True, annotate: bool = True
) -> Printed:
    """The module as lines that refer to their nodes. Without `annotate`, bindings have no StructInfo."""
    printer = _ModulePrinter(module, dialect(dialect_name), metadata, annotate)
    printed = printer.print()
    if printer.constants.lacks and printer.constants.arrays:
        printer = _ModulePrinter(module, dialect(dialect_name), metadata, annotate)
        printer.constants.apart = True
        printed = printer.print()
    return printed


class _ModulePrinter:
    def __init__(self, module: IRModule, surface: Dialect, metadata: bool, annotate: bool) -> None:
        self.module, self.dialect, self.with_metadata, self.annotate = module, surface, metadata, annotate
        self.constants = Constants()
        self.printed = Printed()
        self.shape_names: dict[str, dict[p.PrimVar, str]] = {}
        self.type_vars: dict[str, None] = {}

    def print(self) -> Printed:
        if self.dialect.type_vars:
            for name, fn in self.module.functions.items():
                self._name_shape_vars(name, fn)
        body: list[Line] = []
        for number, (name, fn) in enumerate(self.module.functions.items()):
            if number:
                body.append(Line(""))
            members = self._member(name, fn)
            for line in members:
                line.text, line.function = INDENT + line.text if line.text else "", name
            body.extend(members)
        if not self.module.functions:
            body.append(Line(f"{INDENT}pass"))
        lines = self.printed.lines
        lines.extend(Line(text) for text in self._head())
        lines.extend(body)
        if self.dialect.old and self.dialect.purity and guess(self.printed.text) is BEFORE_PURITY:
            _say_pure(body)
        return self.printed

    def _head(self) -> Iterable[str]:
        if self.constants.arrays and self.with_metadata:
            text = write_metadata(self.constants.arrays, self.dialect.old)
            text = text.replace("\\", "\\\\").replace('"', '\\"')
            yield from f'metadata = tvm.ir.load_json("""{text}""")'.split("\n")
        if self.type_vars:
            yield "# from typing import TypeVar"
        yield "# from tvm.script import ir as I"
        if any(type(fn) is PrimFunc for fn in self.module.functions.values()):
            yield f"# from tvm.script import {self.dialect.tir_module} as T"
        yield "# from tvm.script import relax as R"
        yield ""
        for name in self.type_vars:
            yield f'{name} = TypeVar("{name}")'
        yield f"@{REWRITER}" if REWRITER in self.module.attrs else "@I.ir_module"
        yield "class Module:"
        writer = ExprText(Names(), self.dialect, self.constants)
        attrs = self.module.attrs.without(REWRITER)
        if attrs:
            yield f"{INDENT}I.module_attrs({writer.constant(attrs)})"
        if self.module.global_infos:
            yield f"{INDENT}I.module_global_infos({writer.constant(self.module.global_infos)})"

    def _name_shape_vars(self, name: str, fn: object) -> None:
        """Choose the module-level TypeVars (int64) for the shape variables of a signature. Functions share them by name."""
        if type(fn) is PrimFunc:
            variables = [var for var in shape_vars(fn) if var.dtype is INT64]
        elif type(fn) is e.Function:
            variables = signature_vars(fn)
        elif type(fn) is e.ExternFunc and fn.struct_info is not None:
            variables = list(dict.fromkeys(all_dims(fn.struct_info)))
        else:
            return
        chosen: dict[p.PrimVar, str] = {}
        for var in variables:
            base = candidate = shape_name(var.name)
            count = 0
            while candidate in chosen.values():
                count += 1
                candidate = f"{base}_{count}"
            chosen[var] = candidate
            self.type_vars[candidate] = None
        self.shape_names[name] = chosen

    def _member(self, name: str, fn: Member) -> list[Line]:
        if isinstance(fn, PrimFunc):
            return print_prim_func(fn, name, self.dialect, self.shape_names.get(name, {}), self.type_vars)
        if isinstance(fn, e.Function):
            return self._function(name, fn)
        if isinstance(fn, e.ExternFunc):
            info = (
                f", {self._text(name).signature.write(fn.struct_info)}" if fn.struct_info is not None else ""
            )
            return [Line(f"{name} = R.ExternFunc({quoted(fn.name)}{info})", fn)]
        return [Line(f"@{fn.decorator}", fn), *[Line(text) for text in fn.text.split("\n")]]

    def _text(self, name: str) -> ExprText:
        """The writer for a member, which knows its shape variables."""
        names = Names([*self.type_vars, "_"])
        for var, chosen in self.shape_names.get(name, {}).items():
            names.fix(var, chosen)
        self.printed.names[name] = names
        return ExprText(names, self.dialect, self.constants, annotate=self.annotate)

    def _function(self, name: str, fn: e.Function) -> list[Line]:
        writer = FunctionPrinter(self._text(name), self.module)
        return writer.print(function_name(name), fn, name)


def _say_pure(lines: Iterable[Line]) -> None:
    """Say of a function that it is pure. A text with effects and without any such mark would be one of 2023."""
    line = next((item for item in lines if item.text.lstrip().startswith("@R.function")), None)
    if line is not None:
        head, _, options = line.text.partition("(")
        line.text = f"{head}({options.removesuffix(')')}{', ' * bool(options)}pure=True)"


def _read_anywhere(fn: e.Function) -> set[e.Var]:
    """The variables that the values and the results in a function read."""
    read = set(variables(fn.body.body))
    for binding in bindings(fn):
        if type(binding.value) is not e.Function:  # whose bindings come as well
            read.update(variables(binding.value))
        for seq in sequences(binding.value):
            read.update(variables(seq.body))
    return read


def signature_vars(fn: e.Function) -> list[p.PrimVar]:
    """Shape variables in the parameters and the return annotation, in order."""
    occurring: dict[p.PrimVar, None] = {}
    scalars = own_scalars(fn)
    for info in (*[param.struct_info for param in fn.params], fn.ret_struct_info):
        if info is not None:
            occurring.update(dict.fromkeys(all_dims(info)))
    return [var for var in occurring if var not in scalars]


def own_scalars(fn: e.Function) -> dict[p.PrimVar, e.Var]:
    """The variables that scalar parameters bind, each with its parameter: no parameter before it mentions them."""
    own: dict[p.PrimVar, e.Var] = {}
    seen: set[p.PrimVar] = set()
    for param in fn.params:
        info = param.struct_info
        value = info.value if isinstance(info, s.PrimStructInfo) else None
        if isinstance(value, p.PrimVar) and value not in seen:
            own[value] = param
        if info is not None:
            seen.update(all_dims(info))
    return own


class FunctionPrinter:
    """Prints one Relax function, with nested functions."""

    def __init__(self, text: ExprText, module: IRModule | None = None) -> None:
        self.text, self.module = text, module
        self.lines: list[Line] = []
        self.declared: set[p.PrimVar] = set()
        self.root: e.Function | None = None
        self._uses: set[e.Var] | None = None

    def print(self, name: str, fn: e.Function, symbol: str = "", depth: int = 0) -> list[Line]:
        """The lines of the function, starting with the decorator."""
        names = self.text.names
        self.root = self.root or fn
        options = []
        if depth == 0 and fn.is_private:
            options.append("private=True")
        if fn.pure is False:
            options.append("pure=False")
        decorator = f"@R.function({', '.join(options)})" if options else "@R.function"
        signature = signature_vars(fn)
        for var in signature:
            names(var)
        checked: list[tuple[e.Var, p.PrimExpr]] = []
        own = own_scalars(fn)
        for param in fn.params:
            info = param.struct_info
            scalar = info.value if isinstance(info, s.PrimStructInfo) else None
            if isinstance(scalar, p.PrimVar) and own.get(scalar) is param:
                names.fix(scalar, names(param))
                self.text.scalars.add(scalar)
            elif scalar is not None and not self.text.dialect.old:
                checked.append((param, scalar))
        params = ", ".join(
            [
                f"{names(param)}: {self.text.signature.write(param.struct_info or s.OBJECT)}"
                for param in fn.params
            ]
        )
        ret = "" if fn.ret_struct_info is None else f" -> {self.text.signature.write(fn.ret_struct_info)}"
        self._line(depth, decorator, fn)
        self._line(depth, f"def {name}({params}){ret}:", fn)
        self._body(fn, signature, symbol, depth + 1, checked)
        return self.lines

    def _line(self, depth: int, text: str, node: object = None) -> None:
        self.lines.append(Line(INDENT * depth + text, node))

    def _body(
        self,
        fn: e.Function,
        signature: list[p.PrimVar],
        symbol: str,
        depth: int,
        checked: list[tuple[e.Var, p.PrimExpr]],
    ) -> None:
        """Print the body of a function. The shape variables to declare are known only after the body is written.

        `checked` are parameters whose StructInfo states a value that their annotations cannot say.
        """
        declared, mentioned, lines = self.declared, self.text.mentioned, self.lines
        self.declared = {*declared, *mentioned, *(signature if self.text.dialect.type_vars else ())}
        self.text.mentioned, self.lines = dict.fromkeys(signature), []
        attrs = own_attrs(fn.attrs, symbol)
        if attrs:
            self._line(depth, f"R.func_attr({self.text.constant(attrs)})")
        if depth == 1 and _calls_globals(fn):
            self._line(depth, "cls = Module")
        for param, value in checked:
            self._line(depth, f"_ = {self._scalar_cast(self.text.names(param), value)}", fn)
        self.sequence(fn.body, depth)
        self._line(depth, f"return {self.text.write(fn.body.body)}", fn.body)
        for var in self.text.mentioned:
            if var not in self.declared and var not in self.text.scalars:
                lines.append(Line(f"{INDENT * depth}{self.text.names(var)} = T.{var.dtype}()"))
        lines.extend(self.lines)
        self.declared, self.text.mentioned, self.lines = declared, mentioned, lines
        if depth > 1:
            self.text.forget()

    def sequence(self, seq: e.SeqExpr, depth: int) -> None:
        """Print the blocks of a sequence."""
        for block in seq.blocks:
            if type(block) is e.DataflowBlock:
                self._dataflow(block, depth)
            else:
                for binding in with_pauses(block.bindings):
                    self.binding(binding, depth)

    def _dataflow(self, block: e.DataflowBlock, depth: int) -> None:
        self._line(depth, "with R.dataflow():", block)
        for binding in with_pauses(block.bindings):
            self.binding(binding, depth + 1)
        outputs = [
            b.var
            for b in block.bindings
            if b.var is not None and type(b.var) is not e.DataflowVar and b.var.name != "_"
        ]
        self._line(depth + 1, f"R.output({', '.join([self.text.names(var) for var in outputs])})")

    def binding(self, binding: e.Binding, depth: int) -> None:
        """Print one binding, on one line unless its value is a function or an If."""
        if not isinstance(binding, e.VarBinding):
            self._match_cast(binding, depth)
        elif type(binding.value) in _VALUE_WRITERS:
            _VALUE_WRITERS[type(binding.value)](self, binding, depth)
        else:
            self.lines.append(Line(INDENT * depth + self._plain(binding), binding))

    def _plain(self, binding: e.VarBinding) -> str:
        var, value = binding.var, binding.value
        written = binding.annotation is not None
        if var.struct_info is s.VOID and type(value) is e.Call and not written and self._is_unread(var):
            return self.text.write(value)
        target = self._target(var, value, written)
        bound = self._bound(var, value) if type(value) is e.PrimValue else self.text.write(value)
        return f"{target} = {bound}"

    def _is_unread(self, var: e.Var) -> bool:
        """True if the variable is never read. For a binding printed alone, this is decided by its name."""
        if self._uses is None:
            if self.root is None:
                return var.name == "_"
            self._uses = _read_anywhere(self.root)
        return var not in self._uses

    def _bound(self, var: e.Var, value: e.Expr) -> str:
        """The right side of a binding. Without a scalar annotation, a bare number would be read as a constant tensor."""
        text = self.text.write(value)
        if type(value) is e.PrimValue and type(value.value) is p.IntImm and not text.startswith(("T.", "R.")):
            is_scalar = self.text.annotate and isinstance(var.struct_info, s.PrimStructInfo)
            return text if is_scalar else f"R.prim_value({text})"
        return text

    def _target(self, var: e.Var, value: e.Expr, written: bool = False) -> str:
        """The left side of a binding. With `written`, the annotation is kept even if the call has the same StructInfo."""
        info = var.struct_info
        if info is None or not self.text.annotate or (not written and _has_info(value, info)):
            return self.text.names[var]
        return f"{self.text.names[var]}: {self.text.info_text(info)}"

    def _scalar_cast(self, scalar: str, value: p.PrimExpr) -> str:
        """The check that a scalar has a value. The type of a scalar has no value in TVM 0.27, but that of a shape has lengths."""
        return f"R.match_cast(R.shape([{scalar}]), R.Shape([{self.text.info.dim(value)}]))"

    def _match_scalar(self, binding: e.MatchCast, depth: int) -> bool:
        """Print a cast of a scalar to a value; False for another cast."""
        info, var = binding.struct_info, binding.var
        stated = info.value if isinstance(info, s.PrimStructInfo) and info.dtype is INT64 else None
        if self.text.dialect.old or stated is None or not isinstance(binding.value, (e.Var, e.PrimValue)):
            return False
        scalar = (
            self.text.prim.write(binding.value.value)
            if isinstance(binding.value, e.PrimValue)
            else self.text.write(binding.value)
        )
        self._line(depth, f"_ = {self._scalar_cast(scalar, stated)}", binding)
        if (
            var is not None
            and (type(var) is not e.DataflowVar or not self._is_unread(var))
            and var.name != "_"
        ):
            self._line(depth, f"{self.text.names(var)}: T.{INT64} = {scalar}", binding)
        return True

    def _match_cast(self, binding: e.MatchCast, depth: int) -> None:
        if self._match_scalar(binding, depth):
            return
        value, info = self.text.write(binding.value), binding.var and binding.var.struct_info
        by_shape = binding.lengths_only and self.text.dialect.notes
        if by_shape:
            dims = ", ".join(map(self.text.info.dim, s.lengths(binding.struct_info)))
            cast = f"R.match_shape({value}, [{dims}])"
        else:
            cast = f"R.match_cast({value}, {self.text.info_text(binding.struct_info)})"
        if binding.var is None:
            self._line(depth, f"_ = {cast}" if not self.text.dialect.old else cast, binding)
            return
        # What a match_shape does not state follows from its value.
        follows = by_shape and info in (None, binding.struct_info)
        target = "" if follows else f": {self.text.info_text(info or binding.struct_info)}"
        self._line(depth, f"{self.text.names(binding.var)}{target} = {cast}", binding)

    def _function(self, binding: e.VarBinding, depth: int) -> None:
        name = self.text.names(binding.var)
        assert isinstance(binding.value, e.Function)  # the table selects by type
        self.print(name, binding.value, "", depth)
        start = next(i for i in range(len(self.lines) - 1, -1, -1) if self.lines[i].node is binding.value)
        self.lines[start].node = binding

    def _if(self, binding: e.VarBinding, depth: int) -> None:
        value = binding.value
        assert isinstance(value, e.If)  # the table selects by type
        self._line(depth, f"if {self.text.write(value.condition)}:", binding)
        self._branch(binding, value.true_branch, depth + 1)
        self._line(depth, "else:")
        self._branch(binding, value.false_branch, depth + 1)

    def _branch(self, binding: e.VarBinding, branch: e.Expr, depth: int) -> None:
        body = branch
        if isinstance(branch, e.SeqExpr):
            self.sequence(branch, depth)
            body = branch.body
        self._line(depth, f"{self._target(binding.var, body)} = {self._bound(binding.var, body)}")


_VALUE_WRITERS: dict[type, Callable[[FunctionPrinter, e.VarBinding, int], None]] = {
    e.Function: FunctionPrinter._function,
    e.If: FunctionPrinter._if,
}


def _has_info(value: e.Expr, info: s.StructInfo) -> bool:
    """True if the StructInfo of a call is in its text, so that the binding needs no annotation."""
    return (
        type(value) is e.Call
        and info in value.sinfo_args
        and info is value.sinfo_args[0]
        and type(value.op) is e.OpRef
        and value.op.name in _SAID_IN_CALL
    )


def _calls_globals(fn: e.Function) -> bool:
    from relax_explorer.core.ir.walk import any_expr

    return any_expr(fn, lambda expr: type(expr) is e.GlobalVar)
