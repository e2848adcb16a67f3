"""Exported programs of PyTorch that tests make: the models of `models.py`. Run as a program, since a test process imports no PyTorch.

Usage: python -m tests.support.torch_models NAME FILE.pt2
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

HIDDEN, HEADS = 16, 2
Exported = tuple[Any, tuple[Any, ...], Any]
"""A module, its example inputs, and which of their lengths are free."""


def mlp(torch: Any) -> Exported:
    """Two linear layers, and a batch of any length."""
    nn = torch.nn
    return (
        nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)),
        (torch.randn(3, 16),),
        ({0: _free(torch, "batch")},),
    )


def cnn(torch: Any) -> Exported:
    """A residual CNN with batch norm."""
    nn = torch.nn

    class Cnn(nn.Module):  # type: ignore[misc,name-defined]  # PyTorch has no types here
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
            )
            self.block = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8))
            self.head = nn.Linear(8, 4)
            self.block[1].running_mean.uniform_(-1, 1)

        def forward(self, image: Any) -> Any:
            x = self.stem(image)
            return self.head(torch.relu(self.block(x) + x).mean((2, 3)))

    return Cnn(), (torch.randn(2, 3, 8, 8),), None


def bert(torch: Any) -> Exported:
    """A layer of a transformer, and a sequence of any length."""
    nn = torch.nn

    class Bert(nn.Module):  # type: ignore[misc,name-defined]  # likewise
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, HIDDEN)
            self.query, self.key, self.value = [nn.Linear(HIDDEN, HIDDEN) for _ in range(3)]
            self.norm, self.up, self.down = nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, 64), nn.Linear(64, HIDDEN)

        def forward(self, ids: Any) -> Any:
            x = self.embed(ids)
            parts = [
                layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                for layer in (self.query, self.key, self.value)
            ]
            mixed = nn.functional.scaled_dot_product_attention(*parts)
            x = self.norm(x + mixed.transpose(1, 2).flatten(2))
            return x + self.down(nn.functional.gelu(self.up(x)))

    return Bert(), (torch.randint(0, 4, (1, 5)),), ({1: _free(torch, "seq")},)


def decoder(torch: Any) -> Exported:
    """One step of a decoder, which puts keys and values behind those of the past."""
    nn = torch.nn

    class Decoder(nn.Module):  # type: ignore[misc,name-defined]  # likewise
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(20, HIDDEN), nn.Linear(HIDDEN, 20)
            self.query, self.key, self.value = [nn.Linear(HIDDEN, HIDDEN) for _ in range(3)]

        def forward(self, ids: Any, past_key: Any, past_value: Any) -> Any:
            x = self.embed(ids)
            query, key, value = [
                layer(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                for layer in (self.query, self.key, self.value)
            ]
            key, value = torch.cat([past_key, key], 2), torch.cat([past_value, value], 2)
            mixed = torch.softmax(query @ key.transpose(2, 3) / 8**0.5, -1) @ value
            return self.head(x + mixed.transpose(1, 2).flatten(2)), key, value

    keys, values = [torch.randn(1, HEADS, 5, HIDDEN // HEADS) for _ in range(2)]
    length = _free(torch, "past")
    return Decoder(), (torch.randint(0, 4, (1, 1)), keys, values), ({}, {2: length}, {2: length})


def _free(torch: Any, name: str) -> Any:
    return torch.export.Dim(name, min=1, max=64)


TORCH: dict[str, Callable[[Any], Exported]] = {"mlp": mlp, "cnn": cnn, "bert": bert, "decoder": decoder}


def main() -> None:
    """Export a model to a file."""
    torch = importlib.import_module("torch")
    torch.manual_seed(3)
    module, inputs, lengths = TORCH[sys.argv[1]](torch)
    with torch.no_grad():
        torch.export.save(torch.export.export(module.eval(), inputs, dynamic_shapes=lengths), sys.argv[2])


if __name__ == "__main__":
    main()
