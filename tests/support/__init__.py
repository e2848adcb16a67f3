"""Code shared by several tests: goldens, the oracle, and the rules about the project's own files."""
