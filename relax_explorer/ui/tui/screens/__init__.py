"""The screens of the explorer, one module each."""
