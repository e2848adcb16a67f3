"""Operators of neural networks: activations, normalisations, convolutions, poolings, attention, losses."""
