"""Top-k search: objects are stored once and then ranked for many conditioning nodes, exactly or approximately."""

from condrank.index.objects import ObjectIndex

__all__ = ["ObjectIndex"]
