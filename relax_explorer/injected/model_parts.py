"""What the readers of models share, in the user's Python: packages that may be missing, names, and what they found."""

from __future__ import annotations

import contextlib
import importlib
import keyword
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from relax_explorer.injected.answering import Foreign, Refused
else:
    from answering import Foreign, Refused  # the program that runs this one

Names: TypeAlias = "dict[str, str]"
"""Names for names: of variables for values of a model, or those that variables should have."""
Tensors: TypeAlias = "dict[str, Foreign]"

WORD = re.compile(r"[^0-9A-Za-z_]+")
_TVM = "0.27"
_RESERVED = {"R", "T", "I", "metadata", "main", "Module", "TypeVar"}


def package(name: str) -> Foreign:
    """A package of the user's Python. Raises Refused if it is not there, or does not work."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).partition(".")[0]
        raise Refused("missing", f"{sys.executable} has no {missing}", package=missing) from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # a package that is broken may raise anything
        raise Refused(
            "broken", f"{sys.executable} can't import {name}: {type(error).__name__}: {error}"
        ) from None


def version(name: str) -> str:
    """The version of a package."""
    from importlib import metadata

    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version({"tvm": "apache-tvm"}.get(name, name))
    return str(getattr(sys.modules.get(name), "__version__", "unknown"))


def front_end(name: str) -> Foreign:
    """A front end of TVM. Raises Refused if this is another version of TVM, or it wants another package."""
    package("tvm")
    if not version("tvm").startswith(f"{_TVM}."):
        raise Refused(
            "broken", f"{sys.executable} has TVM {version('tvm')}; the importers of {_TVM} are asked here"
        )
    try:
        return importlib.import_module(f"tvm.relax.frontend.{name}")
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing and missing != "tvm":
            raise Refused("missing", f"{sys.executable} has no {missing}", package=missing) from None
        raise Refused("broken", f"TVM {version('tvm')} has no front end {name}: {error}") from None


class Found:
    """What an importer made: a module whose function `main` takes `inputs` first, names of its variables, and names of its constants."""

    def __init__(
        self, module: Foreign, names: Names, nodes: int, constants: Sequence[tuple[Foreign, str]] = ()
    ) -> None:
        self.module, self.names, self.nodes, self.constants = module, names, nodes, constants
        self.tensors: Tensors = {}  # values of parameters that are weights, by the name of the parameter
        self.originals: Names = {}  # their names in the model
        self.remarks: list[str] = []


class Namer:
    """Identifiers for names of a model, each once: `/fc1/MatMul_output_0` is `fc1_MatMul_output_0`."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_RESERVED, *taken}

    def name(self, text: str) -> str:
        """An identifier that no other name has."""
        word = WORD.sub("_", text).strip("_") or "value"
        word = f"v{word}" if word[0].isdigit() or keyword.iskeyword(word) else word
        found, number = word, 0
        while found in self._taken:
            number += 1
            found = f"{word}_{number}"
        self._taken.add(found)
        return found


def check_lengths(lengths: Mapping[str, int], names: set[str]) -> None:
    """Refuse a length that the model has not."""
    unknown = next((name for name in lengths if name not in names), None)
    if unknown is not None:
        has = ", ".join(sorted(names)) or "none"
        raise Refused("usage", f"--shape {unknown}: the model has no such length; it has {has}")


def is_value(value: Foreign) -> bool:
    """True for a variable of Relax that holds a tensor; lengths are variables, too."""
    return (
        type(value).__name__ in ("Var", "DataflowVar")
        and type(getattr(value, "ty", None)).__name__ == "TensorType"
    )
