"""The checks: normal form and inference, well-formedness, purity, phases, unused values. `module_check.py` asks them in order."""
