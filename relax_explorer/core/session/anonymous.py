"""A program under other names, so that it can be passed on: variables, functions, kernels, buffers and shape variables are numbered.

Names of operators and of packed functions stay, since TVM looks them up, and so do the numbers of a program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.dump import from_json, to_json
from relax_explorer.core.tir.stmt import PrimFunc

ENTRY = "main"
"""The name of a function that stays: it tells nothing."""
_HINTS = {"Var": "v", "DataflowVar": "v", "PrimVar": "n", "Buffer": "b"}
"""What numbered names begin with, by the class of a node."""
_NAMED = {"StringImm": "value", "PrimString": "value", "PrimCall": "op", "GlobalVar": "name"}
"""The fields that may hold the name of a function."""
_MEANT = re.compile(
    r"(?:tir|tirx|relax|runtime)\..*|Composite|Codegen|target|calling_conv|kind|layout|.*dtype"
)
"""The attributes whose texts TVM understands."""
_TEXTS = frozenset({"format", "message"})
"""The attributes of calls that are texts for people, with places for values (`{}`)."""
_PLACE = re.compile(r"\{[^{}]*\}")
_OWN_TO_TVM = ("vm.builtin.", "runtime.", "tvm.", "relax.", "ffi.")
Json = object
"""What `json.loads` gives: dicts, lists, texts and numbers."""


@dataclass(frozen=True)
class Anonymous:
    """A program under other names, the new names of its functions by the old ones, and the names that stay since TVM looks them up."""

    module: IRModule
    functions: Mapping[str, str]
    remaining: tuple[str, ...] = ()

    def steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Passes with the new names of functions in their options."""
        return tuple(
            [
                Step(step.of, {key: _mapped(value, self.functions) for key, value in step.options.items()})
                for step in steps
            ]
        )


def anonymous(module: IRModule) -> Anonymous:
    """A program under other names. What it computes, and the order of parameters, is the same."""
    functions = _function_names(module)
    document = json.loads(to_json(module))
    renaming = _Renaming(functions, module)
    ends = {item["#"] for _, item in document["nodes"][document["root"]]["functions"]["dict"]}
    for number, node in enumerate(document["nodes"]):
        renaming.rename(node)
        if number in ends:
            renaming.count_anew()
    new = from_json(json.dumps(document))
    return Anonymous(new, functions, tuple(dict.fromkeys(renaming.remaining)))


def _function_names(module: IRModule) -> dict[str, str]:
    """New names of the functions and kernels of a module. What is known by its text alone keeps its name."""
    kernels, others = count(), count()
    found: dict[str, str] = {}
    for name, fn in module.functions.items():
        if type(fn) is PrimFunc:
            found[name] = f"kernel{next(kernels)}"
        elif type(fn) is e.Function:
            found[name] = ENTRY if name == ENTRY else f"function{next(others)}"
    return found


class _Renaming:
    """The names given so far. Nodes come in the order of the text, each behind its parts; each function counts anew."""

    def __init__(self, functions: Mapping[str, str], module: IRModule) -> None:
        self.functions = functions
        self.remaining: list[str] = []
        self._members = {name for name in module.functions if name not in functions}
        self._texts: dict[str, str] = {}
        self.count_anew()

    def count_anew(self) -> None:
        """Begin with the first numbers, since a function ends."""
        self._numbers = {hint: count() for hint in _HINTS.values()}

    def rename(self, node: dict[str, Json]) -> None:
        """Give one node of a dump its new names."""
        kind = str(node["node"])
        hint, named = _HINTS.get(kind), _NAMED.get(kind)
        if hint is not None:
            node["name"] = f"{hint}{next(self._numbers[hint])}"
        elif named is not None:
            node[named] = _mapped(node[named], self.functions)
        elif kind == "SBlock":
            node["name"] = node["name"] if node["name"] == "root" else "block"
        elif kind == "AssertStmt":
            node["parts"] = [_places(part) for part in _items(node["parts"])]
        elif kind == "ExternFunc" and not str(node["name"]).startswith(_OWN_TO_TVM):
            self.remaining.append(str(node["name"]))
        elif kind == "OpaqueFunction":
            self.remaining += sorted(self._members)
        elif kind == "Call":
            node["attrs"] = self._attributes(node["attrs"], is_call=True)
        elif kind in ("Function", "PrimFunc"):
            node["attrs"] = self._attributes(node["attrs"])
        elif kind == "IRModule":
            self._module(node)

    def _module(self, node: dict[str, Json]) -> None:
        node["name"] = "Module"
        node["attrs"] = self._attributes(node["attrs"])
        held = node["functions"]
        assert isinstance(held, dict)  # as a dump has mappings
        held["dict"] = [[self.functions.get(name, name), fn] for name, fn in held["dict"]]

    def _attributes(self, attrs: Json, is_call: bool = False) -> Json:
        """Attributes with other texts, apart from those that TVM understands."""
        if not isinstance(attrs, dict) or "attrs" not in attrs:
            return attrs
        return {"attrs": [[key, self._attribute(key, value, is_call)] for key, value in attrs["attrs"]]}

    def _attribute(self, key: str, value: Json, is_call: bool) -> Json:
        if is_call and key in _TEXTS:
            return _places(value)
        if is_call or _MEANT.fullmatch(key):
            return _mapped(value, self.functions)
        return self._text(value)

    def _text(self, value: Json) -> Json:
        """Another text for each text; the name of a function for that of a function."""
        if isinstance(value, list):
            return [self._text(item) for item in value]
        if isinstance(value, dict):
            return self._attributes(value)
        if not isinstance(value, str):
            return value
        return self.functions.get(value) or self._texts.setdefault(value, f"text{len(self._texts)}")


def _mapped(value: Json, names: Mapping[str, str]) -> Json:
    """A value in which names of functions are replaced, also in lists and mappings."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(item, names) for item in value])
    if isinstance(value, dict):
        return {key: _mapped(item, names) for key, item in value.items()}
    return value


def _places(text: Json) -> Json:
    """The places of a text for people, without its words."""
    return " ".join(_PLACE.findall(text)) if isinstance(text, str) else text


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
