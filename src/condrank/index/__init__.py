"""Top-k serving: objects held once, exactly or approximately searched, ranked for conditioning nodes as they come."""

from condrank.index.approximate import GraphSettings
from condrank.index.objects import ObjectIndex

__all__ = ["GraphSettings", "ObjectIndex"]
