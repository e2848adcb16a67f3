"""A process that stays open: it reads text after text, and keeps nothing of those that were dropped."""
