"""Conditional ranking on relational data.

The input is objects with features (nodes) and known relation values for some pairs of them (edges). A ranker learns
from both. It then ranks any objects for any object, including objects that were not in training.

Names are imported on first use, so ``import condrank`` takes almost no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from condrank._version import __version__

if TYPE_CHECKING:
    from condrank import (
        baselines,
        datasets,
        diagnosis,
        distributed,
        index,
        metrics,
        model_selection,
        plots,
        tables,
    )
    from condrank.diagnosis import diagnose
    from condrank.exceptions import CondrankWarning, KernelWarning, RelationWarning, SelectionWarning
    from condrank.graph import RelationGraph
    from condrank.graph.transformer import NodeTransformer
    from condrank.index import ObjectIndex
    from condrank.model_selection.sampled_loss import sampled_rank_loss
    from condrank.model_selection.search import ConditionalRankerCV
    from condrank.nodes.spectrum import suggest_components
    from condrank.rankers.conditional import ConditionalRanker
    from condrank.rankers.ranking import Ranking
    from condrank.tables.ranker import TableRanker

_HOME = {
    "ConditionalRanker": "condrank.rankers.conditional",
    "ConditionalRankerCV": "condrank.model_selection.search",
    "CondrankWarning": "condrank.exceptions",
    "KernelWarning": "condrank.exceptions",
    "NodeTransformer": "condrank.graph.transformer",
    "ObjectIndex": "condrank.index",
    "RelationGraph": "condrank.graph",
    "RelationWarning": "condrank.exceptions",
    "SelectionWarning": "condrank.exceptions",
    "Ranking": "condrank.rankers.ranking",
    "TableRanker": "condrank.tables.ranker",
    "diagnose": "condrank.diagnosis",
    "sampled_rank_loss": "condrank.model_selection.sampled_loss",
    "suggest_components": "condrank.nodes.spectrum",
}
_MODULES = (
    "baselines",
    "datasets",
    "diagnosis",
    "distributed",
    "exceptions",
    "index",
    "metrics",
    "model_selection",
    "parquet",
    "plots",
    "tables",
)

__all__ = [
    "ConditionalRanker",
    "ConditionalRankerCV",
    "CondrankWarning",
    "KernelWarning",
    "NodeTransformer",
    "ObjectIndex",
    "Ranking",
    "RelationGraph",
    "RelationWarning",
    "SelectionWarning",
    "TableRanker",
    "__version__",
    "baselines",
    "datasets",
    "diagnose",
    "diagnosis",
    "distributed",
    "index",
    "metrics",
    "model_selection",
    "plots",
    "sampled_rank_loss",
    "suggest_components",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "parquet":  # its name until version 0.2
        return import_module("condrank.frames.parquet")
    if name in _MODULES:
        return import_module(f"condrank.{name}")
    raise AttributeError(f"module 'condrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
