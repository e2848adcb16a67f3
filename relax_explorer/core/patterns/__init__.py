"""Dataflow patterns, in reading order: `pattern` (patterns as data, and their Python form), `pattern_text` (their text form),
`matcher` (one value against one pattern), `matches` (all matches in a function). `README.md` describes the text form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_explorer.core.later import later

if TYPE_CHECKING:
    from relax_explorer.core.patterns.matcher import Match, match
    from relax_explorer.core.patterns.matches import occurrences
    from relax_explorer.core.patterns.pattern import (
        Chain,
        Pattern,
        has_attr,
        has_dtype,
        is_call_dps_packed,
        is_call_packed,
        is_call_tir,
        is_const,
        is_dfv,
        is_expr,
        is_gv,
        is_op,
        is_shape,
        is_tuple,
        is_tuple_get_item,
        is_var,
        reject,
        wildcard,
    )
    from relax_explorer.core.patterns.pattern_text import read_pattern

__all__ = [
    "Chain",
    "Match",
    "Pattern",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "occurrences",
    "read_pattern",
    "reject",
    "wildcard",
]
_HOMES = {"Match": "matcher", "match": "matcher", "occurrences": "matches", "read_pattern": "pattern_text"}
__getattr__ = later(__name__, dict.fromkeys(__all__, "pattern") | _HOMES)
