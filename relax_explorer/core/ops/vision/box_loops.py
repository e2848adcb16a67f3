"""Loops over boxes and regions, element by element (`element_loops`). Each does what the function of NumPy with the same parameters does.

A compiler reads the texts, so they call NumPy and each other only.
"""

from __future__ import annotations

import numpy as np

from relax_explorer.core.ops.kit.ndarrays import Array


def shared(a: Array, b: Array, first: int) -> float:
    """`overlap` of two boxes whose corners begin at a column."""
    common, zero = side(a, b, first), a.dtype.type(0)
    common *= side(a, b, first + 1)
    whole = np.abs(a[first + 2] - a[first]) * np.abs(a[first + 3] - a[first + 1])
    whole = whole + np.abs(b[first + 2] - b[first]) * np.abs(b[first + 3] - b[first + 1]) - common
    share: float = zero if whole <= 0 else common / whole
    return share


def side(a: Array, b: Array, first: int) -> float:
    """The length of the common area of two boxes along an axis."""
    last = first + 2
    high = np.minimum(np.maximum(a[first], a[last]), np.maximum(b[first], b[last]))
    length: float = high - np.maximum(np.minimum(a[first], a[last]), np.minimum(b[first], b[last]))
    if length < 0:
        length = a.dtype.type(0)
    return length


def suppress_each(
    boxes: Array, named: Array, is_box: Array, score: int, first: int, most: int, near: float, label: int
) -> None:
    """Drop boxes that overlap a better one, in place."""
    for image in range(boxes.shape[0]):
        count = 0
        for j in range(boxes.shape[1]):
            best = boxes[image, j]
            if is_box[image, j] and best[score] > 0 and (count < most or most <= 0):
                count += 1
                suppress_others(boxes[image], named[image], is_box[image], j, score, first, near, label)
            else:
                best[:] = -1
                named[image, j] = -1


def suppress_others(
    boxes: Array, named: Array, is_box: Array, best: int, score: int, first: int, near: float, label: int
) -> None:
    """Drop boxes that overlap a box before them."""
    for k in range(best + 1, boxes.shape[0]):
        is_other = is_box[k] and boxes[k, score] > 0 and (label < 0 or boxes[k, label] == boxes[best, label])
        if is_other and shared(boxes[best], boxes[k], first) >= near:
            boxes[k, score] = -1
            named[k] = -1


def soften_each(
    boxes: Array, named: Array, is_box: Array, score: int, first: int, most: int, near: float, label: int,
    least: float, scale: float,
) -> Array:  # fmt: skip
    """Move the best remaining box to the front and lower the scores of boxes that overlap it. Returns the number of kept boxes."""
    counts = np.zeros(boxes.shape[0], np.int64)
    for image in range(boxes.shape[0]):
        rows, names, are_boxes = boxes[image], named[image], is_box[image]
        count = 0
        while count < boxes.shape[1] and (count < most or most <= 0):
            best = best_of(rows, names, are_boxes, count, score, least)
            if best < 0:
                break
            for column in range(boxes.shape[2]):
                rows[best, column], rows[count, column] = rows[count, column], rows[best, column]
            names[best], names[count] = names[count], names[best]
            soften_others(rows, names, are_boxes, count, score, first, near, label, least, scale)
            count += 1
        counts[image] = count
    return counts


def best_of(boxes: Array, named: Array, is_box: Array, start: int, score: int, least: float) -> int:
    """The first box with the best score from one on; -1 if none is left."""
    best = -1
    for k in range(start, boxes.shape[0]):
        is_left = is_box[k] and named[k] >= 0 and boxes[k, score] > least
        if is_left and (best < 0 or boxes[k, score] > boxes[best, score]):
            best = k
    return best


def soften_others(
    boxes: Array, named: Array, is_box: Array, best: int, score: int, first: int, near: float, label: int,
    least: float, scale: float,
) -> None:  # fmt: skip
    """Lower the scores of boxes that overlap a box before them, and drop those that come too near."""
    for k in range(best + 1, boxes.shape[0]):
        is_left = is_box[k] and named[k] >= 0 and boxes[k, score] > least
        if is_left and (label < 0 or boxes[k, label] == boxes[best, label]):
            share = shared(boxes[best], boxes[k], first)
            is_near = share >= near
            if not is_near:  # also where the share is NaN
                boxes[k, score] *= np.exp(scale * share * share)
            if is_near or boxes[k, score] <= least:
                named[k] = -1


def select_each(corners: Array, left: Array, most: int, near: float) -> Array:
    """Which boxes of each class are selected, of those that are left. Changes `left`."""
    kept = np.zeros(left.shape, np.bool_)
    for image in range(left.shape[0]):
        for label in range(left.shape[1]):
            boxes, remaining, count = corners[image, label], left[image, label], 0
            for j in range(left.shape[2]):
                if remaining[j] and count < most:
                    kept[image, label, j] = True
                    count += 1
                    for k in range(j + 1, left.shape[2]):
                        if remaining[k] and shared(boxes[j], boxes[k], 0) >= near:
                            remaining[k] = False
    return kept


def align_each(
    images: Array, image: Array, wy: Array, sy: Array, wx: Array, sx: Array, is_mean: bool
) -> Array:
    """The mean or maximum of the samples of each bin. A sample is the sum of the pixels near it, with weights."""
    regions, down, across = wy.shape[0], wy.shape[1], wx.shape[1]
    result = np.empty((regions, images.shape[1], down, across), images.dtype)
    for r in range(regions):
        tops, sides = spans(wy[r]), spans(wx[r])
        for c in range(images.shape[1]):
            for i in range(down):
                for j in range(across):
                    result[r, c, i, j] = align_bin(
                        images[image[r], c], wy[r, i], sy[r], tops[i], wx[r, j], sx[r], sides[j], is_mean
                    )
    return result


def align_bin(
    pixels: Array, wy: Array, sy: Array, tops: Array, wx: Array, sx: Array, sides: Array, is_mean: bool
) -> float:
    """The mean or maximum of the samples of one bin."""
    total: float = pixels.dtype.type(0)
    count = 0
    for g in range(len(sy)):
        for k in range(len(sx)):
            if sy[g] and sx[k]:
                value = pixels.dtype.type(0)
                for h in range(tops[g, 0], tops[g, 1]):
                    for w in range(sides[k, 0], sides[k, 1]):
                        value += wy[g, h] * pixels[h, w] * wx[k, w]
                total = total + value if is_mean else np.maximum(total, value) if count else value
                count += 1
    if is_mean:
        total = total / max(count, 1)
    elif not count:
        total = -np.finfo(pixels.dtype).max
    return total


def spans(weights: Array) -> Array:
    """The first pixel with a weight for each bin and sample, and the end behind the last one."""
    result = np.zeros((weights.shape[0], weights.shape[1], 2), np.int64)
    for i in range(weights.shape[0]):
        for g in range(weights.shape[1]):
            for h in range(weights.shape[2]):
                if weights[i, g, h] != 0:
                    result[i, g, 0] = result[i, g, 0] if result[i, g, 1] else h
                    result[i, g, 1] = h + 1
    return result


def pool_each(images: Array, image: Array, rows: Array, columns: Array) -> Array:
    """The maximum of the pixels in each bin; 0 for one without pixels."""
    result = np.zeros((len(rows), images.shape[1], rows.shape[1], columns.shape[1]), images.dtype)
    for r in range(len(rows)):
        for c in range(images.shape[1]):
            for i in range(rows.shape[1]):
                for j in range(columns.shape[1]):
                    result[r, c, i, j] = pool_bin(images[image[r], c], rows[r, i], columns[r, j])
    return result


def pool_bin(pixels: Array, rows: Array, columns: Array) -> float:
    """The maximum of the pixels in the rows and columns of a bin."""
    total: float = pixels.dtype.type(0)
    is_empty = True
    for h in range(len(rows)):
        if rows[h]:
            for w in range(len(columns)):
                if columns[w]:
                    total = pixels[h, w] if is_empty else np.maximum(total, pixels[h, w])
                    is_empty = False
    return total
