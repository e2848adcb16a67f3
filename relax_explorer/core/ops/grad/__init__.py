"""Gradients of operators, which the pass Gradient puts in."""
