"""Scores of aligned pairs: every different node is placed once, and only the pairs are scored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.checks import OUT_OF_SCALE
from condrank.base.measured import ALIGNED_COORDINATES_ENTRIES, ALIGNED_PAIRS, CHEAP_FEATURES_MOST
from condrank.fitting.judging import edge_scores
from condrank.graph.relation_graph import Conditioned
from condrank.nodes import Nodes
from condrank.nodes.aligned import distinct_nodes
from condrank.nodes.feature_maps import OwnFeatures
from condrank.nodes.features import ExplicitFeatures
from condrank.observations import Edges


def finite_pairs(scorer: Any, first: Nodes, second: Nodes) -> np.ndarray:
    """`score_pairs`; a score that is not finite raises a ValueError that names the pair."""
    scores = score_pairs(scorer, first, second)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise ValueError(f"scores overflow in {scores.dtype}, first that of pairs.{wrong[0]}: {OUT_OF_SCALE}")
    return scores


def score_pairs(scorer: Any, first: Nodes, second: Nodes) -> np.ndarray:
    """Scores (n_pairs,) of ``second[i]`` for ``first[i]``. Scores that overflow are left to the caller.

    O(n_pairs (r + log n_pairs)), and the coordinates of the different nodes, which are held a block at a time.
    """
    if len(first) != len(second):
        raise ValueError(f"queries and objects must be aligned, got {len(first)} and {len(second)}")
    if len(first) == 0:
        return np.empty(0)
    # A kernel that recognises nodes may tell two of them with equal features apart.
    by_values = not any(_has_identity(getattr(scorer, side, None)) for side in ("rows", "cols"))
    rows, row_of = (first, None) if _is_cheap(scorer) else distinct_nodes(first, by_values)
    cols, col_of = (second, None) if rows is first else distinct_nodes(second, by_values)
    if row_of is None or col_of is None or cols is second:
        return _one_by_one(scorer, first, second)
    key, place = np.unique(row_of * len(cols) + col_of, return_inverse=True)
    sources, targets = np.divmod(key, len(cols))
    out = None
    for block, others, chosen in _tiles(scorer, rows, cols, sources, targets):
        i, j = sources[chosen] - block.start, targets[chosen] - others.start
        scores = _scores(scorer, rows.block(block), cols.block(others), i, j)
        out = np.empty(len(key), dtype=scores.dtype) if out is None else out
        out[chosen] = scores
    assert out is not None
    return out[place]


def _is_cheap(scorer: Any) -> bool:
    """Whether coordinates cost less than looking for equal nodes: few features of a linear kernel, and no prior."""
    rows = getattr(scorer, "rows", None)
    if not isinstance(rows, ExplicitFeatures) or getattr(scorer, "prior_weight", 0.0):
        return False
    return isinstance(rows.features, OwnFeatures) and rows.features.n_features <= CHEAP_FEATURES_MOST


def _has_identity(coordinates: Any) -> bool:
    kernel = getattr(coordinates, "kernel", None)
    return kernel is not None and kernel.has_identity


def _tiles(
    scorer: Any, rows: Nodes, cols: Nodes, sources: np.ndarray, targets: np.ndarray
) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Runs of nodes whose coordinates can be held at a time, and the pairs among them; pairs are sorted by source."""
    sigma = getattr(getattr(scorer, "rows", None), "sigma", None)
    width = len(cols) if sigma is None else len(sigma)
    others = list(row_blocks(len(cols), width, ALIGNED_COORDINATES_ENTRIES))
    for block in row_blocks(len(rows), width, ALIGNED_COORDINATES_ENTRIES):
        here = np.arange(*np.searchsorted(sources, [block.start, block.stop]))
        for part in others:
            inside = (targets[here] >= part.start) & (targets[here] < part.stop)
            if inside.any():
                yield block, part, here[inside]


def _one_by_one(scorer: Any, first: Nodes, second: Nodes) -> np.ndarray:
    """Pairs of nodes that are hardly repeated, a block at a time."""
    parts = []
    # A prior may need, and scorers that know no edges score, all pairs of a block: then blocks are small squares.
    squares = not hasattr(scorer, "at_edges") or bool(getattr(scorer, "prior_weight", 0.0))
    for block in row_blocks(len(first), 1, budget=64 if squares else ALIGNED_PAIRS):
        place = np.arange(block.stop - block.start)
        parts.append(_scores(scorer, first.block(block), second.block(block), place, place))
    return np.concatenate(parts)


def _scores(scorer: Any, rows: Nodes, cols: Nodes, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    edges = Edges(i, j, np.zeros(len(i)), None, (len(rows), len(cols)))
    return edge_scores(scorer, Conditioned(rows, cols, edges))
