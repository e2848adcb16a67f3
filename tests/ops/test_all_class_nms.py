"""Boxes are selected as ONNX defines NonMaxSuppression, whatever the sign of their scores."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

TEXT = """@I.ir_module
class M:
    @R.function
    def main(b: R.Tensor((2, 9, 4), "float32"), s: R.Tensor((2, 3, 9), "float32")):
        with R.dataflow():
            t = R.vision.all_class_non_max_suppression(
                b, s, R.const(MOST, "int64"), R.const(0.3, "float32"), R.const(LEAST, "float32"), output_format="onnx"
            )
            R.output(t)
        return t
"""


def _share(one: np.ndarray, other: np.ndarray) -> float:
    (low, high), (low_2, high_2) = (np.sort(box.reshape(2, 2), axis=0) for box in (one, other))
    common = np.prod(np.maximum(np.minimum(high, high_2) - np.maximum(low, low_2), 0))
    return float(common / (np.prod(high - low) + np.prod(high_2 - low_2) - common))


def _selected(boxes: np.ndarray, scores: np.ndarray, most: int, least: float) -> list[list[int]]:
    """The rows in the words of ONNX: a box is taken if it overlaps no box that was taken."""
    rows = []
    for image, label in np.ndindex(scores.shape[:2]):
        marks, taken = scores[image, label], []
        for box in np.argsort(-marks, kind="stable"):
            near = any(_share(boxes[image, box], boxes[image, other]) > 0.3 for other in taken)
            if len(taken) < most and marks[box] > least and not near:
                taken.append(box)
        rows += [[image, label, int(box)] for box in taken]
    return rows


@pytest.mark.parametrize(("most", "least"), [(9, -5.0), (2, -5.0), (9, -0.5), (9, 0.25), (0, -5.0)])
def test_the_selected_boxes_are_those_of_onnx(most: int, least: float) -> None:
    rng = np.random.default_rng(0)
    first = rng.random((2, 9, 2), np.float32)
    boxes = np.concatenate([first, first + 0.2 + rng.random((2, 9, 2), np.float32)], 2)
    scores = rng.standard_normal((2, 3, 9)).astype(np.float32)  # many are negative, some below -1
    wanted = _selected(boxes, scores, most, least)
    module = rxe.parse(TEXT.replace("MOST", str(most)).replace("LEAST", str(least)))
    for program in (module, rxe.apply_pass(module, "LegalizeOps")):
        rows, count = rxe.run(program, "main", [boxes, scores])
        assert rows.tolist() == wanted
        assert count.tolist() == [len(wanted)]
