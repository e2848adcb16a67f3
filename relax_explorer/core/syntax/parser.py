"""Reads a module of TVMScript. The text is never executed: Python's `ast` parses it, and the readers interpret the tree.

An unreadable function or statement does not hide problems in others. `parse` raises all of them at once.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import ParseError, Report, Severity
from relax_explorer.core.expected import expect
from relax_explorer.core.ir.attrs import EMPTY, WILDCARDS, Attrs, Verbatim
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.expr import UNREAD, OpaqueFunction
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.prim import PrimVar
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Source, with_line_feeds
from relax_explorer.core.syntax import old_spellings, python_tree
from relax_explorer.core.syntax.beginnings import is_executable, is_tvm_json
from relax_explorer.core.syntax.context import UNREADABLE, Context, Kernels, Skip, known_texts
from relax_explorer.core.syntax.dialects import EARLY, REWRITER, Dialect
from relax_explorer.core.syntax.dialects import dialect as dialect_named
from relax_explorer.core.syntax.old_spellings import marked
from relax_explorer.core.syntax.parse_attributes import constant
from relax_explorer.core.syntax.parse_forms import extern
from relax_explorer.core.syntax.parse_function import FunctionReader
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.parse_tir import parse_prim_func
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix
from relax_explorer.core.syntax.surroundings import NOTHING, Excerpt, with_values
from relax_explorer.core.tir.stmt import PrimFunc

_DEVICE: tuple[tuple[type, ...], ...] = ((str, ast.Dict), (int,), (str,))
"""What the parts of a device are: its target, its number and its memory scope."""
_ALLOWED_IMPORTS = ("tvm", "typing", "__future__")
_CONTROLS = (*map(chr, range(0x09)), *map(chr, range(0x0E, 0x20)), "\x7f")
_CONTROL = re.compile(f"[{re.escape(''.join(_CONTROLS))}]")  # several times as slow as to look for each


def parse(
    text: str | Source, filename: str = "<text>", experimental: bool = False, dialect: str | None = None,
    kernels: Kernels | None = None,
) -> IRModule:  # fmt: skip
    """The module in `text`, TVMScript or TVM's JSON, or in an excerpt of a file. Raises ParseError with all problems.

    `experimental` allows constructs that no TVM has yet: `R.any_dim`. So does the module attribute `wildcard_dims`, which it sets.
    `dialect` is the dialect of the text, if its marks do not tell; ValueError is raised for an unknown one. `kernels` are those of
    other stages of the build: equal ones are read once, and the new ones are added.

    >>> module = rxe.parse("@R.function\\ndef main(x: R.Tensor((2,), 'float32')): return R.add(x, x)")
    """
    expect(text, (str, Source), "parse takes a text", "`load` reads a file")
    module, report = read(text, filename, experimental, dialect, kernels)
    if module is None or report.errors:
        raise ParseError(*[item for item in report.sorted() if not item.tvm_only], module=module)
    return module


def read(
    text: str | Source, filename: str = "<text>", experimental: bool = False, dialect: str | None = None,
    kernels: Kernels | None = None,
) -> tuple[IRModule | None, Report]:  # fmt: skip
    """The readable part of the module (None if there is none), and the problems. The arguments are those of `parse`."""
    asked = _Asked(experimental, None if dialect is None else dialect_named(dialect), kernels)
    if isinstance(text, str) and is_tvm_json(text):
        from relax_explorer.core.syntax.tvm_json.json_module import read_json_with_report

        return read_json_with_report(text, filename)
    source = (
        text if isinstance(text, Source) else Source(with_line_feeds(text.removeprefix("\ufeff")), filename)
    )
    if is_executable(source.text):
        report = Report()
        said = "this is the text of an executable of TVM's virtual machine, not a module"
        report.say(codes.NOT_TVMSCRIPT, said, source.at(1, 0), help="`rxe show` prints its instructions")
        return None, report
    with collector_at_rest():
        python = python_tree.python_text(source.text)
        skeleton, runs = python_tree.cut(python.text, known_texts(kernels or {}))
        try:
            return _read(source, skeleton, runs, python.names, asked)
        except python_tree.NotInPieces:
            return _read(source, python.text, {}, python.names, asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a text is read: `dialect` is None if its marks tell it."""

    experimental: bool
    dialect: Dialect | None
    kernels: Kernels | None


def _read(
    source: Source, text: str, runs: dict[int, python_tree.Cut], names: dict[str, DType], asked: _Asked
) -> tuple[IRModule | None, Report]:
    """Read `source`. `text` is the source without the runs; `names` are shape variables declared in it."""
    report = Report()
    around = source.around if isinstance(source, Excerpt) else NOTHING
    context = Context(source, report, {**around.lengths, **names})
    context.computed, context.kernels = around.computed, asked.kernels
    context.experimental = asked.experimental
    if asked.dialect is not None:
        context.dialect = asked.dialect
    tree = _tree(source, text, report)
    is_translated = old_spellings.are_used(source.text) or bool(around.values) or context.dialect is EARLY
    if runs and (tree is None or is_translated):
        raise python_tree.NotInPieces
    if tree is None:
        return None, report
    tree = old_spellings.with_short_names(tree) if old_spellings.are_used(source.text) else tree
    tree = with_values(tree, around.values)
    tree = old_spellings.translated(tree, context) if context.dialect is EARLY else tree
    python_tree.put_back(tree, runs)
    try:
        module = _ModuleReader(context).read(tree)
        if module is None:
            return None, report
        module = module if context.dialect.purity else marked(module, report)
        # A code that is always a warning, as for missing data, is told by the checks.
        refused = tuple([item for item in report if item.tvm_only or item.severity is Severity.WARNING])
        return (replace(module, refused=refused) if refused else module), report
    except RecursionError:
        report.say(codes.TOO_DEEP, "the text nests too deeply to be read", source.at(1, 0))
        return None, report


def _tree(source: Source, text: str, report: Report, after: int = 0) -> ast.Module | None:
    """Python's tree of the text. A line with a syntax error is reported and skipped; `after` is the last such line."""
    control = _CONTROL.search(source.text) if any(map(source.text.__contains__, _CONTROLS)) else None
    if control is not None:
        line, column = source.position(control.start())
        report.say(
            codes.BAD_NAME,
            f"control character U+{ord(control.group()):04X} in the text",
            source.at(line, column),
            help="remove it",
        )
        return None
    long = None if after else python_tree.first_too_long(text)
    if long is not None:
        line = text.count("\n", 0, long) + 1
        message = f"this statement has more than {python_tree.LONGEST:,} characters, not counting strings"
        report.say(codes.TOO_LONG, message, source.at(line, 0), help=codes.TOO_LONG.fix)
        return None
    try:
        return _with_small_numbers(python_tree.python_tree(text), source, report)
    except SyntaxError as error:
        line = error.lineno or 1
        if after and line <= after + 1:
            return None  # a consequence of the line before
        _syntax_error(source, report, error)
        goes_on = report.items[-1].code is not codes.TRUNCATED or _is_followed(text, line)
        mended = _without(text, line) if goes_on and len(report.errors) < _MOST_MENDED else None
        return None if mended is None else _tree(source, mended, report, line)
    except (RecursionError, MemoryError):
        report.say(
            codes.TOO_DEEP,
            "the text nests too deeply for Python's parser",
            source.at(1, 0),
            help=codes.TOO_DEEP.fix,
        )
    except (ValueError, OverflowError, UnicodeError) as error:
        report.say(codes.BAD_SYNTAX, str(error)[:120], source.at(1, 0))
    return None


_HUGE = re.compile(r"0[xXoObB][0-9a-fA-F_]{600,}")  # Python's parser itself rejects decimal ones


def _with_small_numbers(tree: ast.Module, source: Source, report: Report) -> ast.Module:
    """The tree without integers that are too large to print. They are reported and count as unreadable."""
    if _HUGE.search(source.text) is None:
        return tree
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for number, child in enumerate(items):
                if (
                    isinstance(child, ast.Constant)
                    and type(child.value) is int
                    and child.value.bit_length() > 1024
                ):
                    text = f"an integer of {child.value.bit_length()} bits does not fit int64"
                    span = source.at(child.lineno, child.col_offset)
                    report.say(codes.BAD_LITERAL, text, span, help=codes.BAD_LITERAL.fix)
                    placeholder = ast.copy_location(ast.Name(UNREADABLE, ast.Load()), child)
                    if isinstance(value, list):
                        value[number] = placeholder
                    else:
                        setattr(node, name, placeholder)
    return tree


_MOST_MENDED = 20
_INSIDE = re.compile(r"[ \t]+")
_BINDING = re.compile(r"[ \t]+\w+[ \t]*(?::[^=]*)?=(?!=)")


def _is_followed(text: str, number: int) -> bool:
    """True if more statements follow a line, so the text was not cut off at this line."""
    lines = text.split("\n")
    inside = len(lines[number - 1]) - len(lines[number - 1].lstrip()) if number <= len(lines) else 0
    return any(line.strip() and len(line) - len(line.lstrip()) <= inside for line in lines[number:])


def _without(text: str, number: int) -> str | None:
    """The text with `UNREADABLE` as the value in a line, so that the rest can be read. None for a line that opens a block."""
    lines = text.split("\n")
    line = lines[number - 1] if number <= len(lines) else ""
    indent = _INSIDE.match(line)
    if indent is None or not line.strip() or UNREADABLE in line:
        return None
    binding = _BINDING.match(line)
    words = line.split()
    if line.rstrip().endswith(":") and words[0] != "if":
        return None
    if binding is not None:
        head = f"{indent.group()}{re.split(r'[ :=]', words[0])[0]} = "
    else:
        head = indent.group() + (f"{words[0]} " if words[0] in ("if", "return") else "")
    lines[number - 1] = f"{head}{UNREADABLE}{':' * (words[0] == 'if')}"
    return "\n".join(lines)


_HINTS = (
    (
        re.compile(r"^(<{7}|={7}|>{7})( |$)"),
        "this line is a merge-conflict marker: resolve the conflict first",
    ),
    (re.compile(r"^```"), "this is a Markdown fence: remove the lines with ```"),
    (re.compile(r"^(>>> |\.\.\. )"), "this line carries a Python prompt: remove the prompts"),
    (
        re.compile(r"^@\w+ = fn\b"),
        "this is a program with shape contracts: give it to `relax-explorer shapes`",
    ),
    (re.compile(r"^def @\w"), "this is the notation of Relay's types: give it to `relax-explorer relations`"),
    (re.compile(r"^(diff --git|@@ |\+\+\+ |--- )"), "this looks like a patch, not a program: apply it first"),
)


def _syntax_error(source: Source, report: Report, error: SyntaxError) -> None:
    line = min(max(error.lineno or 1, 1), len(source.line_starts))
    column = max((error.offset or 1) - 1, 0)
    message = error.msg or "invalid syntax"
    text = source.line(line + source.above)
    hint = next((hint for pattern, hint in _HINTS if pattern.match(text)), "")
    code = codes.BAD_SYNTAX
    if (
        "too many nested" in message
        or "too many levels" in message
        or "too deeply" in message
        or "recursion" in message
    ):
        code, hint = codes.TOO_DEEP, codes.TOO_DEEP.fix
    elif (
        re.search(
            r"was never closed|unexpected EOF|unterminated triple|EOF in multi|expected an indented block after",
            message,
        )
        and not hint
    ):
        remaining = source.text[source.line_starts[line - 1] :].strip()
        truncated = "was never closed" in message or "unterminated" in message or "\n" not in remaining
        code, hint = (codes.TRUNCATED, codes.TRUNCATED.fix) if truncated else (code, "")
    elif _keyword_in(text):
        code, hint = codes.BAD_NAME, f"{_keyword_in(text)!r} is a Python keyword: rename it"
    report.say(
        code,
        message,
        source.at(line, min(column, max(len(text) - 1, 0))),
        help=hint or codes.BAD_SYNTAX.fix,
    )


_NAMED = re.compile(r"[(,]\s*(\w+)\s*:|\bdef\s+(\w+)|^\s*(\w+)\s*(?::[^=]*)?=[^=]")


def _keyword_in(text: str) -> str:
    """The keyword that a line uses as a name, or ""."""
    import keyword

    names = [name for match in _NAMED.finditer(text) for name in match.groups() if name]
    if text.lstrip().startswith("def "):
        names += re.findall(r"[(,]\s*(\w+)", text)
    return next((name for name in names if keyword.iskeyword(name)), "")


class _ModuleReader:
    """Reads the module level."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.functions: dict[str, Any] = {}
        self.attrs = EMPTY
        self.global_infos = EMPTY
        self.name = ""

    def read(self, tree: ast.Module) -> IRModule | None:
        """The one module of the text, or the functions outside of any class."""
        for node in tree.body:
            try:
                self._top(node)
            except Skip:
                if isinstance(node, ast.FunctionDef):
                    self._unread(node)
        if not self.functions and not self.name:
            if not self.ctx.report.errors:
                self.ctx.report.say(
                    codes.EMPTY,
                    "the text has no module and no function",
                    self.ctx.source.at(1, 0),
                    help=codes.EMPTY.fix,
                )
            return None
        return IRModule(
            self.functions,
            self.attrs.having(**{WILDCARDS: True}) if self.ctx.experimental else self.attrs,
            self.global_infos,
            self.name or "Module",
            self.ctx.dialect.name,
            self.ctx.source,
        )

    def _top(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, ast.FunctionDef):
            self._note_names([node])
            self._member(node, node.decorator_list)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node)
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            self._assignment(node.targets[0].id, node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not isinstance(
            node, ast.Pass
        ):
            self._foreign(node)

    def _foreign(self, node: ast.stmt) -> None:
        value = getattr(node, "value", None)
        if isinstance(value, ast.Name) and value.id == UNREADABLE:
            raise Skip
        raise self.ctx.fail_with_fix(
            codes.NOT_TVMSCRIPT, f"{ast.unparse(node).splitlines()[0][:60]!r} is Python, not TVMScript", node
        )

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        names = (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
        if any(name.split(".")[0] not in _ALLOWED_IMPORTS for name in names):
            self._foreign(node)

    def _assignment(self, name: str, node: ast.Assign) -> None:
        value = node.value
        called = dotted(value.func) if isinstance(value, ast.Call) else ""
        if called in ("TypeVar", "typing.TypeVar"):
            if isinstance(value, ast.Call) and not all(isinstance(arg, ast.Constant) for arg in value.args):
                self.ctx.say(
                    codes.NOT_TVMSCRIPT,
                    "TypeVar takes its name in quotes",
                    node,
                    help=f'write TypeVar("{name}")',
                )
            self.ctx.declare(name)
        elif (
            name == "metadata" and isinstance(value, ast.Call) and called.endswith("load_json") and value.args
        ):
            text = value.args[0].value if isinstance(value.args[0], ast.Constant) else None
            if not isinstance(text, str):
                raise self.ctx.fail(codes.BAD_METADATA, "the metadata block is one string literal", node)
            from relax_explorer.core.syntax.metadata import read_metadata  # few texts have constants

            read_metadata(text, self.ctx, node)
        elif called.startswith("T.") and isinstance(value, ast.Call) and not value.args:
            element = ast.copy_location(ast.Constant(called[2:]), value)
            reader = InfoReader(self.ctx, lambda _: None, PrimVar)
            self.ctx.declare(name, reader.dtype(element) or INT64)
        else:
            self._foreign(node)

    def _class(self, node: ast.ClassDef) -> None:
        decorators = [dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        if REWRITER in decorators:
            self.attrs = self.attrs.having(**{REWRITER: True})
        elif not any(d.endswith("ir_module") for d in decorators):
            text, help = f"class {node.name!r} has no @I.ir_module", codes.NOT_TVMSCRIPT.fix
            raise self.ctx.fail(codes.NOT_TVMSCRIPT, text, node, help=help)
        if self.name:
            raise self.ctx.fail(codes.DUPLICATE, "a text has only one module", node)
        self.name = node.name
        self.ctx.module_names |= {node.name, "self"}
        self.ctx.module_name, self.ctx.is_in_class = node.name, True
        self._note_names(node.body)
        for member in node.body:
            try:
                self._class_member(member)
            except Skip:
                self._unread(member)

    def _note_names(self, body: list[ast.stmt]) -> None:
        for member in body:
            if isinstance(member, python_tree.KnownFunction):
                self.ctx.functions.add(member.name)
            if isinstance(member, ast.FunctionDef):
                self.ctx.functions.add(member.name)
                result_dtype = None if member.returns is None else dtype_of_prefix(dotted(member.returns))
                if result_dtype is not None:
                    self.ctx.scalar_results[member.name] = result_dtype

    def _class_member(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef):
            self._member(node, node.decorator_list)
        elif isinstance(node, python_tree.KnownFunction):
            self._known_kernel(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._module_call(node.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self._class_assignment(node.targets[0].id, node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not isinstance(
            node, ast.Pass
        ):
            self._foreign(node)

    def _class_assignment(self, name: str, node: ast.Assign) -> None:
        value = node.value
        if isinstance(value, ast.Call) and dotted(value.func) == "R.ExternFunc":
            self.functions[name] = extern(FunctionReader(self.ctx).expr, value)
            self.ctx.functions.add(name)
            self.ctx.externs.add(name)
        elif isinstance(value, ast.Call) and dotted(value.func).startswith("T.") and not value.args:
            self._assignment(name, node)
        else:
            self._foreign(node)

    def _module_call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        reader = FunctionReader(self.ctx).expr
        if name in ("I.module_attrs", "I.module_global_infos") and len(node.args) == 1:
            entries = constant(reader, node.args[0])
            if not isinstance(entries, Attrs):
                raise self.ctx.fail(codes.BAD_CALL, f"{name} takes a dict", node)
            if name == "I.module_attrs":
                self.attrs = Attrs({**self.attrs, **entries})
                self.ctx.experimental = self.ctx.experimental or entries.get(WILDCARDS) is True
            else:
                self._check_devices(node)
                self.global_infos = entries
                self.ctx.has_places = True
        else:
            self._foreign(ast.copy_location(ast.Expr(node), node))

    def _check_devices(self, node: ast.Call) -> None:
        """Report devices that are no target, number and memory scope."""
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and dotted(call.func) == "I.vdevice":
                for argument, kinds in zip(call.args, _DEVICE, strict=False):
                    if not _is_one(argument, kinds):
                        text = f"{ast.unparse(argument)[:40]} is no part of a device"
                        help = 'write I.vdevice("llvm", 0, "global")'
                        self.ctx.say(codes.BAD_CALL, text, argument, help=help)

    def _member(self, node: ast.FunctionDef, decorators: list[ast.expr]) -> None:
        if not decorators:
            raise self.ctx.fail_with_fix(
                codes.NOT_TVMSCRIPT, f"function {node.name!r} has no @R.function or @T.prim_func", node
            )
        if node.name in self.functions:
            self.ctx.say(codes.DUPLICATE, f"function {node.name!r} is defined twice", node)
        decorator = decorators[0]
        decorator_name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if decorator_name in ("R.function", "T.prim_func"):
            for extra in decorators[1:]:
                text = f"decorator {ast.unparse(extra)[:40]!r} is ignored: a function has only one"
                self.ctx.say(codes.NOT_TVMSCRIPT, text, extra, help="remove it")
        if decorator_name == "R.function":
            reader = FunctionReader(self.ctx)
            self.ctx.function, self.ctx.aliases = node, set()
            private = reader.decorator_options(decorator)[1]
            self.functions[node.name] = reader.read(node, decorator, "" if private else node.name)
        elif decorator_name == "T.prim_func":
            self.functions[node.name] = self._kernel(node, decorator)
        elif decorator_name in ("I.pyfunc", "R.macro", "R.rewriter", "T.macro"):
            self.functions[node.name] = self._opaque(node, decorators)
        else:
            raise self.ctx.fail_with_fix(
                codes.NOT_TVMSCRIPT,
                f"decorator {decorator_name or ast.unparse(decorator)[:40]!r} is not known",
                node,
            )

    def _known_kernel(self, node: python_tree.KnownFunction) -> None:
        """A PrimFunc whose text was read in another stage. Raises NotInPieces if it means something else here."""
        known = (self.ctx.kernels or {}).get(self._key(node.text))
        if known is None:
            raise python_tree.NotInPieces
        self.functions[node.name] = known

    def _key(self, lines: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What decides how the lines of a PrimFunc are read."""
        declared = [(name, str(dtype)) for name, dtype in self.ctx.type_vars.items() if name in lines]
        return f"{self.ctx.dialect.name}\n{lines}", tuple(sorted(declared))

    def _kernel(self, node: ast.FunctionDef, decorator: ast.expr) -> PrimFunc:
        """A PrimFunc. One with the text of another stage's, in which the same names are declared, is the same object."""
        kernels = self.ctx.kernels
        first, last = decorator.lineno, node.end_lineno or node.lineno
        lines = self.ctx.source.lines(first, last) if kernels is not None else ""
        key = self._key(lines)
        known = kernels.get(key) if kernels is not None else None
        if known is not None:
            return known
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        for keyword in keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if not isinstance(value, int):
                text = f"TVM takes True or False for {keyword.arg}"
                self.ctx.refuse(codes.BAD_CALL, text, keyword.value, help=f"write {keyword.arg}=True")
        options = {k.arg: k.value.value for k in keywords if isinstance(k.value, ast.Constant)}
        before = len(self.ctx.report.items)
        found = parse_prim_func(
            node, self.ctx, bool(options.get("private")), bool(options.get("s_tir")), node.name
        )
        is_alone = not any(f"{name}." in lines for name in self.ctx.module_names) and "metadata" not in lines
        if kernels is not None and is_alone and len(self.ctx.report.items) == before:
            kernels[key] = found
        return found

    def _unread(self, node: ast.stmt) -> None:
        """Replace an unreadable member by an unknown function, so that its calls are not reported too."""
        targets = [node] if isinstance(node, ast.FunctionDef) else getattr(node, "targets", [])
        for name in [getattr(target, "name", getattr(target, "id", "")) for target in targets]:
            if name:
                attrs = Attrs({"global_symbol": name, UNREAD: True})
                self.functions.setdefault(name, OpaqueFunction("", "", attrs, None, self.ctx.span(node)))

    def _opaque(self, node: ast.FunctionDef, decorators: list[ast.expr]) -> OpaqueFunction:
        """A member kept as text, without the common indentation of its lines."""
        lines = (ast.get_source_segment(self.ctx.source.text, node) or ast.unparse(node)).split("\n")
        margin = " " * node.col_offset
        text = "\n".join([lines[0], *[line.removeprefix(margin) for line in lines[1:]]])
        others = "".join([f"@{ast.unparse(item)}\n" for item in decorators[1:]])
        first = ast.unparse(decorators[0])
        return OpaqueFunction(Verbatim(others + text), first, EMPTY, None, self.ctx.span(node))


def _is_one(node: ast.expr, kinds: tuple[type, ...]) -> bool:
    """True if a literal is of one of these kinds, and a dict not empty. A name may be."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, kinds)
    if isinstance(node, (ast.Dict, ast.List, ast.Tuple, ast.Set)):
        return isinstance(node, kinds) and isinstance(node, ast.Dict) and bool(node.keys)
    return not isinstance(node, ast.Call) or ast.Dict in kinds  # R.prim_value(0) is no number of Python
