"""Reads exported programs of PyTorch for TVM, and runs them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from relax_explorer.injected.answering import Foreign, Refused
    from relax_explorer.injected.model_parts import (
        Found,
        Namer,
        Names,
        Tensors,
        check_lengths,
        front_end,
        is_value,
        package,
    )
else:
    from answering import Refused
    from model_parts import Found, Namer, Names, Tensors, check_lengths, front_end, is_value, package


class _Bytes:
    """A tensor of PyTorch as the bytes and the dtype that a file takes."""

    def __init__(self, torch: Foreign, tensor: Foreign) -> None:
        plain = tensor.detach().cpu().contiguous()
        self.dtype = str(tensor.dtype).removeprefix("torch.")
        self.shape = tuple(plain.shape)
        self._array = (plain.view(torch.int16) if self.dtype == "bfloat16" else plain).numpy()
        self.nbytes = self._array.nbytes

    def __array__(self, dtype: object = None, copy: object = None) -> Foreign:
        return self._array


def _exported(path: str) -> tuple[Foreign, Foreign]:
    """PyTorch, and the program in a `.pt2` file."""
    torch = package("torch")
    try:
        return torch, torch.export.load(path)
    except Exception as error:  # noqa: BLE001  # zip, JSON and schemas
        text = (str(error).strip().splitlines() or [""])[0][:300]
        raise Refused(
            "unreadable", f"{path} is no exported program, or damaged: {type(error).__name__}: {text}"
        ) from None


def _layer(node: Foreign) -> str:
    """The module that a node comes from: `layers.0.fc1`."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    return "" if path.startswith("empty_nn_module_stack") else path  # PyTorch's word for none


def torch_names(program: Foreign) -> Names:
    """The variable for the value of each node: that of its module and its operator."""
    namer = Namer(node.name for node in program.graph.nodes if node.op == "placeholder")
    names = {}
    for node in program.graph.nodes:
        if node.op == "call_function":
            operator = str(getattr(node.target, "__name__", node.target)).partition(".")[0]
            names[node.name] = namer.name(f"{_layer(node)}.{operator}")
    return names


def program(path: str, lengths: Mapping[str, int]) -> Found:
    """What TVM makes of an exported program of PyTorch."""
    _, exported = _exported(path)
    front, tvm = front_end("torch.exported_program_translator"), package("tvm")
    program = exported.run_decompositions()
    importer = front.ExportedProgramImporter()
    with _unbound(tvm) as bound:
        try:
            module = importer.from_exported_program(program, False, True, False, None)
        except Exception as error:  # noqa: BLE001  # converters of TVM raise anything
            text = (str(error).strip().splitlines() or [""])[-1][:300]
            raise Refused("unsupported", f"TVM's importer stops: {type(error).__name__}: {text}") from None
    names = torch_names(program)
    made: Names = {}
    for node, value in importer.env.items():
        if getattr(node, "name", None) in names and is_value(value):
            made.setdefault(value.name, names[node.name])
    results = [arg for node in program.graph.nodes if node.op == "output" for arg in node.args[0]]
    if len(results) == 1 and results[0].name in names:
        made["gv"] = f"{names[results[0].name]}_result"
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.target}
    namer = Namer(
        [*names.values(), *[param.name for param in module["main"].params if param.name not in bound]]
    )
    made |= {name: namer.name(targets[name]) for name in bound}
    found = Found(_with_lengths(tvm, module, lengths), made, len(names))
    found.tensors = {name: tensor.numpy() for name, tensor in bound.items()}
    found.originals = {name: targets[name] for name in bound}
    return found


@contextlib.contextmanager
def _unbound(tvm: Foreign) -> Iterator[Tensors]:
    """Keep TVM's importer from making constants of weights: they stay parameters, and stand in what this yields."""
    kept: Tensors = {}
    before = tvm.relax.transform.BindParams

    def keep(function: str, values: Tensors) -> Callable[[Foreign], Foreign]:
        kept.update(values)
        return lambda module: module

    tvm.relax.transform.BindParams = keep
    try:
        yield kept
    finally:
        tvm.relax.transform.BindParams = before


def _with_lengths(tvm: Foreign, module: Foreign, lengths: Mapping[str, int]) -> Foreign:
    """A module in which lengths with names have these values."""
    if not lengths:
        return module
    names = {var.name for var in tvm.relax.analysis.free_symbolic_vars(module["main"])}
    names |= {var.name for var in tvm.relax.analysis.defined_symbolic_vars(module["main"])}
    check_lengths(lengths, names)
    return tvm.relax.transform.BindSymbolicVars(
        {key: tvm.tirx.IntImm("int64", value) for key, value in lengths.items()}, "main"
    )(module)


def runner(path: str) -> Callable[[list[Foreign]], Tensors]:
    """What runs a program: all values of its nodes, and its results as `out0`, `out1` and so on."""
    torch, exported = _exported(path)
    program = exported.run_decompositions()
    names = torch_names(program)

    def run(values: list[Foreign]) -> Tensors:
        given = [_tensor(torch, value) for value in values]
        seen: Tensors = {}
        _interpreted(torch, program, given, seen)
        arrays = {names[name]: value for name, value in seen.items() if name in names}
        results = _interpreted(torch, exported, given, {})  # as the user exported it
        arrays |= {f"out{n}": value for n, value in enumerate(results) if isinstance(value, torch.Tensor)}
        return {name: _Bytes(torch, value) for name, value in arrays.items()}

    return run


def _tensor(torch: Foreign, array: Foreign) -> Foreign:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def _interpreted(torch: Foreign, program: Foreign, inputs: list[Foreign], seen: Tensors) -> list[Foreign]:
    """The results of a program for the user, node by node; `seen` gets every tensor on the way."""
    kinds = torch.export.graph_signature.InputKind
    state = {**dict(program.named_parameters()), **dict(program.named_buffers()), **program.constants}
    left = iter(inputs)
    arguments = [
        next(left) if spec.kind == kinds.USER_INPUT else state[spec.target]
        for spec in program.graph_signature.input_specs
    ]

    class Watched(torch.fx.Interpreter):
        def run_node(self, n: Foreign) -> Foreign:
            value = super().run_node(n)
            if isinstance(value, torch.Tensor):
                seen[n.name] = value.clone()
            return value

    with torch.no_grad():
        results = Watched(program.graph_module).run(*arguments, enable_io_processing=False)
    users = torch.export.graph_signature.OutputKind.USER_OUTPUT
    return [
        value
        for value, spec in zip(results, program.graph_signature.output_specs, strict=True)
        if spec.kind == users
    ]
