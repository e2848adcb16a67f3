"""Break rules of the checker and the passes one at a time, and see which tests fail: `python -m tests.mutants`."""
