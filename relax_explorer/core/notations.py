"""The endings of files that hold no TVMScript."""

from __future__ import annotations

from pathlib import Path

RELATIONS, CONTRACTS = ".relay", ".shapes"
HOLDS = {
    RELATIONS: "a program in the notation of Relay's types",
    CONTRACTS: "a program with shape contracts",
}
"""What a file with such an ending holds."""


def is_contract(path: str) -> bool:
    """True for a file with shape contracts."""
    return Path(path).suffix == CONTRACTS
