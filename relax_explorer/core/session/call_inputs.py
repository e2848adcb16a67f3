"""What a user said of the inputs of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CallInputs:
    """What a user said of a call: the function (empty: the entry), sources of parameters, lengths of shape variables."""

    function: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, int] = field(default_factory=dict)
