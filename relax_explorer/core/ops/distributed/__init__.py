"""Operators on tensors that several workers or devices share: collectives, sharding."""
