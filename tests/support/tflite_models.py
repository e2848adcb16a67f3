"""A model of TFLite that tests write by hand: one addition of an input and a weight."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def addition(weight: np.ndarray[Any, Any]) -> bytes:
    """The model of `y = x + weight`, whose tensors are called `x`, `layer/weight` and `layer/y`."""
    tflite, builder = importlib.import_module("tflite"), importlib.import_module("flatbuffers").Builder(1024)

    def numbers(values: list[int]) -> Any:
        return builder.CreateNumpyVector(np.array(values, "int32"))

    def objects(places: list[Any], start: Any) -> Any:
        start(builder, len(places))
        for place in reversed(places):
            builder.PrependUOffsetTRelative(place)
        return builder.EndVector()

    def buffer(data: bytes) -> Any:
        held = builder.CreateNumpyVector(np.frombuffer(data, "uint8")) if data else None
        tflite.BufferStart(builder)
        if held is not None:
            tflite.BufferAddData(builder, held)
        return tflite.BufferEnd(builder)

    def tensor(name: str, place: int) -> Any:
        shape, text = numbers([*weight.shape]), builder.CreateString(name)
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, shape)
        tflite.TensorAddType(builder, tflite.TensorType.FLOAT32)
        tflite.TensorAddBuffer(builder, place)
        tflite.TensorAddName(builder, text)
        return tflite.TensorEnd(builder)

    buffers = objects([buffer(b""), buffer(weight.astype("<f4").tobytes())], tflite.ModelStartBuffersVector)
    tensors = [tensor(name, place) for name, place in (("x", 0), ("layer/weight", 1), ("layer/y", 0))]
    listed = objects(tensors, tflite.SubGraphStartTensorsVector)
    tflite.AddOptionsStart(builder)
    options = tflite.AddOptionsEnd(builder)
    ins, outs = numbers([0, 1]), numbers([2])
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, 0)
    tflite.OperatorAddInputs(builder, ins)
    tflite.OperatorAddOutputs(builder, outs)
    tflite.OperatorAddBuiltinOptionsType(builder, tflite.BuiltinOptions.AddOptions)
    tflite.OperatorAddBuiltinOptions(builder, options)
    operators = objects([tflite.OperatorEnd(builder)], tflite.SubGraphStartOperatorsVector)
    given, results = numbers([0]), numbers([2])
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, listed)
    tflite.SubGraphAddInputs(builder, given)
    tflite.SubGraphAddOutputs(builder, results)
    tflite.SubGraphAddOperators(builder, operators)
    graphs = objects([tflite.SubGraphEnd(builder)], tflite.ModelStartSubgraphsVector)
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddBuiltinCode(builder, tflite.BuiltinOperator.ADD)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, tflite.BuiltinOperator.ADD)
    codes = objects([tflite.OperatorCodeEnd(builder)], tflite.ModelStartOperatorCodesVector)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())
