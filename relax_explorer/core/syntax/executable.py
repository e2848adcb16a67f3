"""Executables of TVM's virtual machine as text: `as_text()`, and `as_python()`, which is read and never executed.

An executable has functions with instructions. The text names packed functions and PrimFuncs too, but not their code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, ParseError
from relax_explorer.core.source import Source, Span, with_line_feeds

VM, VOID, REGISTER, IMMEDIATE, CONSTANT, FUNCTION = "%vm", "%void", "%", "i", "c", "f"
_LARGEST = 1 << 54  # the registers from here on are special: %void, then %vm


@dataclass(frozen=True, slots=True)
class Operand:
    """A register `%3`, a number `i3`, an entry of the pool of constants `c[3]`, a function `f[name]`, the machine `%vm`, or nothing, `%void`."""

    kind: str
    number: int = 0
    name: str = ""

    def __str__(self) -> str:
        if self.kind in (VM, VOID):
            return self.kind
        if self.kind == FUNCTION:
            return f"f[{self.name}]"
        return f"c[{self.number}]" if self.kind == CONSTANT else f"{self.kind}{self.number}"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `call`, `ret`, `if` or `goto`.

    `callee` and `dst` belong to a call, `args` to a call, a return and a branch; `target` is the number of the instruction that a
    `goto`, or an `if` whose condition is false, goes to.
    """

    kind: str
    span: Span
    callee: str = ""
    args: tuple[Operand, ...] = ()
    dst: Operand | None = None
    target: int = 0

    def __str__(self) -> str:
        args = ", ".join(map(str, self.args))
        if self.kind == "call":
            to = "" if self.dst is None or self.dst.kind == VOID else f"{self.dst} = "
            return f"{to}{self.callee}({args})"
        if self.kind == "ret":
            return f"ret {args}"
        return f"if {args} else goto {self.target}" if self.kind == "if" else f"goto {self.target}"


@dataclass(frozen=True, slots=True)
class VMFunction:
    """A function of the machine. `inputs` is the number of its parameters, None if the text does not tell it."""

    name: str
    instructions: tuple[Instruction, ...]
    inputs: int | None = None

    @property
    def registers(self) -> int:
        """The number of registers that its instructions name."""
        operands = [operand for item in self.instructions for operand in (*item.args, item.dst) if operand]
        return max([operand.number + 1 for operand in operands if operand.kind == REGISTER], default=0)


@dataclass(frozen=True, slots=True)
class Executable:
    """The functions of an executable by name, and the names of packed functions and PrimFuncs that it calls."""

    functions: dict[str, VMFunction]
    externals: tuple[str, ...]
    source: Source


_TEXT_HEAD = re.compile(r"@(\S+?):\s*")
_TEXT_OTHER = re.compile(r"@(\S+)\s+(?:packed_func|vm_tir_func|vm_func);\s*")
_TEXT_CALL = re.compile(r"\s+call\s+(\S+)\s+in:([^:]*)dst:\s*(\S+)\s*")
_TEXT_RETURN = re.compile(r"\s+ret\s+(\S+)\s*")
_TEXT_GOTO = re.compile(r"\s+[Gg]oto\s+(-?\d{1,9})\s*")
_TEXT_IF = re.compile(r"\s+[Ii]f\s+(\S+?),\s*(-?\d{1,9})\s*")
_PYTHON_FIRST = re.compile(r"\s*ib\s*=\s*(?:rx|relax)\.(?:Exec)?Builder\(\)\s*")
_PYTHON_HEAD = re.compile(r"with ib\.function\((['\"])(.+?)\1(?:,\s*num_inputs=(\d{1,9}))?.*\):\s*")
_PYTHON_CALL = re.compile(
    r"\s+ib\.emit_call\((['\"])(.+?)\1,\s*args=\[(.*?)\](?:,\s*dst=(ib\.r\(.*?\)))?\)\s*"
)
_PYTHON_RETURN = re.compile(r"\s+ib\.emit_ret\((.*)\)\s*")
_PYTHON_GOTO = re.compile(r"\s+ib\.emit_goto\((-?\d{1,9})\)\s*")
_PYTHON_IF = re.compile(r"\s+ib\.emit_if\((.*),\s*(-?\d{1,9})\)\s*")
_OPERAND = re.compile(
    r"%(?P<special>vm|void)|%(?P<register>\d{1,18})|i(?P<number>-?\d{1,20})|c\[(?P<constant>\d{1,18})\]|f\[(?P<function>[^\]]+)\]"
)
_PYTHON_OPERAND = re.compile(r"ib\.(?P<kind>r|imm|c)\((?P<value>vm|void|-?\d{1,20})\)")
_PYTHON_FUNCTION = re.compile(r"ib\.f\((['\"]?)([^'\"()]+)\1\)")


def read_executable(text: str, name: str = "<text>") -> Executable:
    """The executable in a text. Raises ParseError with the first line that is none of it."""
    return _Reader(Source(with_line_feeds(text.removeprefix("\ufeff")), name)).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.functions: dict[str, VMFunction] = {}
        self.externals: dict[str, None] = {}
        self._name = ""
        self._inputs: int | None = None
        self._open: list[Instruction] = []

    def read(self) -> Executable:
        """All functions of the text."""
        for number, line in enumerate(self.source.text.split("\n"), 1):
            if line.strip() and not line.lstrip().startswith("#") and not _PYTHON_FIRST.fullmatch(line):
                self._line(number, line)
        self._close(self.source.span(1, 0))
        if not self.functions:
            raise self.bad(1, "the text has no function of an executable")
        return Executable(self.functions, tuple(self.externals), self.source)

    def bad(self, line: int, text: str) -> ParseError:
        """The problem of a line."""
        place = Label(self.source.span(line, 0), "", True)
        return ParseError(Diagnostic(codes.BAD_EXECUTABLE, text, (place,), help=codes.BAD_EXECUTABLE.fix))

    def _line(self, number: int, line: str) -> None:
        head = _TEXT_HEAD.fullmatch(line) or _PYTHON_HEAD.fullmatch(line)
        if head is not None:
            self._close(self.source.span(number, 0))
            is_text = head.re is _TEXT_HEAD
            self._name = head[1] if is_text else head[2]
            self._inputs = int(head[3]) if not is_text and head[3] else None
            if self._name in self.functions:
                raise self.bad(number, f"function {self._name[:60]!r} is defined twice")
            return
        other = _TEXT_OTHER.fullmatch(line)
        if other is not None:
            self.externals[other[1]] = None
            return
        for pattern, read in _LINES:
            found = pattern.fullmatch(line)
            if found is not None and self._name:
                self._open.append(read(self, found, number))
                return
        raise self.bad(number, f"{line.strip()[:60]!r} is no instruction of an executable")

    def _close(self, span: Span) -> None:
        """End the open function; its branches must stay inside."""
        if not self._name:
            return
        for item in self._open:
            if item.kind in ("if", "goto") and not 0 <= item.target < len(self._open):
                raise self.bad(item.span.line, f"the function has no instruction {item.target}")
        if not self._open:
            raise self.bad(span.line, f"function {self._name[:60]!r} has no instructions")
        self.functions[self._name] = VMFunction(self._name, tuple(self._open), self._inputs)
        self._name, self._inputs, self._open = "", None, []

    def _call(self, found: re.Match[str], line: int) -> Instruction:
        args = self._operands(found[2], line)
        return Instruction("call", self.span(line), found[1], args, self._operand(found[3], line))

    def _python_call(self, found: re.Match[str], line: int) -> Instruction:
        args = self._operands(found[3], line)
        dst = Operand(VOID) if found[4] is None else self._operand(found[4], line)
        return Instruction("call", self.span(line), found[2], args, dst)

    def _return(self, found: re.Match[str], line: int) -> Instruction:
        return Instruction("ret", self.span(line), args=(self._operand(found[1], line),))

    def _if(self, found: re.Match[str], line: int) -> Instruction:
        target = len(self._open) + int(found[2])
        return Instruction("if", self.span(line), args=(self._operand(found[1], line),), target=target)

    def _goto(self, found: re.Match[str], line: int) -> Instruction:
        return Instruction("goto", self.span(line), target=len(self._open) + int(found[1]))

    def span(self, line: int) -> Span:
        """The text of an instruction."""
        text = self.source.line(line)
        return Span(self.source, line, len(text) - len(text.lstrip()), line, len(text.rstrip()))

    def _operands(self, text: str, line: int) -> tuple[Operand, ...]:
        return tuple([self._operand(part.strip(), line) for part in text.split(",") if part.strip()])

    def _operand(self, text: str, line: int) -> Operand:
        found = _OPERAND.fullmatch(text)
        if found is not None:
            if found["special"]:
                return Operand(f"%{found['special']}")
            if found["function"]:
                return Operand(FUNCTION, name=found["function"])
            kind = REGISTER if found["register"] else IMMEDIATE if found["number"] else CONSTANT
            return Operand(kind, int(found["register"] or found["number"] or found["constant"]))
        function = _PYTHON_FUNCTION.fullmatch(text)
        if function is not None:
            return Operand(FUNCTION, name=function[2])
        python = _PYTHON_OPERAND.fullmatch(text)
        if python is None:
            raise self.bad(line, f"{text[:40]!r} is no operand of an instruction")
        if python["value"] in ("vm", "void"):
            return Operand(f"%{python['value']}")
        number = int(python["value"])
        if python["kind"] == "r":
            special = {_LARGEST: VOID, _LARGEST + 1: VM}.get(number)
            return Operand(special) if special else Operand(REGISTER, number)
        return Operand(IMMEDIATE if python["kind"] == "imm" else CONSTANT, number)


_LINES: tuple[tuple[re.Pattern[str], Callable[[_Reader, re.Match[str], int], Instruction]], ...] = (
    (_TEXT_CALL, _Reader._call),
    (_TEXT_RETURN, _Reader._return),
    (_TEXT_GOTO, _Reader._goto),
    (_TEXT_IF, _Reader._if),
    (_PYTHON_CALL, _Reader._python_call),
    (_PYTHON_RETURN, _Reader._return),
    (_PYTHON_GOTO, _Reader._goto),
    (_PYTHON_IF, _Reader._if),
)
