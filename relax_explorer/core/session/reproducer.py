"""A program as one Python file for TVM: the module, inputs, passes, and the results that it should give.

The file needs TVM and NumPy alone. It builds the module as it is and after the passes, and compares both with what is computed here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import relax_explorer
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.difference import leaves_of

MOST_WRITTEN = 64  # elements of an array that is written as numbers
MOST_BYTES = 1 << 20  # of an array in the file


@dataclass(frozen=True)
class Reproducer:
    """A program with a function, its arguments, TVM's passes by name, and the results of the program as it is (`expected`)."""

    module: IRModule
    entry: str
    arguments: Sequence[Value]
    passes: tuple[Step, ...] = ()
    expected: Value = None
    name: str = "program"
    target: str = "llvm"  # of TVM, under which the passes run

    def script(self) -> str:
        """The Python file. Raises Failure for an argument that can't be written."""
        arguments = [
            _value(value, f"argument {n} of {self.entry}", n) for n, value in enumerate(self.arguments)
        ]
        results = [_result(value) for value in leaves_of(self.expected)]
        imports, body = _parts(self.module.script())
        texts = [*arguments, *results]
        more = [line for line, word in _MORE.items() if any(word in text for text in texts)]
        is_live = any(not step.of.has_contract for step in self.passes)
        return _FILE.format(
            name=self.name.replace("\\", "/").replace('"""', ""),
            version=relax_explorer.__version__,
            more="".join([f"{line}\n" for line in ["import importlib"] * is_live + more]),
            made=_LIVE if is_live else _PLAIN,
            imports="".join([f"{line}\n" for line in imports if line not in _IMPORTS]),
            body=body,
            entry=self.entry,
            target=self._target(),
            passes=_list([f"({step.of.name!r}, {_options(step)!r})" for step in self.passes]),
            arguments=_list(arguments, 4),
            expected=_list(results),
        )

    def _target(self) -> str:
        """The target as Python text; JSON names its parts."""
        try:
            return repr(json.loads(self.target) if self.target.startswith("{") else self.target)
        except ValueError:
            return repr(self.target)


def _options(step: Step) -> dict[str, Any]:
    return {key: value for key, value in step.options.items() if key != "profile"}


_MORE = {"import base64": "base64.", "import ml_dtypes": "ml_dtypes."}
_IMPORTS = ("from tvm.script import ir as I", "from tvm.script import relax as R")
_PLAIN = '''def made(name, options):
    """A pass of TVM."""
    home = relax.transform if hasattr(relax.transform, name) else relax.backend
    return getattr(home, name)(**options)
'''
_LIVE = '''def made(name, options):
    """A pass of TVM (tvm:NAME), one inside of a pipeline (tvm:PIPELINE/NAME), or one of a module of Python (MODULE:NAME)."""
    place, _, path = name.rpartition(":")
    if place != "tvm":
        return own(importlib.import_module(place.removeprefix("./").removesuffix(".py").replace("/", ".")), path, options)
    pipeline, _, stage = path.partition("/")
    for home in (relax.transform, relax.backend):
        if hasattr(home, path):
            return getattr(home, path)(**options)
    if pipeline == "default_cpu":
        found = relax.get_default_pipeline(target())
    else:
        found = relax.get_pipeline(pipeline, **options)
    return inner(found, stage) if stage else found


def own(module, path, options):
    """A pass of a module: a pass, a function of a module of TVM, or what makes one of these."""
    for part in path.split("."):
        module = getattr(module, part)
    if isinstance(module, tvm.transform.Pass):
        return module
    if isinstance(module, type) or not module.__code__.co_argcount > len(module.__defaults__ or ()):
        return module(**options)
    return lambda program: module(program, **options)


def inner(pipeline, stage):
    """A pass inside of a pipeline, which is watched while it runs on an empty module. NAME#2 is the second one of a name."""
    found, old = [], tvm.transform.Pass.__call__

    def call(of, module):
        if isinstance(of, tvm.transform.Sequential):
            for item in of.passes:
                module = call(item, module)
            return module
        before = len(found)
        module = old(of, module)
        if len(found) == before:
            found.append(of)
        return module

    tvm.transform.Pass.__call__ = call
    with target():
        pipeline(tvm.IRModule({}))
    tvm.transform.Pass.__call__ = old
    name, _, number = stage.partition("#")
    return [item for item in found if item.info.name == name][int(number or 1) - 1]
'''
_FILE = '''"""{name}: made by relax-explorer {version}. It needs TVM and NumPy: python FILE"""

from __future__ import annotations

{more}import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
{imports}
PASSES = {passes}  # names and options, in relax.transform


def arguments():
    """The arguments of {entry}."""
    return {arguments}


EXPECTED = {expected}  # each array of the result; None where it is too large


{body}

{made}

def target():
    return tvm.target.Target({target})


def applied(module):
    """The module after the passes."""
    with target():
        for name, options in PASSES:
            module = made(name, options)(module)
    return module


def to_tvm(value):
    if isinstance(value, np.ndarray):
        return tvm.runtime.tensor(value)
    return tuple(map(to_tvm, value)) if isinstance(value, tuple) else value


def arrays(value):
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, (bool, int, float)):
        return [np.asarray(value)]
    return [part for item in value for part in arrays(item)]


def results(module):
    """The arrays of the result of {entry}, compiled for this processor."""
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    return arrays(machine["{entry}"](*map(to_tvm, arguments())))


def differs(name, found, expected):
    """True if results differ. Prints how far."""
    differing = False
    for number, (x, y) in enumerate(zip(found, expected)):
        if y is None:
            continue
        y = np.asarray(y)
        if x.shape != y.shape or x.dtype != y.dtype:
            print(f"{{name}}: out{{number}} is {{x.dtype}} {{x.shape}}, {{y.dtype}} {{y.shape}} is expected")
            differing = True
            continue
        a, b = x.astype("float64"), y.astype("float64")
        close = np.isclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        print(f"{{name}}: out{{number}}: {{np.sum(~close)}} of {{x.size}} differ; largest difference {{np.nanmax(np.abs(a - b), initial=0)}}")
        differing |= not close.all()
    return differing


def main():
    print("TVM", tvm.__version__)
    before = results(Module)
    differing = differs("as it is", before, EXPECTED)
    if PASSES:
        differing |= differs("after the passes", results(applied(Module)), before)
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
'''


def _parts(text: str) -> tuple[list[str], str]:
    """The imports of a printed program, which stand in it as comments, and the rest."""
    imports: list[str] = []
    rest: list[str] = []
    for line in text.split("\n"):
        (imports if line.startswith(("# from ", "# import ")) else rest).append(line)
    return [line.removeprefix("# ") for line in imports], "\n".join(rest).strip("\n") + "\n"


def _list(items: Sequence[str], depth: int = 0) -> str:
    indent = " " * depth
    inner = "".join([f"{indent}    {item},\n" for item in items])
    return f"[\n{inner}{indent}]" if items else "[]"


def _value(value: Value, what: str, number: int) -> str:
    """Python text for an argument."""
    if isinstance(value, np.ndarray):
        return _made(value, number) or _array(value, what)
    if isinstance(value, Shape):
        return f"tvm.runtime.ShapeTuple({list(map(int, value))})"
    if isinstance(value, tuple):
        inner = ", ".join([_value(item, what, number + n) for n, item in enumerate(value)])
        return f"({inner},)" if value else "()"
    if isinstance(value, (bool, int, float, np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    raise _unwritten(what, f"is a {type(value).__name__}, which can't be written")


def _made(value: Array, number: int) -> str:
    """The call that makes a random value; empty for another one."""
    if value.size <= MOST_WRITTEN or value.dtype.kind != "f":
        return ""
    same = np.asarray(np.random.default_rng([0, number]).standard_normal(value.shape)).astype(value.dtype)
    if same.tobytes() != value.tobytes():
        return ""
    return f"np.random.default_rng([0, {number}]).standard_normal({value.shape}).astype({value.dtype.name!r})"


def _array(value: Array, what: str) -> str:
    own = value.dtype.isbuiltin != 1
    dtype = f"ml_dtypes.{value.dtype.name}" if own else repr(value.dtype.name)
    if value.size <= MOST_WRITTEN and not own and bool(np.all(np.isfinite(value))):
        return f"np.array({value.tolist()!r}, {dtype}).reshape({value.shape})"
    if value.nbytes > MOST_BYTES:
        raise _unwritten(what, f"has {value.nbytes:,} bytes, at most {MOST_BYTES:,} are written")
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return f"np.frombuffer(base64.b64decode({data!r}), {dtype}).reshape({value.shape}).copy()"


def _result(value: Value) -> str:
    is_small = isinstance(value, np.ndarray) and value.nbytes <= MOST_BYTES // 16
    if isinstance(value, np.ndarray):
        return _array(value, "a result") if is_small else "None"
    return repr(value.item() if isinstance(value, np.generic) else value) if _is_number(value) else "None"


def _is_number(value: Value) -> bool:
    return isinstance(value, (bool, int, float, np.generic))


def _unwritten(what: str, why: str) -> Failure:
    hint = "`reduce` makes the program smaller; --shape gives other lengths"
    return Failure(Diagnostic(codes.WRONG_INPUT, f"{what} {why}", help=hint))
