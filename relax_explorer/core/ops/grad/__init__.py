"""Gradients of operators, inserted by the pass Gradient."""
