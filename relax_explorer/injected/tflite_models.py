"""Reads models of TFLite for TVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_explorer.injected.answering import Foreign, Refused
    from relax_explorer.injected.model_parts import (
        Found,
        Namer,
        Tensors,
        check_lengths,
        front_end,
        is_value,
        package,
    )
else:
    from answering import Refused
    from model_parts import Found, Namer, Tensors, check_lengths, front_end, is_value, package


def program(path: str, lengths: Mapping[str, int]) -> Found:
    """What TVM makes of a TFLite model."""
    tflite, front = package("tflite"), front_end("tflite.tflite_frontend")
    check_lengths(lengths, set())
    with open(path, "rb") as file:
        data = file.read()
    tables: list[Foreign] = []
    constants: list[tuple[Foreign, str]] = []
    try:
        model = tflite.Model.GetRootAsModel(data, 0)
        graph = model.Subgraphs(0)
        results = [
            graph.Tensors(graph.Outputs(n)).Name().decode("utf-8", "replace")
            for n in range(graph.OutputsLength())
        ]
        module = front.from_tflite(model, op_converter=_converter(front, tables, constants))
    except Exception as error:  # noqa: BLE001  # converters of TVM raise anything
        text = (str(error).strip().splitlines() or [""])[-1][:300]
        kind = "unsupported" if tables else "unreadable"
        raise Refused(kind, f"TVM's importer stops: {type(error).__name__}: {text}") from None
    namer = Namer(param.name for param in module["main"].params)
    values = tables[0].exprs.items()
    names = {value.name: namer.name(key) for key, value in values if is_value(value) and key != value.name}
    names |= {"gv": namer.name(results[0])} if len(results) == 1 else {}
    return Found(module, names, graph.OperatorsLength(), constants)


def _converter(
    front: Foreign, tables: list[Foreign], constants: list[tuple[Foreign, str]]
) -> Callable[..., Foreign]:
    """TVM's converter; it gets the names of constants, which its table of values does not keep."""

    def converter(model: Foreign, graph: Foreign, table: Foreign, builder: Foreign) -> Foreign:
        tables.append(table)
        own = table.new_const

        def new_const(*args: Foreign, source_name: bytes | None = None, **more: Foreign) -> Foreign:
            made = own(*args, source_name=source_name, **more)
            constants.append((made, (source_name or b"").decode("utf-8", "replace")))
            return made

        table.new_const = new_const
        return front.OperatorConverter(model, graph, table, builder)

    return converter


def runner(path: str) -> Callable[[list[Foreign]], Tensors]:
    """Refuses: TFLite's own interpreter tells no values on the way, and few have it."""
    raise Refused(
        "unsupported",
        f"{path}: a TFLite model is not run by its framework here",
        hint="compare the program with recorded values: --ref",
    )
