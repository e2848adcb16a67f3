"""Answers questions about models of ONNX, PyTorch and TFLite in the user's Python: as which program TVM reads them, and what they compute.

TVM's own importers make the program. Weights leave it by their names, for a file beside the text, and variables get the names that the
model has for their values. What a model computes is asked of `onnx.reference` and of PyTorch itself.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__))


def _beside(name: str) -> ModuleType:
    """A file beside this one, whose folder is no place to import from."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from relax_explorer.injected.answering import Foreign, Refused
    from relax_explorer.injected.model_parts import (
        Found,
        Namer,
        Names,
        Tensors,
        check_lengths,
        front_end,
        package,
        version,
    )
else:
    from answering import Refused  # the program that runs this one

    parts = _beside("model_parts")
    Found, Namer, Names, Tensors = parts.Found, parts.Namer, parts.Names, parts.Tensors
    check_lengths, front_end, package, version = (
        parts.check_lengths,
        parts.front_end,
        parts.package,
        parts.version,
    )

_SEPARATORS = re.compile(r"[./_:\\-]+")  # of which a name and its identifier may differ
_LARGE = 1024  # bytes from which on a constant without a name leaves the text, too
_WORDS = {
    "bool": "BOOL", "int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32", "int64": "I64",
    "uint64": "U64", "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip


def import_model(
    path: str, format: str, folder: str, weights: str, lengths: Mapping[str, int], parts: object
) -> tuple[object, dict[str, bytes]]:
    """The program of a model as text. Its weights are written to `folder`, and the text names them as the file `weights`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _reader(format).program(path, lengths)
    module, arrays = _without_constants(package("tvm"), found, weights)
    named = _renamed(module, found.names)
    _save(os.path.join(folder, "weights.safetensors"), arrays)
    value = {
        "versions": {name: version(name) for name in ("tvm", _PACKAGES[format])},
        "nodes": found.nodes,
        "weights": len(arrays),
        "bytes": sum(int(array.nbytes) for array in arrays.values()),
        "remarks": found.remarks,
    }
    return value, {"text": named.encode()}


def run_model(
    path: str, format: str, folder: str, samples: Sequence[Sequence[str]], parts: Mapping[str, bytes]
) -> tuple[object, dict[str, bytes]]:  # fmt: skip
    """What a model computes, with all values on the way: `values0.safetensors` for the part `inputs0`, an .npz, and so on.

    A sample is the dtypes of its inputs. The answer has the reason why the model stops for each one, or an empty text.
    """
    runner = _reader(format).runner(path)
    failures = []
    for number, dtypes in enumerate(samples):
        with np.load(io.BytesIO(parts[f"inputs{number}"]), allow_pickle=False) as file:
            inputs = [_stored(file[f"in{place}"], word) for place, word in enumerate(dtypes)]
        try:
            values = runner(inputs)
        except Exception as error:  # noqa: BLE001  # a framework raises what it likes
            failures.append(f"{type(error).__name__}: {error}"[:400])
            continue
        _save(os.path.join(folder, f"values{number}.safetensors"), values)
        failures.append("")
    return {"failures": failures, "by": f"{_BY[format]} {version(_PACKAGES[format])}"}, {}


_PACKAGES = {"onnx": "onnx", "torch": "torch", "tflite": "tflite"}
"""The package that reads a format."""
_BY = {"onnx": "onnx.reference", "torch": "torch"}


def _reader(format: str) -> Foreign:
    """The file that knows a format."""
    return _beside(f"{format}_models")


# -- programs --------------------------------------------------------------------------------------------------------


def _without_constants(tvm: Foreign, found: Found, weights: str) -> tuple[Foreign, Tensors]:
    """The module with its weights as parameters behind the inputs, and their arrays by the names that the model has for them."""
    relax, function = tvm.relax, found.module["main"]
    inputs = [param for param in function.params if param.name not in found.tensors]
    own = [param for param in function.params if param.name in found.tensors]
    hoisted, body = _hoisted(relax, function, found)
    weights_by_name = [(param.name, found.originals[param.name], found.tensors[param.name]) for param in own]
    weights_by_name += [(param.name, name, array) for param, name, array in hoisted]
    arrays = {_stored_name(found.names.get(own, own), name): array for own, name, array in weights_by_name}
    kept = {key: value for key, value in dict(function.attrs or {}).items() if key not in ("params",)}
    attrs = {**kept, "num_input": len(inputs), **({"rx.weights": weights} if arrays else {})}
    params = [*inputs, *own, *[param for param, _, _ in hoisted]]
    made = relax.Function(params, body, function.ret_ty, function.is_pure).with_attrs(attrs)
    functions = {
        key: made if key.name_hint == "main" else value for key, value in found.module.functions.items()
    }
    return tvm.IRModule(functions, attrs=found.module.attrs), arrays  # fmt: skip


def _stored_name(parameter: str, name: str) -> str:
    """The name of a weight in a file: that of the model, unless nobody would find the parameter by it."""
    return name if _SEPARATORS.sub("_", name).strip("_") == parameter else parameter


def _hoisted(
    relax: Foreign, function: Foreign, found: Found
) -> tuple[list[tuple[Foreign, str, Foreign]], Foreign]:
    """Parameters for the constants that leave a function, with names and arrays, and its body with them."""
    from tvm.relax.expr_functor import PyExprMutator, mutator

    namer = Namer([param.name for param in function.params])
    known = {hash(constant): name for constant, name in found.constants}
    made: dict[int, tuple[Foreign, str, Foreign]] = {}

    @mutator
    class Hoist(PyExprMutator):
        def visit_generic_const_(self, constant: Foreign) -> Foreign:
            key = hash(constant)
            if key not in made:
                array = constant.data.numpy() if hasattr(constant, "data") else constant.value.numpy()
                name = known.get(key, "")
                is_weight = name and array.ndim and array.dtype.kind not in "biu"
                if not is_weight and array.nbytes <= _LARGE:
                    return constant
                text = name or f"constant_{len(made)}"
                var = relax.Var(namer.name(text), constant.ty)
                made[key] = (var, text, array)
            return made[key][0]

    body = Hoist().visit_expr(function.body)
    return list(made.values()), body


def _renamed(module: Foreign, names: Names) -> str:
    """The text of a module. Its variables have the names that a model has for their values, if nothing else has them."""
    text: str = module.script(show_meta=True)
    bound = Counter(re.findall(r"^\s*(\w+)(?:: .*?)? = ", text, re.MULTILINE))
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    found = [
        token for before, token in pairwise(tokens) if token.type == tokenize.NAME and before.string != "."
    ]
    used, times = {token.string for token in found} - names.keys(), Counter(names.values())
    chosen = {
        old: new for old, new in names.items() if new not in used and times[new] == 1 and bound[old] <= 1
    }
    lines = text.splitlines(keepends=True)
    for token in reversed(found):
        if token.string in chosen:
            row, start = token.start[0] - 1, token.start[1]
            end = start + len(token.string)
            lines[row] = lines[row][:start] + chosen[token.string] + lines[row][end:]
    return "".join(lines)


# -- arrays ----------------------------------------------------------------------------------------------------------


def _save(path: str, arrays: Mapping[str, Foreign]) -> None:
    """Write arrays as a .safetensors file."""
    head: dict[str, object] = {}
    start = 0
    for name, array in arrays.items():
        word = _WORDS.get(str(array.dtype))
        if word is None:
            raise Refused("unsupported", f"the dtype {array.dtype} of {name} can't be stored")
        end = start + int(array.nbytes)
        head[name] = {"dtype": word, "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def _stored(array: Foreign, word: str) -> Foreign:
    """An array with a dtype that a file of numpy does not tell."""
    if array.dtype.kind != "V":
        return array
    return array.view(getattr(package("ml_dtypes"), word))


QUESTIONS = {"import": import_model, "run": run_model}
