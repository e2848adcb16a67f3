"""Pictures for terminals: PNGs are decoded as they were encoded, kitty gets them whole, sixel draws their pixels."""

from __future__ import annotations

import base64
import re
import struct
import zlib

import numpy as np
import pytest

from relax_explorer.viz.terminal_picture import (
    ASK,
    NoPicture,
    Speech,
    fitted,
    pixels,
    shown_picture,
    speech,
)

KITTY = b"\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;c"
SIXEL = b"\x1b[6;18;9t\x1b[?62;4;22c"
NEITHER = b"\x1b[?62;22c"


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def encoded(picture: np.ndarray, filters: list[int], kind: int = 6, depth: int = 8) -> bytes:
    """A PNG whose rows have these filters in turn, by the definition of the filters, one byte after the other."""
    height, width, channels = picture.shape
    above, lines = [0] * (width * channels), b""
    for y in range(height):
        row, how = picture[y].reshape(-1).tolist(), filters[y % len(filters)]
        line = []
        for n, value in enumerate(row):
            a = row[n - channels] if n >= channels else 0
            b, c = above[n], above[n - channels] if n >= channels else 0
            nearest = min((a, b, c), key=lambda item, a=a, b=b, c=c: abs(a + b - c - item))
            line.append((value - (0, a, b, (a + b) // 2, nearest)[how]) % 256)
        lines += bytes([how, *line])
        above = row
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    data = zlib.compress(lines)
    half = len(data) // 2
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", data[:half])
        + chunk(b"IDAT", data[half:])
        + chunk(b"IEND", b"")
    )


def noise(height: int, width: int, channels: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, channels), dtype=np.uint8)


@pytest.mark.parametrize(("kind", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)])
@pytest.mark.parametrize("filters", [[0], [1], [2], [3], [4], [4, 3, 2, 1, 0]])
@pytest.mark.parametrize("size", [(7, 5), (1, 9), (9, 1), (1, 1)])
def test_pixels_are_those_that_were_encoded(
    kind: int, channels: int, filters: list[int], size: tuple[int, int]
) -> None:
    picture = noise(*size, channels)
    if channels in (2, 4):
        picture[..., -1] = 255
    found = pixels(encoded(picture, filters, kind))
    expected = picture[..., : 3 if channels > 2 else 1]
    assert found.shape == (*size, 3)
    assert (found == expected).all()


def test_what_is_transparent_is_white() -> None:
    picture = np.array([[[0, 0, 0, 0], [0, 0, 0, 255], [0, 0, 0, 51]]], np.uint8)
    assert pixels(encoded(picture, [0])).tolist() == [[[255] * 3, [0] * 3, [204] * 3]]


@pytest.mark.parametrize(
    ("reply", "spoken"),
    [
        (KITTY, Speech("kitty", 10, 20)), (SIXEL, Speech("sixel", 9, 18)), (NEITHER, Speech("")), (b"", Speech("")),
        (b"\x1b[?4c", Speech("")), (b"\x1b[?64;14;40c", Speech("")), (b"\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?62;4c", Speech("sixel")),
        (b"\x1b[6;0;0t\x1b[?62;4c", Speech("sixel", 1, 1)),
    ],
)  # fmt: skip
def test_what_a_terminal_speaks(reply: bytes, spoken: Speech) -> None:
    """The first number tells the class of the terminal, so a 4 there means nothing."""
    assert speech(reply) == spoken
    assert ASK.endswith(b"\x1b[c")


def test_kitty_gets_the_png_in_pieces_and_cells() -> None:
    png = encoded(noise(60, 90, 3), [0], 2)
    shown = shown_picture(png, Speech("kitty", 10, 20), 4, 10)
    pieces = re.findall(rb"\x1b_G([^;]*);([^\x1b]*)\x1b\\", shown)
    assert b"".join(b"\x1b_G" + keys + b";" + data + b"\x1b\\" for keys, data in pieces) == shown
    assert base64.b64decode(b"".join(data for _, data in pieces)) == png
    assert all(len(data) <= 4096 for _, data in pieces)
    assert [keys[-3:] for keys, _ in pieces] == [*[b"m=1"] * (len(pieces) - 1), b"m=0"][: len(pieces)]
    assert len(pieces) > 1
    assert pieces[0][0].startswith(b"a=T,f=100,q=2,c=4,r=1,")
    assert b",c=9,r=3," in shown_picture(png, Speech("kitty", 10, 20), 80, 24), "no larger than it is"


def drawn(sixel: bytes, height: int, width: int) -> np.ndarray:
    """The pixels that a terminal draws, by the definition of sixel."""
    assert sixel.startswith(b"\x1bPq")
    assert sixel.endswith(b"\x1b\\")
    made = np.full((height, width, 3), -1)
    colours: dict[int, list[int]] = {}
    top = left = colour = 0
    for part in re.findall(rb'"[0-9;]*|#[0-9;]+|![0-9]+.|[?-~]|[$-]', sixel[3:-2], re.DOTALL):
        if part[:1] == b"#":
            colour, *rest = [int(n) for n in part[1:].split(b";")]
            if rest:
                colours[colour] = rest[1:]
        elif part in (b"$", b"-"):
            top, left = top + 6 * (part == b"-"), 0
        elif part[:1] != b'"':
            count, bits = (int(part[1:-1]), part[-1] - 63) if part[:1] == b"!" else (1, part[0] - 63)
            for row in range(6):
                if bits >> row & 1:
                    made[top + row, left : left + count] = colours[colour]
            left += count
    return made


@pytest.mark.parametrize("size", [(6, 8), (13, 7), (1, 1), (5, 40)])
def test_sixel_draws_the_pixels(size: tuple[int, int]) -> None:
    steps = np.array([0, 51, 102, 153, 204, 255], np.uint8)
    picture = steps[np.random.default_rng(3).integers(0, 6, (*size, 3))]
    picture[:, : size[1] // 2] = 255  # runs
    shown = shown_picture(encoded(picture, [0], 2), Speech("sixel", 10, 20), 80, 24)
    assert (drawn(shown, *size) == picture.astype(int) * 100 // 255).all()


def test_a_large_picture_is_made_smaller() -> None:
    picture = np.zeros((30, 20, 3), np.uint8)
    picture[:15] = 200
    small = fitted(picture, 10, 10)
    assert small.shape == (10, 6, 3)
    assert (small[:5] == 200).all()
    assert (small[5:] == 0).all()
    assert fitted(picture, 100, 100) is picture
    mean = fitted(np.array([[[0] * 3, [100] * 3]], np.uint8), 1, 1)
    assert mean.tolist() == [[[50] * 3]]


@pytest.mark.parametrize("protocol", ["sixel", "kitty", ""])
def test_what_is_no_picture_is_refused(protocol: str) -> None:
    good = encoded(noise(3, 3, 3), [0], 2)
    bad = [b"", b"\x89PNG\r\n\x1a\n", b"<svg/>", good[:16] + b"\xff" * 8 + good[24:]]
    if protocol == "sixel":
        bad += [
            good[:60],
            encoded(noise(3, 3, 3), [0], 2, 16),
            encoded(noise(3, 3, 1), [0], 3),
            encoded(noise(3, 3, 3), [0], 6),
        ]
    for png in bad:
        with pytest.raises(NoPicture):
            shown_picture(png, Speech(protocol), 80, 24)
