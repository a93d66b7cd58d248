"""What to measure next: pairs without a label whose labels would tell a ranker most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from condrank.base.checks import check_choice, check_count
from condrank.base.html import table_of
from condrank.fitting.known import KnownPairs
from condrank.frames.dataframes import make_frame
from condrank.nodes import Nodes
from condrank.nodes.store import SameBase, recognise
from condrank.rankers.aligned import finite_pairs
from condrank.rankers.base import Ranker, fitted_of, read_side
from condrank.rankers.uncertain import posterior_of
from condrank.uncertainty.choosing import WAYS, Candidates

#: All pairs of at most this many are looked through; of more, those of some conditioning nodes drawn at random.
MOST_PAIRS = 4_000_000
WHY = {
    "variance": "its score is the least sure, std {std:.3g}",
    "order": "its order with a neighbour in the ranking is undecided, and a label tells most of it",
    "top": "it may be among the best: score {score:.3g} ± {std:.2g}",
}


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Pairs to measure next, the most useful first.

    Attributes
    ----------
    queries, objects : ndarray of shape (n,)
        Ids of conditioning nodes and objects; positions if they have none.
    scores, std : ndarray of shape (n,)
        Their scores and standard deviations, before anything is measured.
    gains : ndarray of shape (n,)
        What each is worth once those before it are measured: a variance (``by="variance"``), a probability times a
        variance (``"order"``), or how high it may be (``"top"``).
    costs : ndarray of shape (n,)
        What they cost; 1 if no cost was given.
    by : {"variance", "order", "top"}
        By what they were chosen.
    n_candidates : int
        Number of pairs that were compared.
    n_unknown : int
        Number of pairs without a label; if it is larger, those compared are a part of them.
    """

    queries: np.ndarray
    objects: np.ndarray
    scores: np.ndarray
    std: np.ndarray
    gains: np.ndarray
    costs: np.ndarray
    by: str
    n_candidates: int
    n_unknown: int

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def why(self) -> list[str]:
        """Why each was chosen, in words."""
        return [WHY[self.by].format(score=score, std=std) for score, std in zip(self.scores, self.std, strict=True)]

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns: query, object, score, std, gain, cost, why."""
        columns = (self.queries, self.objects, self.scores, self.std, self.gains, self.costs)
        named = zip(("query", "object", "score", "std", "gain", "cost"), columns, strict=True)
        return {name: column.tolist() for name, column in named} | {"why": self.why}

    def to_frame(self, library: str | None = None) -> Any:
        """The columns of `to_dict` as a table: of pandas, or of another library by its name."""
        return make_frame({name: np.array(column) for name, column in self.to_dict().items()}, library)

    def __str__(self) -> str:
        pairs = zip(self.queries.tolist(), self.objects.tolist(), self.why, strict=True)
        return "\n".join(f"{query}, {one}: {why}" for query, one, why in pairs)

    def _repr_html_(self) -> str:
        shown = self.to_dict()
        rows = zip(*(shown[name] for name in ("query", "object", "why")), strict=True)
        return table_of(("query", "object", "why"), list(rows))


class Suggesting(Ranker):
    """A ranker that says what to measure next."""

    def suggest_edges(
        self,
        n: int = 10,
        *,
        by: str = "variance",
        queries: Any = None,
        objects: Any = None,
        cost: Any = None,
        max_pairs: int = 1000,
        random_state: Any = None,
    ) -> Suggestions:
        """Pairs to measure next: their labels would tell the ranker most. O(max_pairs²) for each of n.

        Pairs are chosen one after another. After each choice the covariance of all others is that of a model which has
        its label: variances do not depend on what the label is. So a batch does not repeat itself, as the n pairs with
        the largest variance would. Pairs that have a label, or whose other direction has one if the relation is
        symmetric or reciprocal, and pairs of a node with itself are left out.

        Parameters
        ----------
        n : int
            Number of pairs; fewer if there are fewer.
        by : {"variance", "order", "top"}
            "variance": the largest variance of the score. "order": undecided orders of two neighbours in the ranking
            of a conditioning node, of which a label tells most. "top": the highest score + standard deviation, to
            find the best objects.
        queries, objects : optional
            Conditioning nodes and objects to choose from, known or new, as in `predict`; by default those of training.
        cost : array-like of shape (n_queries, n_objects) or (n_objects,), optional
            What it costs to measure a pair, > 0. Gains are divided by it.
        max_pairs : int
            At most this many pairs are compared. Of more, "top" takes those with the highest scores, "variance" takes
            some at random, and "order" takes all pairs of some conditioning nodes at random.
        random_state : int, RandomState instance or None
            Seed of what is taken at random.

        Notes
        -----
        For the ranking loss a label is taken as that of a score, although the model leaves a constant of each
        conditioning node free. For the logistic loss covariances are those at the solution (Laplace).

        Examples
        --------
        >>> from condrank import ConditionalRanker
        >>> from condrank.datasets import make_rock_paper_scissors
        >>> games, _ = make_rock_paper_scissors(10, n_players=20, n_games=30, random_state=0)
        >>> ranker = ConditionalRanker("reciprocal", "regression").fit(games)
        >>> len(ranker.suggest_edges(5, random_state=0))
        5
        """
        posterior_of(fitted_of(self))  # a baseline has none
        model = fitted_of(self).model
        first = model.rows.nodes if queries is None else read_side(self, queries, "queries")
        second = model.cols.nodes if objects is None else first if objects is queries else None
        second = read_side(self, objects, "objects") if second is None else second
        return suggest(self, n, by, first, second, cost, max_pairs, random_state)


def suggest(
    ranker: Any, n: int, by: str, first: Nodes, second: Nodes, cost: Any, max_pairs: int, random_state: Any
) -> Suggestions:
    """`ConditionalRanker.suggest_edges` for nodes that are already checked."""
    check_choice("by", by, WAYS)
    n, max_pairs = check_count("n", n), check_count("max_pairs", max_pairs)
    fitted = fitted_of(ranker)
    posterior = posterior_of(fitted)
    settings = getattr(fitted, "inner", fitted).settings  # of the ranker on prepared nodes
    costs = _read_cost(cost, len(first), len(second))
    seed = random_state if isinstance(random_state, int | None) else random_state.randint(2**31)
    random = np.random.default_rng(seed)
    i, j = _unknown_pairs(fitted, first, second, random)
    n_unknown = len(i)
    if n_unknown == 0:
        raise ValueError(
            "there is no pair without a label to suggest: pass new nodes as queries or objects, or a graph with holes"
        )
    kept = _pool(by, fitted.model, first, second, i, j, max_pairs, random)
    i, j = i[kept], j[kept]
    pairs = first.take(i), second.take(j)
    scores = finite_pairs(fitted.model, *pairs).astype(np.float64)
    covariance = np.array(posterior.pair_covariances(*pairs), dtype=np.float64)
    std = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    noise = np.full(len(i), float(posterior.evidence.noise_variance))
    mean = scores
    if not settings.loss.is_quadratic:
        won = expit(scores)
        noise = 1.0 / np.maximum(won * (1.0 - won), np.finfo(np.float64).tiny)
    elif settings.loss.centres_rows:
        # Scores of different conditioning nodes are not comparable.
        counts = np.maximum(np.bincount(i), 1)
        mean = scores - (np.bincount(i, weights=scores) / counts)[i]
    picks, gains = Candidates(mean, covariance, noise, i, costs[i, j]).choose(by, n)
    return Suggestions(
        queries=_names(first)[i[picks]],
        objects=_names(second)[j[picks]],
        scores=scores[picks],
        std=std[picks],
        gains=gains,
        costs=costs[i, j][picks],
        by=by,
        n_candidates=len(i),
        n_unknown=n_unknown,
    )


def _names(nodes: Nodes) -> np.ndarray:
    return np.arange(len(nodes)) if nodes.ids is None else nodes.ids


def _read_cost(cost: Any, n_queries: int, n_objects: int) -> np.ndarray:
    """Costs of all pairs, (n_queries, n_objects)."""
    shape = (n_queries, n_objects)
    if cost is None:
        return np.broadcast_to(1.0, shape)
    given = np.asarray(cost, dtype=np.float64)
    if given.shape not in (shape, (n_objects,)):
        raise ValueError(f"cost must have shape {shape} or ({n_objects},), got {given.shape}")
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError("cost must be finite and greater than 0")
    return np.broadcast_to(given, shape)


def _unknown_pairs(
    fitted: Any, first: Nodes, second: Nodes, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the pairs that have no label in either direction and are not a node with itself."""
    learned = getattr(fitted, "inner", fitted)
    known: KnownPairs | None = learned.known
    if known is None:
        raise ValueError("suggest_edges needs the pairs of training, which partial_fit, Dask and old files do not keep")
    model = fitted.model
    rows, cols = (_places(one, side.nodes) for one, side in ((first, model.rows), (second, model.cols)))
    chosen = np.arange(len(first))
    if len(first) * len(second) > MOST_PAIRS:
        chosen = np.sort(random.choice(len(first), max(1, MOST_PAIRS // len(second)), replace=False))
    if known.indptr is None:  # every pair of training nodes
        unknown = (rows[chosen, None] < 0) | (cols[None, :] < 0)
    else:
        unknown = np.ones((len(chosen), len(second)), dtype=bool)
        for place, of_one in enumerate(known.places(rows[chosen], cols, len(second))):
            unknown[place, of_one] = False
    if model.cols is model.rows:
        same = (rows[chosen, None] >= 0) & (rows[chosen, None] == cols[None, :])
        if first.base is second.base:
            same |= first.positions[chosen, None] == second.positions[None, :]
        unknown &= ~same
        if learned.settings.relation.sign:
            _one_direction(unknown, rows[chosen], cols, known)
    i, j = np.nonzero(unknown)
    return chosen[i], j


def _one_direction(unknown: np.ndarray, rows: np.ndarray, cols: np.ndarray, known: KnownPairs) -> None:
    """Leave out pairs whose other direction is known, and of two unknown directions one. Changes ``unknown``."""
    if known.indptr is not None:
        for column, of_one in enumerate(known.places(cols, rows, len(rows))):
            unknown[of_one, column] = False
    row_of = {node: place for place, node in enumerate(rows.tolist()) if node >= 0}
    column_of = {node: place for place, node in enumerate(cols.tolist()) if node >= 0}
    turned_row = np.array([row_of.get(node, -1) for node in cols.tolist()], dtype=int)
    turned_column = np.array([column_of.get(node, -1) for node in rows.tolist()], dtype=int)
    i, j = np.nonzero(unknown & (turned_row[None, :] >= 0) & (turned_column[:, None] >= 0))
    twice = unknown[turned_row[j], turned_column[i]] & (rows[i] > cols[j])
    unknown[i[twice], j[twice]] = False


def _places(nodes: Nodes, training: Nodes) -> np.ndarray:
    return recognise(nodes, training, SameBase(training.base))


def _pool(
    by: str,
    model: Any,
    first: Nodes,
    second: Nodes,
    i: np.ndarray,
    j: np.ndarray,
    max_pairs: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Which of many pairs are compared."""
    if len(i) <= max_pairs:
        return np.arange(len(i))
    if by == "top":
        scores = finite_pairs(model, first.take(i), second.take(j))
        return np.sort(np.argpartition(-scores, max_pairs)[:max_pairs])
    if by == "order":
        turn = random.permutation(int(i.max()) + 1)
        order = np.lexsort((random.random(len(i)), turn[i]))
        return np.sort(order[:max_pairs])
    return np.sort(random.choice(len(i), max_pairs, replace=False))
