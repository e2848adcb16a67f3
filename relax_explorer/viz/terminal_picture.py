"""Pictures for terminals that show some: kitty's protocol takes a PNG as it is, sixel takes rows of six pixels in few colours.

Kitty's protocol: https://sw.kovidgoyal.net/kitty/graphics-protocol/. Sixel: DEC STD 070, chapter 9.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

Pixels = np.ndarray[Any, Any]

ASK = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + b"\x1b[16t" + b"\x1b[c"
"""Asks which protocol a terminal speaks, and how large its cells are. The last question is one that every terminal answers."""
ANSWERED = re.compile(rb"\x1b\[\?([0-9;]*)c")
_CELL = re.compile(rb"\x1b\[6;([0-9]{1,4});([0-9]{1,4})t")
_KITTY = re.compile(rb"\x1b_Gi=31;OK")
_SIXEL = b"4"  # among the attributes of a terminal
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK = 4096  # bytes in one piece of kitty's protocol
_LEVELS = 6  # of each colour in sixel
MOST_PIXELS = 1 << 26


class NoPicture(ValueError):
    """A PNG that cannot be shown."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What a terminal speaks: `kitty`, `sixel` or nothing (empty), and the pixels of a cell."""

    protocol: str = ""
    cell_width: int = 8
    cell_height: int = 16


def speech(reply: bytes) -> Speech:
    """What the answer to `ASK` tells. Without an answer, a terminal speaks nothing."""
    cell, attributes = _CELL.search(reply), ANSWERED.search(reply)
    sizes = (max(1, int(cell[2])), max(1, int(cell[1]))) if cell else (8, 16)
    if _KITTY.search(reply):
        return Speech("kitty", *sizes)
    has_sixel = attributes is not None and _SIXEL in attributes[1].split(b";")[1:]
    return Speech("sixel" if has_sixel else "", *sizes)


def shown_picture(png: bytes, spoken: Speech, columns: int, rows: int) -> bytes:
    """What shows a PNG in a terminal, no larger than so many cells. Raises NoPicture."""
    if spoken.protocol == "kitty":
        width, height = _size(png)
        room = (columns * spoken.cell_width, rows * spoken.cell_height)
        share = min(1.0, room[0] / width, room[1] / height)
        cells = (round(width * share / spoken.cell_width), round(height * share / spoken.cell_height))
        return _kitty(png, max(1, min(columns, cells[0])), max(1, min(rows, cells[1])))
    if spoken.protocol == "sixel":
        return _sixel(fitted(pixels(png), columns * spoken.cell_width, rows * spoken.cell_height))
    raise NoPicture("this terminal shows no pictures")


def _size(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG."""
    if not png.startswith(_SIGNATURE) or png[12:16] != b"IHDR" or len(png) < 33:
        raise NoPicture("the picture is not a PNG")
    width, height = struct.unpack(">II", png[16:24])
    if not 0 < width * height <= MOST_PIXELS:
        raise NoPicture(f"the picture has {width}×{height} pixels; e writes the graph as SVG")
    return width, height


def _kitty(png: bytes, columns: int, rows: int) -> bytes:
    """A PNG in pieces, to be shown at the cursor in so many cells."""
    data = base64.standard_b64encode(png)
    pieces = [data[n : n + _CHUNK] for n in range(0, len(data), _CHUNK)]
    head = f"a=T,f=100,q=2,c={columns},r={rows},".encode()
    last = len(pieces) - 1
    return b"".join(
        b"\x1b_G" + (head if n == 0 else b"") + f"m={int(n < last)};".encode() + piece + b"\x1b\\"
        for n, piece in enumerate(pieces)
    )


def pixels(png: bytes) -> Pixels:
    """The pixels of a PNG with 8 bits for each colour, on white: uint8, of shape (height, width, 3). Raises NoPicture.

    Filters: PNG specification, chapter 9. A pixel needs those on its left and above, so they are made diagonal by diagonal.
    """
    width, height = _size(png)
    depth, kind, _, _, interlaced = png[24:29]
    channels = {0: 1, 2: 3, 4: 2, 6: 4}.get(kind, 0)
    if depth != 8 or not channels or interlaced:
        raise NoPicture("the picture is a PNG of another form than Graphviz writes")
    try:
        raw = np.frombuffer(zlib.decompress(_data(png)), np.uint8).reshape(height, 1 + width * channels)
    except (zlib.error, ValueError, struct.error):
        raise NoPicture("the PNG is damaged") from None
    filters, rest = raw[:, 0], raw[:, 1:].reshape(height, width, channels).astype(np.int16)
    if filters.max() > 4:
        raise NoPicture("the PNG is damaged")
    made = np.zeros((height + 1, width + 1, channels), np.int16)
    for diagonal in range(height + width - 1):
        y = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        x = diagonal - y
        left, up, corner = made[y + 1, x], made[y, x + 1], made[y, x]
        guesses = (np.zeros_like(left), left, up, (left + up) >> 1, _paeth(left, up, corner))
        guess = np.choose(filters[y][:, None], guesses)
        made[y + 1, x + 1] = (rest[y, x] + guess) & 255
    return _on_white(made[1:, 1:])


def _paeth(left: Pixels, up: Pixels, corner: Pixels) -> Pixels:
    """Of three neighbours, the one nearest to left + up - corner."""
    best = left + up - corner
    to_left, to_up, to_corner = abs(best - left), abs(best - up), abs(best - corner)
    is_left = (to_left <= to_up) & (to_left <= to_corner)
    return np.where(is_left, left, np.where(to_up <= to_corner, up, corner))


def _data(png: bytes) -> bytes:
    """The compressed pixels of a PNG."""
    found, at = [], 8
    while at + 8 <= len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            found.append(png[at + 8 : at + 8 + length])
        at += 12 + length
    return b"".join(found)


def _on_white(found: Pixels) -> Pixels:
    channels = found.shape[2]
    colours: Pixels = found[..., : 3 if channels > 2 else 1].astype(np.float32)
    if channels in (2, 4):
        share: Pixels = found[..., -1:].astype(np.float32) / 255
        colours = colours * share + 255 * (1 - share)
    return np.broadcast_to(np.round(colours).astype(np.uint8), (*found.shape[:2], 3))


def fitted(picture: Pixels, width: int, height: int) -> Pixels:
    """A picture that is no larger than so many pixels: each one is the mean of those that it stands for."""
    share = min(1.0, width / picture.shape[1], height / picture.shape[0])
    if share == 1.0:
        return picture
    goal = [max(1, int(size * share)) for size in picture.shape[:2]]
    made: Pixels = picture.astype(np.float64)
    for axis, size in enumerate(goal):
        starts = np.arange(size) * picture.shape[axis] // size
        counts = np.diff([*starts, picture.shape[axis]]).reshape([-1 if n == axis else 1 for n in range(3)])
        sums: Pixels = np.add.reduceat(made, starts, axis)
        made = sums / counts
    return np.round(made).astype(np.uint8)


def _sixel(picture: Pixels) -> bytes:
    """A picture as sixel: 216 colours, rows of six pixels, repeated columns counted."""
    height, width = picture.shape[:2]
    levels = (picture.astype(np.uint16) * (_LEVELS - 1) + 127) // 255
    numbers = (levels[..., 0] * _LEVELS + levels[..., 1]) * _LEVELS + levels[..., 2]
    parts = [b"\x1bPq", f'"1;1;{width};{height}'.encode()]
    for number in np.unique(numbers).tolist():
        red, green, blue = [number // _LEVELS**n % _LEVELS * 100 // (_LEVELS - 1) for n in (2, 1, 0)]
        parts.append(f"#{number};2;{red};{green};{blue}".encode())
    weights = 1 << np.arange(6)
    for top in range(0, height, 6):
        band = numbers[top : top + 6]
        lines = [
            f"#{number}".encode() + _counted(((band == number) * weights[: len(band), None]).sum(0))
            for number in np.unique(band).tolist()
        ]
        parts += [b"$".join(lines), b"-"]
    return b"".join([*parts, b"\x1b\\"])


def _counted(columns: Pixels) -> bytes:
    """Columns of six pixels as characters, with runs of four and more counted."""
    ends = np.flatnonzero(np.diff(columns)) + 1
    starts = [0, *ends.tolist()]
    lengths = np.diff([*starts, len(columns)]).tolist()
    parts = []
    for start, length in zip(starts, lengths, strict=True):
        mark = bytes([63 + int(columns[start])])
        parts.append(mark * length if length < 4 else f"!{length}".encode() + mark)
    return b"".join(parts)
