"""The notation of operators' examples: `f32[n,4] (n*4,) axis=[0] -> f32[n*4]`, as calls in TVMScript and as StructInfo."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = {
    "f32": "float32",
    "f16": "float16",
    "f64": "float64",
    "i32": "int32",
    "i64": "int64",
    "i8": "int8",
    "bool": "bool",
}
_TENSOR = re.compile(r"(f32|f16|f64|i32|i64|i8|bool)\[(.*)\]$")
_PARTS = re.compile(r"""\w+=(?:\[[^\]]*\]|"[^"]*"|\S+)|\([^()]*(?:\([^()]*\)[^()]*)*\)|\S+""")


@dataclass(frozen=True)
class Example:
    """One example: the text of a module with the call as `main`, and the StructInfo that it names."""

    op: str
    text: str
    program: str
    result: str


def tensor(text: str, quote: bool = True) -> str:
    """`f32[n,4]` as an annotation."""
    match = _TENSOR.match(text)
    assert match is not None, text
    dims = [dim.strip() for dim in match[2].split(",") if dim.strip()]
    shown = [dim if dim.isdigit() or not quote else f'"{dim}"' for dim in dims]
    return f'R.Tensor(({", ".join(shown)}{"," if len(dims) == 1 else ""}), "{DTYPES[match[1]]}")'


def info(text: str) -> str:
    """The result of an example as an annotation."""
    if text.startswith("shape("):
        return f"R.Shape([{', '.join(_quoted(d) for d in text[6:-1].split(','))}])"
    if text.startswith("("):
        return f"R.Tuple({', '.join(tensor(part) for part in _split(text[1:-1]))})"
    return tensor(text)


def _quoted(dim: str) -> str:
    return dim if dim.strip().isdigit() else f'"{dim.strip()}"'


def _split(text: str) -> list[str]:
    return [part for part in re.findall(r"\w+\[[^\]]*\]", text)]


def read(op: str, text: str) -> Example:
    """An example of the operator `op`."""
    left, _, right = text.partition("->")
    params: list[str] = []
    args: list[str] = []
    for part in _PARTS.findall(left.strip()):
        if re.match(r"\w+=", part):
            args.append(part)
        elif _TENSOR.match(part):
            params.append(f"p{len(params)}: {tensor(part)}")
            args.append(f"p{len(params) - 1}")
        elif part.startswith("(") and "[" in part:
            names = []
            for item in _split(part[1:-1]):
                names.append(f"p{len(params)}")
                params.append(f"{names[-1]}: {tensor(item)}")
            args.append(f"({', '.join(names)})")
        elif part.startswith("("):
            inner = part[1:-1].strip().rstrip(",")
            args.append(f"({inner},)" if op == "relax.strided_slice" else f"R.shape([{inner}])")
        else:
            args.append(part)
    variables = sorted(set(re.findall(r"(?<![\w.\"])[a-z](?![\w.\"(=\[])", left + right)) - {"x"})
    declared = "".join(
        f"        {name} = T.int64()\n" for name in variables if f'"{name}"' in ", ".join(params)
    )
    call = f"R.{op.removeprefix('relax.')}({', '.join(args)})"
    program = f"@I.ir_module\nclass Module:\n    @R.function\n    def main({', '.join(params)}):\n{declared}        gv = {call}\n        return gv\n"
    return Example(op, text, program, info(right.strip()))


def inputs(fn: Any, sizes: dict[str, int], seed: int = 0) -> list[Any]:
    """Values for the parameters: small numbers, so that indices stay near and divisors are not 0."""
    from relax_explorer.core.exec.scalars import evaluate
    from relax_explorer.core.ir.walk import info_vars

    dims = {var: sizes.get(var.name, 2) for param in fn.params for var in info_vars(param.struct_info)}
    generator = np.random.default_rng(seed)
    made = []
    for param in fn.params:
        shape = tuple(int(evaluate(dim, dims)) for dim in param.struct_info.dims)
        kind = param.struct_info.dtype.to_numpy()
        numbers = generator.uniform(0.5, 2.0, shape) if kind.kind == "f" else generator.integers(1, 3, shape)
        made.append(np.asarray(numbers).astype(kind))
    return made
