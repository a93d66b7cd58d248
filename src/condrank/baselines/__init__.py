"""Baselines with the interface of `condrank.ConditionalRanker`: the off-the-shelf methods that the paper compares with.

- `SimilarityRanker`: unsupervised, by the node kernel itself;
- `PopularityRanker`, `StrengthRanker`: without features, by the known labels of an object or the known games of a node;
- `NearestNeighbours`: by the labels of the most similar conditioning nodes;
- `ExplicitRankRLS`: RLS and RankRLS with every edge as an example; the same solution as `ConditionalRanker`;
- `RankSVM`: scikit-learn's linear support vector machine on difference vectors of edges;
- `TwoStepRidge`: kernel ridge regression over conditioning nodes, then over objects.

All rank by the edges that start at the conditioning node.
"""

from __future__ import annotations

from condrank.baselines.neighbours import NearestNeighbours
from condrank.baselines.popularity import PopularityRanker, StrengthRanker
from condrank.baselines.rls import ExplicitRankRLS
from condrank.baselines.similarity import SimilarityRanker
from condrank.baselines.svm import RankSVM
from condrank.baselines.two_step import TwoStepRidge

__all__ = [
    "ExplicitRankRLS",
    "NearestNeighbours",
    "PopularityRanker",
    "RankSVM",
    "SimilarityRanker",
    "StrengthRanker",
    "TwoStepRidge",
]
