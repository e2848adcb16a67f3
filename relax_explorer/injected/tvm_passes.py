"""In a child with TVM: applies passes of TVM, and of the user, to modules that come and go as text.

A module that a pass gave stays here under a key, so that the next pass takes it as it is: TVM does not read all that it prints. Large
constants stand beside the text, as arrays of bytes; the text has `rxe:DIGEST:HEAD` in their place, where HEAD is the beginning of
TVM's own form of a tensor.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import os
import re
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import transform

if TYPE_CHECKING:
    from relax_explorer.injected.answering import Answer, Foreign, Parts, Refused
else:
    from answering import Foreign, Refused

MOST_MODULES = 64
_TENSOR = re.compile(r"P6G0lvBAXt0A[A-Za-z0-9+/=\\]{1400,}(?<!\\)")
"""A constant of a kilobyte or more in the text of a module: a DLTensor in base64, which begins with its magic number.

Backslashes stand before its slashes.
"""
_BESIDE = re.compile(r"rxe:([0-9a-f]{40}):([A-Za-z0-9+/=]+)")
_HOMES = (
    "relax.transform",
    "relax.backend",
    "ir.transform",
    "tirx.transform",
    "s_tir.transform",
    "tir.transform",
)
"""Where passes of TVM are looked for, in this order; some are only in some versions."""
_MODULES: dict[str, Foreign] = {}  # by key, the ones that were used last at the end


# -- modules ---------------------------------------------------------------------------------------------------------


def _kept(module: Foreign) -> str:
    key = f"m{next(_NUMBERS)}"
    _MODULES[key] = module
    while len(_MODULES) > MOST_MODULES:
        del _MODULES[next(iter(_MODULES))]
    return key


_NUMBERS = itertools.count(1)


def _given(key: str, parts: Mapping[str, bytes]) -> Foreign:
    """The module under a key, or that of a text."""
    if key:
        if key not in _MODULES:
            raise Refused("unknown-module", "the module is no longer here")
        _MODULES[key] = module = _MODULES.pop(key)
        return module
    arrays = _arrays(parts.get("arrays"))

    def tensor(found: re.Match[str]) -> str:
        data = base64.b64decode(found[2]) + arrays[found[1]].tobytes()
        return base64.b64encode(data).decode()

    text = _BESIDE.sub(tensor, parts["text"].decode("utf-8", "surrogatepass"))
    try:
        return tvm.script.from_source(text, check_well_formed=False)
    except Exception as error:
        raise Refused("not-read", f"{type(error).__name__}: {error}") from error


def _arrays(data: bytes | None) -> dict[str, Foreign]:
    if not data:
        return {}
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _printed(module: Foreign, known: Sequence[str]) -> Parts:
    """A module as text, with the large constants that the process that asks does not know."""
    found: dict[str, Foreign] = {}

    def beside(match: re.Match[str]) -> str:
        raw = base64.b64decode(match[0].replace("\\", ""))
        start = 40 + 8 * struct.unpack_from("<i", raw, 24)[0]
        data = np.frombuffer(raw, np.uint8, offset=start)
        digest = hashlib.blake2b(raw, digest_size=20).hexdigest()
        if digest not in known:
            found[digest] = data
        return f"rxe:{digest}:{base64.b64encode(raw[:start]).decode()}"

    text = _TENSOR.sub(beside, module.script(show_meta=True))
    parts = {"text": text.encode("utf-8", "backslashreplace")}
    if found:
        file = io.BytesIO()
        np.savez(file, **found)
        parts["arrays"] = file.getvalue()
    return parts


def _is_same(new: Foreign, old: Foreign) -> bool:
    """True if a pass changed nothing, not even a name."""
    if new.same_as(old):
        return True
    equal = tvm_ffi.structural_equal(new, old, map_free_vars=True)
    return bool(equal) and new.script() == old.script()


# -- passes of TVM ---------------------------------------------------------------------------------------------------


def _found(name: str) -> Foreign:
    """What makes a pass of TVM. Raises Refused with similar names."""
    for home in ("", *_HOMES):
        value = _attribute(tvm, f"{home}.{name}".strip("."))
        if value is not None and callable(value) and (home or "." in name):
            return value
    near = difflib.get_close_matches(name, [*_names(), *_pipelines()], 3)
    raise Refused(
        "unknown-pass", f"TVM {tvm.__version__} has no pass {name!r}", near=[f"tvm:{item}" for item in near]
    )


def _attribute(value: Foreign, path: str) -> Foreign:
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _names() -> list[str]:
    """The passes of TVM by name; those of a later home behind those of an earlier one."""
    found: dict[str, None] = {}
    for home in _HOMES:
        for name, value in vars(_attribute(tvm, home) or object).items():
            is_pass = inspect.isfunction(value) or (
                inspect.isclass(value) and issubclass(value, transform.Pass)
            )
            if (
                name[:1].isupper() and is_pass and not name.endswith(("Pass", "Sequential"))
            ):  # classes to derive from
                found[name] = None
    return list(found)


def _made(make: Foreign, options: Mapping[str, Foreign], name: str) -> Foreign:
    """A pass with its options. Raises Refused for an option that it does not take."""
    with contextlib.suppress(ValueError):  # some tell no signature
        signature = inspect.signature(make)
        try:
            signature.bind(**options)
        except TypeError as error:
            takes = [item.name for item in signature.parameters.values()]
            raise Refused("bad-option", f"{name}: {error}", takes=takes) from None
    found = make(**options)
    if not isinstance(found, transform.Pass):
        raise Refused("unknown-pass", f"{name} makes no pass, but {type(found).__name__}", near=[])
    return found


def _of_tvm(name: str, options: Mapping[str, Foreign]) -> Foreign:
    pipeline, slash, stage = name.partition("/")
    if not slash:
        known = _pipelines()
        return _made(known[name] if name in known else _found(name), options, name)
    found = dict(_stages(pipeline, options))
    if stage not in found:
        near = difflib.get_close_matches(stage, found, 3) or list(found)
        raise Refused(
            "unknown-pass",
            f"the pipeline {pipeline} has no pass {stage!r}",
            near=[f"tvm:{pipeline}/{n}" for n in near],
        )
    return transform.Sequential(
        [found[stage]]
    )  # which leaves out what the context does not enable, as in the pipeline


# -- pipelines -------------------------------------------------------------------------------------------------------


def _pipelines() -> dict[str, Callable[..., Foreign]]:
    """TVM's pipelines by name, and the one for a processor."""

    def default_cpu() -> Foreign:
        """The pipeline of tvm.compile for a processor."""
        return relax.get_default_pipeline(_target())

    return {**relax.pipeline.PIPELINE_MAP, "default_cpu": default_cpu}


def _stages(name: str, options: Mapping[str, Foreign]) -> list[tuple[str, Foreign]]:
    """The passes inside of a pipeline, by names of which none is twice: it is watched while it runs on an empty module."""
    known = _pipelines()
    if name not in known:
        near = difflib.get_close_matches(name, [*known, *_names()], 3)
        raise Refused(
            "unknown-pass",
            f"TVM {tvm.__version__} has no pipeline {name!r}",
            near=[f"tvm:{item}" for item in near],
        )
    found: list[tuple[str, Foreign]] = []
    with _watched() as seen, _target():
        _made(known[name], options, name)(tvm.IRModule({}))
    for item in seen:
        label = str(item.info.name)
        twice = sum(other.partition("#")[0] == label for other, _ in found)
        found.append((f"{label}#{twice + 1}" if twice else label, item))
    return found


@contextlib.contextmanager
def _watched() -> Iterator[list[Foreign]]:
    """The passes that run meanwhile and run no others, in order."""
    seen: list[Foreign] = []
    old = transform.Pass.__call__

    def call(of: Foreign, module: Foreign) -> Foreign:
        if isinstance(of, transform.Sequential):
            for item in of.passes:
                module = call(item, module)
            return module
        before = len(seen)
        module = old(of, module)
        if len(seen) == before:
            seen.append(of)
        return module

    transform.Pass.__call__ = call
    try:
        yield seen
    finally:
        transform.Pass.__call__ = old


_CHOSEN = ["llvm"]  # the target under which passes run


def _target() -> Foreign:
    """The target, by its kind, its tag, or as JSON."""
    text = _CHOSEN[0]
    try:
        return tvm.target.Target(json.loads(text) if text.startswith("{") else text)
    except Exception as error:
        words = f"{type(error).__name__}: {error}".strip().splitlines()
        raise Refused(
            "bad-target", f"{text[:200]!r} is no target of TVM {tvm.__version__}: {words[-1]}"
        ) from error


# -- passes of the user ----------------------------------------------------------------------------------------------

_READ: dict[str, tuple[ModuleType, int]] = {}  # modules of the user with the time of their file


def _of_user(name: str, options: Mapping[str, Foreign]) -> Foreign:
    """The pass that `my_module:my_pass` names: a pass of TVM, a function of a module, or what makes one of these."""
    place, _, path = name.rpartition(":")
    value: Foreign = _module(place)
    for part in path.split("."):
        if not hasattr(value, part):
            near = [f"{place}:{item}" for item in difflib.get_close_matches(part, dir(value), 3)]
            raise Refused("unknown-pass", f"{place} has no {path!r}", near=near)
        value = getattr(value, part)
    if isinstance(value, transform.Pass):
        if options:
            raise Refused("bad-option", f"{name} is a pass already, and takes no options", takes=[])
        return value
    if not callable(value):
        raise Refused("not-a-pass", f"{name} is no pass, but {type(value).__name__}")
    if inspect.isclass(value) or not _takes_module(value):
        made = value(**options)
        return made if callable(made) else lambda module: made
    return functools.partial(value, **options)


def _takes_module(function: Callable[..., Foreign]) -> bool:
    """True for a function with a parameter that must be given: the module."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = inspect.signature(function).parameters.values()
    return any(item.kind in kinds and item.default is item.empty for item in found)


def _module(place: str) -> ModuleType:
    """A module of the user, by its name or its file. It is read again if the file is another one since."""
    known = _READ.get(place)
    if known is not None and _time(known[0]) == known[1]:
        return known[0]
    if place.endswith(".py"):
        found = _from_file(place)
    else:
        found = _imported(place, known is not None)
    _READ[place] = found, _time(found)
    return found


def _time(module: ModuleType) -> int:
    try:
        return os.stat(str(module.__file__)).st_mtime_ns
    except OSError:
        return 0


def _from_file(place: str) -> ModuleType:
    if not os.path.isfile(place):
        raise Refused("unknown-pass", f"there is no file {place}", near=[])
    name = os.path.splitext(os.path.basename(place))[0]
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def _imported(place: str, again: bool) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # the user named a module: it may lie here, but never in place of another one
    importlib.invalidate_caches()
    try:
        return importlib.reload(sys.modules[place]) if again else importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and f"{place}.".startswith(f"{error.name}."):
            text = f"{sys.executable} finds no module {place!r}, neither installed nor in {here}"
            raise Refused("unknown-pass", text, near=[]) from None
        raise


# -- questions -------------------------------------------------------------------------------------------------------


def ask_apply(
    name: str, options: dict[str, Foreign], key: str, known: Sequence[str], target: str, parts: Parts
) -> Answer:
    """The module after a pass, and the key under which it stays here; no text if the pass changed nothing."""
    times, _CHOSEN[0] = [time.perf_counter()], target
    before = _given(key, parts)
    key = key or _kept(before)
    times.append(time.perf_counter())
    options |= {item[7:]: _arrays(data) for item, data in parts.items() if item.startswith("option:")}
    of = name.removeprefix("tvm:")
    with _target():
        run = _of_tvm(of, options) if of != name else _of_user(name, options)
        after = run(_copy(before))
        if isinstance(after, transform.Pass):
            after = after(_copy(before))
    if not isinstance(after, tvm.IRModule):
        raise Refused("not-a-module", type(after).__name__)
    times.append(time.perf_counter())
    is_same = _is_same(after, before)
    made = {} if is_same else _printed(after, known)
    times.append(time.perf_counter())
    seconds = [b - a for a, b in itertools.pairwise(times)]
    return {
        "unchanged": is_same,
        "before": key,
        "key": key if is_same else _kept(after),
        "seconds": seconds,
    }, made


def _copy(module: Foreign) -> Foreign:
    """A module of the same functions: a pass may write into the one that it gets."""
    return tvm.IRModule(dict(module.functions_items()), attrs=module.attrs, global_infos=module.global_infos)


def ask_stages(name: str, options: dict[str, Foreign], target: str, parts: Parts) -> Answer:
    """The names of the passes inside of a pipeline; none of what is no pipeline."""
    _CHOSEN[0] = target
    return [label for label, _ in _stages(name, options)] if name in _pipelines() else [], {}


def ask_names(parts: Parts) -> Answer:
    """The pipelines and the passes, each with the first line of its page."""
    found = [*_pipelines().items(), *((name, _found(name)) for name in _names())]
    return [[name, (inspect.getdoc(value) or "").split("\n")[0]] for name, value in found], {}


def ask_page(name: str, parts: Parts) -> Answer:
    """TVM's own page about a pass: its parameters and its text."""
    known = _pipelines()
    value = known[name] if name in known else _found(name)
    return {"signature": str(inspect.signature(value)), "text": inspect.getdoc(value) or ""}, {}


def ask_versions(parts: Parts) -> Answer:
    """The versions of what runs here."""
    python = ".".join(map(str, sys.version_info[:3]))
    return {
        "python": python,
        "tvm": str(tvm.__version__),
        "ffi": str(getattr(tvm_ffi, "__version__", "")),
    }, {}


def ask_smoke(parts: Parts) -> Answer:
    """Do what a pair of TVM and its ffi that does not fit crashes at: print constants, write JSON, compile and run."""
    x = relax.Var("x", relax.TensorType([2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(relax.op.add(x, relax.const(np.ones(2, "float32"))))
        builder.emit_func_output(output)
    module = builder.get()
    texts = [module.script(show_meta=True), tvm.ir.save_json(module)]
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(np.zeros(2, "float32"))).numpy()
    return {"characters": sum(map(len, texts)), "result": found.tolist()}, {}


QUESTIONS: dict[str, Callable[..., Answer]] = {
    "apply": ask_apply, "stages": ask_stages, "names": ask_names, "page": ask_page, "versions": ask_versions, "smoke": ask_smoke,
}  # fmt: skip
