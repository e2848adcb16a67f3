"""Damaged programs: any text is parsed or refused within a time limit, and a parsed program prints and parses again."""
