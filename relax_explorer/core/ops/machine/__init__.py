"""Operators that the machine runs itself: calls, effects, storages, views, and questions about a tensor in memory."""
