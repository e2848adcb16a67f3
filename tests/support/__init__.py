"""What several tests share: goldens, the oracle, and the rules about the project's own files."""
