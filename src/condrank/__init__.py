"""Conditional ranking on relational data.

Given objects with features (nodes) and some known relation values between them (edges), learn to rank any
objects conditioned on any object, also ones never seen in training.

Names are imported when they are first used, so ``import condrank`` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from condrank._version import __version__

if TYPE_CHECKING:
    from condrank import baselines, datasets, diagnosis, metrics, model_selection
    from condrank.diagnosis import diagnose
    from condrank.estimators import ConditionalRanker
    from condrank.graph import RelationGraph
    from condrank.model_selection.search import ConditionalRankerCV
    from condrank.node_transformer import NodeTransformer
    from condrank.ranking import Ranking

_HOME = {
    "ConditionalRanker": "condrank.estimators",
    "ConditionalRankerCV": "condrank.model_selection.search",
    "NodeTransformer": "condrank.node_transformer",
    "RelationGraph": "condrank.graph",
    "Ranking": "condrank.ranking",
    "diagnose": "condrank.diagnosis",
}
_MODULES = ("baselines", "datasets", "diagnosis", "metrics", "model_selection")

__all__ = [
    "ConditionalRanker",
    "ConditionalRankerCV",
    "NodeTransformer",
    "Ranking",
    "RelationGraph",
    "__version__",
    "baselines",
    "datasets",
    "diagnose",
    "diagnosis",
    "metrics",
    "model_selection",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"condrank.{name}")
    raise AttributeError(f"module 'condrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
