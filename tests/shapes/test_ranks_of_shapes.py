"""Shapes of any rank are wanted where no rank is said."""

from __future__ import annotations

from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.shapes.conditions import fits_without_lengths


def test_a_shape_of_a_rank_fits_any_rank() -> None:
    two, three, open_ = (s.ShapeStructInfo(None, rank) for rank in (2, 3, -1))
    assert fits_without_lengths(two, open_)
    assert fits_without_lengths(open_, two)
    assert not fits_without_lengths(two, three)
