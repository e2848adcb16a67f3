"""Benchmarks: ratios against Apache TVM, measured in one run by `python -m tests.perf`."""
