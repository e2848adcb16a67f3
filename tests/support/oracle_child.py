"""The oracle's process: loads Apache TVM and answers questions, one JSON line for each.

`tests.support.oracle` starts it, and no test imports it: TVM can take its process down. So a copy of this process answers, made by
fork when TVM is loaded, which takes seconds. One that dies is told to the tests, and the next one answers.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import IO, Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir.instrument import pass_instrument
from tvm.relax import dpl
from tvm.relax.script import parser as relax_parser
from tvm_ffi import Shape, get_first_structural_mismatch, structural_equal, structural_hash

from tests.support import quick_parser, wire
from tests.support.annotations import strip_binding_annotations
from tests.support.oracle_repeat import repeated

Module = Any
PassList = list[tuple[str, dict[str, Any]]]

REAL_IMPORT = re.compile(r"^(?=(?:import|from) )", re.MULTILINE)
KEPT_PARSES = 400


class Inspect:
    """`R.inspect`: TVM prints these names but does not read them. Each one makes a call of the operator."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = tvm.ir.Op.get(f"relax.inspect.{name}")
        return lambda *args: tvm.ir.Call(operator, [relax.utils.convert_to_expr(arg) for arg in args])


relax_parser.inspect = Inspect()


class Programs:
    """Modules by handle, and the texts parsed last, so that several questions about one text parse it once."""

    def __init__(self) -> None:
        self._by_handle: dict[str, Module] = {}
        self._by_text: dict[tuple[str, bool], Module] = {}

    def keep(self, module: Module) -> str:
        handle = f"h{len(self._by_handle) + 1}"
        self._by_handle[handle] = module
        return handle

    def get(self, program: dict[str, str], *, check: bool = False) -> Module:
        """Return the module of a handle or a text; with `check` TVM refuses text that is not well formed."""
        if "handle" in program:
            return self._by_handle[program["handle"]]
        key = (program["text"], check)
        if key not in self._by_text:
            while len(self._by_text) >= KEPT_PARSES:
                del self._by_text[next(iter(self._by_text))]
            self._by_text[key] = parse(*key)
        self._by_text[key] = module = self._by_text.pop(
            key
        )  # the text that was not asked about for longest comes first
        return module


def parse(text: str, check: bool) -> Module:
    """Return TVM's module for a text; its imports become comments, as TVM prints them."""
    head, separator, rest = text.partition("@I.ir_module")
    return tvm.script.from_source(REAL_IMPORT.sub("# ", head) + separator + rest, check_well_formed=check)


def placed(kind: Any, devices: list[Any]) -> str:
    """The text of a type that names the device of each tensor by its number; TVM prints -1 outside of a module."""
    text = str(kind)
    if "vdevice=" not in text:
        return text
    names = (device_name(device, devices) for device in devices_of(kind))
    return re.sub(r'vdevice="[^"]*"', lambda _: f'vdevice="{next(names)}"', text)


def devices_of(kind: Any) -> Iterator[Any]:
    """The devices of the tensors in a type, in order."""
    if isinstance(kind, relax.TensorType) and kind.vdevice is not None:
        yield kind.vdevice
    for field in kind.fields if isinstance(kind, tvm.ir.TupleType) else ():
        yield from devices_of(field)


def device_name(device: Any, devices: list[Any]) -> str:
    """A device by its kind and its number among those of its kind; `not there` if the module lacks it."""
    same = [other for other in devices if other.target.kind.name == device.target.kind.name]
    numbers = [n for n, other in enumerate(same) if structural_equal(other, device)]
    return f"{device.target.kind.name}:{numbers[0]}" if numbers else f"{device.target.kind.name}: not there"


def bindings(expr: Any, function: str, devices: list[Any]) -> Iterator[list[str]]:
    """Yield [function, variable, type, kind] of every binding, preceded by the bindings inside it."""
    if not isinstance(expr, relax.SeqExpr):
        return
    for block in expr.blocks:
        for binding in block.bindings:
            name = str(binding.var.name)
            if isinstance(binding, relax.MatchCast):
                yield [function, name, placed(binding.var.ty, devices), "MatchCast"]
                continue
            value = binding.value
            if isinstance(value, relax.If):
                yield from bindings(value.true_branch, function, devices)
                yield from bindings(value.false_branch, function, devices)
            elif isinstance(value, relax.Function):
                yield from bindings(value.body, f"{function}.{name}", devices)
            elif isinstance(value, relax.SeqExpr):
                yield from bindings(value, function, devices)
            yield [function, name, placed(binding.var.ty, devices), kind_of(value)]


def kind_of(value: Any) -> str:
    """Return the operator's name, `call:` and the class of the callee, or the class of the value."""
    if not isinstance(value, relax.Call):
        return type(value).__name__
    if isinstance(value.op, tvm.ir.Op):
        return str(value.op.name)
    return f"call:{type(value.op).__name__}"


def relax_functions(module: Module) -> list[tuple[str, Any]]:
    found = [(str(ref.name_hint), function) for ref, function in module.functions_items()]
    return sorted((name, function) for name, function in found if isinstance(function, relax.Function))


def applied(module: Module, passes: PassList) -> Module:
    with tvm.target.Target("llvm"):
        for name, options in passes:
            if name.startswith("pipeline:"):
                module = relax.get_pipeline(name.removeprefix("pipeline:"), **options)(module)
            else:
                options = with_types(with_variables(with_patterns(options), module))
                home = relax.transform if hasattr(relax.transform, name) else relax.backend
                module = getattr(home, name)(**options)(module)
    return module


def with_variables(options: dict[str, Any], module: Module) -> dict[str, Any]:
    """Options with parameters in place of their names in `require_grads`."""
    if "require_grads" not in options:
        return options
    params = {param.name: param for param in module[options["func_name"]].params}
    return {**options, "require_grads": [params[name] for name in options["require_grads"]]}


def with_types(options: dict[str, Any]) -> dict[str, Any]:
    """Options with a device in place of its text in `new_vdevice`, and a function in place of the texts of `types`."""
    if "new_vdevice" in options:
        kind, number, scope = (*options["new_vdevice"].split(":"), "", "")[:3]
        device = relax.global_info.VDevice(kind, int(number or 0), scope or "global")
        return {**options, "new_vdevice": device}
    if "types" not in options:
        return options
    head = "@I.ir_module\nclass Module:\n    @R.function\n    def f("
    params = ", ".join(f"{name}: {text}" for name, text in options["types"].items())
    found = {
        str(q.name): q.ty for q in parse(f"{head}{params}):\n        return R.tuple()\n", True)["f"].params
    }
    return {"ty_func": lambda param: found.get(str(param.name))}


def with_patterns(options: dict[str, Any]) -> dict[str, Any]:
    """Options with TVM's patterns in place of [name, tree], and with tensors in place of their wire forms."""
    if "params" in options:
        tensors = {name: wire.decode_tensor(value) for name, value in options["params"].items()}
        return {**options, "params": tensors}
    if "patterns" not in options:
        return options
    return {**options, "patterns": [(name, built_pattern(tree, {})) for name, tree in options["patterns"]]}


def to_wire(value: Any) -> dict[str, Any]:
    if isinstance(value, tvm.runtime.Tensor):
        return wire.encode_tensor(value.numpy())
    if isinstance(value, Shape):
        return {"shape": [int(length) for length in value]}
    if isinstance(value, list | tuple) or type(value).__name__ == "Array":
        return {"tuple": [to_wire(item) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"scalar": value}
    raise TypeError(f"a result of type {type(value).__name__} has no form on the wire")


for codegen in ("my", "other"):
    # Code generators without code: RunCodegen then only calls the functions that they should have made.
    tvm.register_global_func(f"relax.ext.{codegen}", lambda functions, options, constants: [])

PROGRAMS = Programs()


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def ask_version() -> str:
    return str(tvm.__version__)


def ask_parse(program: dict[str, str], check: bool) -> str:
    return PROGRAMS.keep(PROGRAMS.get(program, check=check))


def ask_saved(program: dict[str, str]) -> dict[str, str]:
    """The module as `save_json` writes it, and as TVM prints it."""
    module = PROGRAMS.get(program)
    return {"json": str(tvm.ir.save_json(module)), "text": str(module.script(show_meta=True))}


def ask_executable(program: dict[str, str]) -> dict[str, str]:
    """The texts of the executable that TVM builds for llvm, and of the module after the last pass that has Relax functions."""
    stages: list[str] = []

    @pass_instrument
    class Recorder:
        def run_after_pass(self, module: Module, info: Any) -> None:
            if info.name == "AttachGlobalSymbol" and relax_functions(module):
                stages.append(str(module.script(show_meta=True)))

    with tvm.transform.PassContext(instruments=[Recorder()]):
        built = tvm.compile(PROGRAMS.get(program), target="llvm")
    return {"text": str(built.as_text()), "python": str(built.as_python()), "stage": stages[-1]}


def ask_script(program: dict[str, str]) -> str:
    return str(PROGRAMS.get(program).script(show_meta=True))


def ask_equal(a: dict[str, str], b: dict[str, str]) -> dict[str, Any]:
    left, right = PROGRAMS.get(a), PROGRAMS.get(b)
    mismatch = get_first_structural_mismatch(left, right, map_free_vars=True)
    return {
        "mapped": mismatch is None,
        "exact": bool(structural_equal(left, right, map_free_vars=False)),
        "mismatch": "" if mismatch is None else " / ".join(str(path) for path in mismatch),
    }


def ask_reads_alike(program: dict[str, str]) -> bool:
    """True if the quick parser reads a text as TVM's own one does: the same structure, names and errors."""

    def read() -> tuple[Module | None, str]:
        try:
            module = parse(program["text"], False)
        except Exception as error:  # noqa: BLE001  # both refuse the text
            return None, f"{type(error).__name__}: {error}"
        return module, str(module.script())  # metadata holds places

    quick, text = read()
    with quick_parser.unhastened():
        own, wanted = read()
    same = quick is own if own is None or quick is None else structural_equal(quick, own)
    return bool(same) and text == wanted


def ask_types(program: dict[str, str], strip: bool) -> list[list[str]]:
    if strip:
        program = {"text": strip_binding_annotations(program["text"])}
    module = PROGRAMS.get(program)
    devices = list(module.global_infos.get("vdevice", []))
    return [
        row for name, function in relax_functions(module) for row in bindings(function.body, name, devices)
    ]


def ask_signatures(program: dict[str, str]) -> list[list[Any]]:
    functions = relax_functions(PROGRAMS.get(program))
    return [
        [name, [str(param.ty) for param in function.params], str(function.ret_ty), bool(function.is_pure)]
        for name, function in functions
    ]


def ask_python_signatures(names: list[str]) -> dict[str, list[list[str | None]] | None]:
    return {name: _python_signature(name) for name in names}


def _python_signature(name: str) -> list[list[str | None]] | None:
    found: Any = relax_parser
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    if (
        found is None or getattr(found, "__module__", "") == __name__
    ):  # no function, or one added by this process
        return None
    rows = inspect.signature(found).parameters.values()
    return [
        [q.name, None if q.default is q.empty else repr(q.default)] for q in rows if q.kind != q.VAR_KEYWORD
    ]


def ask_operators_with(attribute: str) -> dict[str, int | None]:
    names = [name for name in tvm.ir.Op.list_op_names() if name.startswith("relax.")]
    found = {name: tvm.ir.Op.get(name).get_attr(attribute) for name in names}
    return {n: value if isinstance(value, int) else None for n, value in found.items() if value is not None}


def ask_purities(names: list[str]) -> dict[str, bool | None]:
    found = {name: tvm.ir.Op.get(name).get_attr("FPurity") for name in names}
    return {name: None if pure is None else bool(pure) for name, pure in found.items()}


def ask_well_formed(program: dict[str, str]) -> dict[str, Any]:
    module = PROGRAMS.get(program)
    if relax.analysis.check_well_formed(module):
        return {"well_formed": True, "message": ""}
    try:
        relax.analysis.well_formed(module)
    except (ValueError, RuntimeError, TypeError) as error:
        return {"well_formed": False, "message": str(error)}
    raise AssertionError("TVM calls the module ill-formed but gives no reason")


def ask_memory_usage(program: dict[str, str]) -> str:
    return str(relax.analysis.estimate_memory_usage(PROGRAMS.get(program)))


def ask_flops(program: dict[str, str]) -> dict[str, float]:
    from tvm.s_tir.analysis import estimate_tir_flops

    functions = PROGRAMS.get(program).functions.items()
    kernels = {name.name_hint: fn for name, fn in functions if isinstance(fn, tirx.PrimFunc)}
    return {name: float(estimate_tir_flops(tvm.IRModule({"main": fn}))) for name, fn in kernels.items()}


def ask_apply(program: dict[str, str], passes: PassList) -> dict[str, str]:
    module = applied(PROGRAMS.get(program), passes)
    return {"handle": PROGRAMS.keep(module), "text": str(module.script(show_meta=True))}


def built(module: Module, passes: PassList) -> Any:
    """The executable of a module after passes. Most kernels run once, on a few elements: optimising them would take longer than all else.

    Two thirds of the machine code of a kernel are assertions about its arguments. Kernels that TVM makes of operators get what the
    virtual machine checked, so these go without; a program with kernels of its own keeps all assertions.
    """
    only_operators = not any(isinstance(fn, tirx.PrimFunc) for fn in module.functions.values())
    low = applied(module, passes)
    with tvm.transform.PassContext(config={"tirx.disable_assert": only_operators}):
        return tvm.compile(low, target=tvm.target.Target({"kind": "llvm", "opt-level": 0}))


def ask_run(
    program: dict[str, str], func: str, inputs: list[dict[str, Any]], passes: PassList
) -> dict[str, Any]:
    machine = relax.VirtualMachine(built(PROGRAMS.get(program), passes), tvm.cpu())
    values = [wire.decode(value, tensor=tvm.runtime.tensor, shape=Shape) for value in inputs]
    return to_wire(machine[func](*values))


def ask_run_each(program: dict[str, str], calls: list[list[Any]], passes: PassList) -> list[dict[str, Any]]:
    """Compile once and call several functions; an exception in one of them is its answer."""
    machine = relax.VirtualMachine(built(PROGRAMS.get(program), passes), tvm.cpu())
    answers = []
    for func, inputs in calls:
        values = [wire.decode(value, tensor=tvm.runtime.tensor, shape=Shape) for value in inputs]
        try:
            answers.append({"ok": True, "value": to_wire(machine[func](*values))})
        except Exception as error:  # noqa: BLE001  # as in `answer`
            answers.append({"ok": False, "error": str(error), "kind": type(error).__name__})
    return answers


def ask_run_time(text: str, func: str, lengths: dict[str, int], repeat: int) -> float:
    """The seconds of a call of a compiled function, at best."""
    work = ready(text, func, tuple(lengths.items()))
    return min(timed(work) for _ in range(repeat))


def ask_time(program: dict[str, str], what: list[str], repeat: int, rounds: int) -> dict[str, float]:
    text = program["text"]
    module = PROGRAMS.get(program, check=True)
    if rounds > 1:
        module = repeated(module, rounds)
    works: dict[str, Callable[[], Any]] = {
        "parse": lambda: parse(text, True),
        "script": lambda: module.script(),
        "well_formed": lambda: relax.analysis.check_well_formed(module),
        "structural_hash": lambda: structural_hash(module),
    }
    fastest = {}
    for name in what:
        work = works.get(name) or (ready(text) if name == "run" else partial(applied, module, [(name, {})]))
        fastest[name] = min(timed(work) for _ in range(repeat))
    return fastest


class Prepared:
    """A module after passes. The next question often asks for the same one, or for the one after a further pass."""

    def __init__(self) -> None:
        self.key: tuple[str, int] = "", 0
        self.passes: PassList = []
        self.module: Module = None

    def get(self, text: str, rounds: int, passes: PassList) -> Module:
        """The module of a text, its dataflow block `rounds` times in a row, after passes."""
        if self.key != (text, rounds) or self.passes != passes[: len(self.passes)]:
            self.module = PROGRAMS.get({"text": text}, check=True)
            self.module = self.module if rounds == 1 else repeated(self.module, rounds)
            self.key, self.passes = (text, rounds), []
        self.module = applied(self.module, passes[len(self.passes) :])
        self.passes = passes
        return self.module


PREPARED = Prepared()


def ask_pass_time(
    text: str, of: tuple[str, dict[str, Any]], before: PassList, rounds: int, repeat: int
) -> float:
    """The seconds of the processor that a pass takes at best on the module after other passes."""
    module = PREPARED.get(text, rounds, before)
    best = LONG if repeat else 0.0
    for _ in range(repeat):
        started = time.process_time()
        applied(module, [of])
        taken = time.process_time() - started
        if taken > LONG:
            return taken
        best = min(best, taken)
    return best


LONG = 2.0  # seconds; what takes longer is measured once


@lru_cache(maxsize=1)
def ready(text: str, func: str = "main", lengths: tuple[tuple[str, int], ...] = ()) -> Callable[[], Any]:
    """A call of a compiled function on random tensors; integers are small."""
    module = PROGRAMS.get({"text": text}, check=True)
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    random, known = np.random.default_rng(0), dict(lengths)

    def value(of: Any) -> Any:
        if isinstance(of, relax.TupleType):
            return tuple(map(value, of.fields))
        shape = [known[n.name] if hasattr(n, "name") else int(n) for n in of.shape.values]
        dtype = str(of.dtype)
        array = random.standard_normal(shape) if dtype.startswith("float") else random.integers(0, 100, shape)
        return tvm.runtime.tensor(array.astype(dtype))

    values, called = [value(param.ty) for param in module[func].params], machine[func]
    called(*values)
    return lambda: called(*values)


def ask_lattice(program: dict[str, str]) -> list[dict[str, Any]]:
    """For each function, the types of its last two parameters: base check, least upper bound, and erased."""
    rows = []
    for name, function in relax_functions(PROGRAMS.get(program)):
        derived, base = [param.ty for param in function.params][-2:]
        rows.append(
            {
                "function": name,
                "check": relax.analysis.BaseCheckResult(relax.analysis.type_base_check(base, derived)).name,
                "common": str(relax.analysis.type_lca(derived, base)),
                "static": str(relax.analysis.get_static_type(derived)),
                "erased": str(relax.analysis.erase_to_well_defined(derived)),
            }
        )
    return rows


def ask_matches(program: dict[str, str], pattern: dict[str, Any]) -> list[list[str]]:
    """[function, variable] of each binding whose variable a pattern matches; copies of variables are left out."""
    rows = []
    for name, function in relax_functions(PROGRAMS.get(program)):
        values = relax.analysis.get_var2val(function)
        tried = built_pattern(pattern, {})
        rows += [
            [name, str(var.name)]
            for var, value in values.items()
            if not isinstance(value, relax.Var) and tried.match(var, values)
        ]
    return sorted(rows)


def built_pattern(tree: dict[str, Any], known: dict[int, Any]) -> Any:
    """TVM's pattern for a tree of `tests.support.pattern_trees`. Equal numbers are one pattern."""
    if tree["id"] not in known:
        args = [built_pattern(item, known) for item in tree["parts"]]
        known[tree["id"]] = PATTERNS[tree["kind"]](*args, *tree["values"])
    return known[tree["id"]]


def called(op: Any, *rest: Any) -> Any:
    """A pattern of a call; the last value tells if further operands may follow."""
    *args, is_open = rest
    return dpl.CallPattern(op, args, is_open)


PATTERNS: dict[str, Callable[..., Any]] = {
    "Anything": dpl.wildcard,
    "Exactly": dpl.is_op,
    "Variable": dpl.is_var,
    "DataflowVariable": dpl.is_dfv,
    "GlobalVar": dpl.is_gv,
    "ExternFunc": dpl.ExternFuncPattern,
    "ConstantValue": dpl.is_const,
    "CallOf": called,
    "TupleOf": lambda *fields: dpl.is_tuple(fields[:-1], unordered=fields[-1]),
    "ItemOf": dpl.is_tuple_get_item,
    "Either": lambda a, b: a | b,
    "Both": lambda a, b: a & b,
    "Rejected": lambda a: ~a,
    "WithAttrs": lambda a, attrs: a.has_attr(attrs),
    "WithDType": lambda a, dtype: a.has_dtype(dtype),
    "WithShape": lambda a, lengths: a.has_shape(lengths),
    "ShapeOf": dpl.is_shape,
}


def ask_die(signal: int) -> None:
    """End like a crash of TVM, so that the tests can see how the parent reacts."""
    os.kill(os.getpid(), signal)


QUESTIONS: dict[str, Callable[..., Any]] = {
    function.__name__.removeprefix("ask_"): function
    for function in (
        ask_version,
        ask_memory_usage,
        ask_flops,
        ask_parse,
        ask_executable,
        ask_saved,
        ask_script,
        ask_equal,
        ask_reads_alike,
        ask_types,
        ask_signatures,
        ask_python_signatures,
        ask_purities,
        ask_operators_with,
        ask_well_formed,
        ask_apply,
        ask_run,
        ask_run_each,
        ask_time,
        ask_run_time,
        ask_pass_time,
        ask_lattice,
        ask_matches,
        ask_die,
    )
}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Answer one question; any exception of TVM is the answer."""
    ask = QUESTIONS[question.pop("ask")]
    try:
        return {"ok": True, "value": ask(**question)}
    except Exception as error:  # noqa: BLE001  # the parent decides what an error means
        return {"ok": False, "error": str(error) or type(error).__name__, "kind": type(error).__name__}


def serve() -> None:
    """Answer until the questions end; output of TVM or of a program goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    quick_parser.hasten()
    gc.freeze()  # the copies share what exists now
    gc.set_threshold(4_000, 10, 100)  # what is parsed holds few circles
    while copy := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        if code == 0:
            return
        write(answers, {"died": code})
    for line in sys.stdin:
        write(answers, answer(json.loads(line)))
    os._exit(0)  # the end of the interpreter would be that of the process it was copied from


def write(answers: IO[str], reply: dict[str, Any]) -> None:
    """Send one line."""
    answers.write(json.dumps(reply) + "\n")
    answers.flush()


if __name__ == "__main__":
    serve()
