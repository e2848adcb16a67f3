"""The screens of the explorer, one module each, and what opens over them."""
