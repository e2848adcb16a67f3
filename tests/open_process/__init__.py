"""A long-running process: it opens text after text, and keeps nothing of dropped ones."""
