"""Is one ranker better than another? Paired comparison of their losses, conditioning node by conditioning node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from condrank.base.checks import check_choice, check_count, check_number
from condrank.graph import RelationGraph
from condrank.metrics import MEASURES
from condrank.model_selection._splitter import SETTINGS, check_graph
from condrank.model_selection.folds import rank_by_of, read_folds, ties_directions
from condrank.model_selection.results import CrossValidation
from condrank.model_selection.validate import measure_folds, measures_order, read_scoring


@dataclass(frozen=True)
class Comparison:
    """Mean difference of two rankers' losses over conditioning nodes, the first minus the second.

    Every conditioning node counts the same here. The rank loss that `cross_validate` shows pools the pairs of all
    nodes of a fold, so that its difference can be another one.

    Attributes
    ----------
    difference : float
        Mean of loss_a - loss_b; negative when the first loses less (or, of a measure, has the lower values).
    low, high : float
        Bootstrap interval of the mean difference.
    p_value : float
        Two-sided, of the sign-flip test: how often a mean at least as far from zero comes about if each difference
        could as well have had the other sign.
    n_queries : int
        Conditioning nodes compared.
    confidence : float
        Level of the interval.
    measure : str
        What was compared: the measure, or "loss".
    mean_a, mean_b : float
        Its means over these conditioning nodes.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n_queries: int
    confidence: float
    measure: str
    mean_a: float
    mean_b: float

    def __str__(self) -> str:
        return (
            f"{self.measure}, mean over {self.n_queries} conditioning nodes: A {self.mean_a:.4f}, B {self.mean_b:.4f}, "
            f"A - B = {self.difference:+.4f}, {self.confidence:.0%} interval {self.low:+.4f} to {self.high:+.4f}, "
            f"p = {self.p_value:.3g}{_direction(self.measure)}"
        )


def compare(
    loss_a: Any,
    loss_b: Any,
    *,
    measure: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> Comparison:
    """Compare two rankers by their paired losses: a bootstrap over conditioning nodes, and a sign-flip test.

    Queries of one test graph, and of folds whose training graphs overlap, share training data and test objects. They
    are not independent, so the interval and the p-value are for these training graphs: they say nothing of how much
    the rankers would differ had they been trained on other data, and tend to be too optimistic about that.

    Parameters
    ----------
    loss_a, loss_b : array-like of shape (n_queries,), or CrossValidation
        Loss of each conditioning node, in the same order, NaN where not defined (such nodes are left out); or what
        `cross_validate` gave for two rankers on the same folds: values of a node that several folds tested are
        averaged first.
    measure : str, optional
        Which measure of the two cross-validations, their first by default; or what losses given as arrays are of.
    confidence : float
        Level of the interval.
    n_resamples : int
        Bootstrap samples (percentile interval), and sign flips. All 2ⁿ flips are enumerated where that is no more.
    random_state : int, RandomState, Generator or None
        For both.

    Examples
    --------
    >>> from condrank.model_selection import compare
    >>> compare([0.1, 0.2, 0.3, 0.2], [0.2, 0.3, 0.4, 0.4]).p_value
    0.125
    """
    level = check_number("confidence", confidence, above=0.0)
    if level >= 1:
        raise ValueError(f"confidence must be below 1, got {confidence!r}")
    check_count("n_resamples", n_resamples)
    if isinstance(loss_a, CrossValidation) != isinstance(loss_b, CrossValidation):
        raise ValueError("loss_a and loss_b must both be losses, or both results of cross_validate")
    if isinstance(loss_a, CrossValidation):
        name = next(iter(loss_a.scores)) if measure is None else measure
        a, b = _of_results(loss_a, loss_b, name)
    else:
        name = "loss" if measure is None else measure
        a, b = np.asarray(loss_a, dtype=np.float64), np.asarray(loss_b, dtype=np.float64)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(f"loss_a and loss_b must have one loss a query, aligned, got {a.shape} and {b.shape}")
        _check_finite(a, b)
    defined = ~np.isnan(a - b)
    a, b = a[defined], b[defined]
    difference = a - b
    if len(difference) < 2:
        raise ValueError(f"a comparison needs at least two queries with both losses, got {len(difference)}")
    mean = float(difference.mean())
    if (difference == difference[0]).all():
        low = high = mean  # no spread to resample
    else:
        low, high = _interval(difference, level, n_resamples, random_state)
    test = stats.permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        n_resamples=n_resamples,
        batch=_batch(difference),
        vectorized=True,
        rng=_generator(random_state),
    )
    means = float(a.mean()), float(b.mean())
    return Comparison(mean, low, high, float(test.pvalue), len(difference), level, name, *means)


def compare_rankers(
    ranker_a: Any,
    ranker_b: Any,
    graph: RelationGraph,
    setting: int = 4,
    *,
    cv: Any = None,
    scoring: Any = "rank_loss",
    n_jobs: int | None = None,
    **options: Any,
) -> Comparison:
    """Cross-validate two rankers on the same folds, and `compare` them; ``options`` are those of `compare`.

    The rankers must rank by the same direction. Folds are drawn once and held while both are measured; in setting 1
    both directions of a pair are held out together if either ranker takes them to be tied.
    """
    check_graph(graph)
    check_choice("setting", setting, SETTINGS)
    measures, rankers = read_scoring(scoring), (ranker_a, ranker_b)
    a, b = map(rank_by_of, rankers)
    if a != b:
        raise ValueError(f"ranker_a and ranker_b must have the same rank_by, got {a!r} and {b!r}")
    by_rank = any(map(measures_order, measures.values()))
    folds = read_folds(cv, graph, max(rankers, key=ties_directions), setting, by_rank=by_rank)
    folds = folds._replace(graphs=list(folds.graphs))
    return compare(*(measure_folds(one, folds, measures, n_jobs) for one in rankers), **options)


def _of_results(a: CrossValidation, b: CrossValidation, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of both for each conditioning node, means over the folds that tested it."""
    if name not in a.scores or name not in b.scores:
        raise ValueError(f"measure {name!r} must be in both results, they have {list(a.scores)} and {list(b.scores)}")
    if not np.array_equal(a.fold_keys, b.fold_keys):
        raise ValueError(
            "the two results are of different folds: cross-validate both with the same cv, its random_state an int"
        )
    values = a.queries[name], b.queries[name]
    _check_finite(*values)
    defined = ~np.isnan(values[0] - values[1])
    if not defined.any():
        raise ValueError(f"measure {name!r} has no values for single queries: it must take average=None")
    # Ids may be of several types, which have no order.
    ids = a.queries["query"][defined].tolist()
    number = {one: i for i, one in enumerate(dict.fromkeys(ids))}
    query = np.array([number[one] for one in ids])
    of_a, of_b = (np.bincount(query, weights=one[defined]) / np.bincount(query) for one in values)
    return of_a, of_b


def _check_finite(a: np.ndarray, b: np.ndarray) -> None:
    for name, losses in (("loss_a", a), ("loss_b", b)):
        if np.isinf(losses).any():
            raise ValueError(
                f"{name} must be finite, or NaN where not defined; that of query {np.argmax(np.isinf(losses))} is not"
            )


def _direction(measure: str) -> str:
    """Which way is better, as far as that is known of a measure's name."""
    if measure in ("loss", "rank_loss"):
        return "; lower is better"
    return "; higher is better" if measure in MEASURES else ""


def _interval(difference: np.ndarray, level: float, n_resamples: int, random_state: Any) -> tuple[float, float]:
    interval = stats.bootstrap(
        (difference,),
        np.mean,
        confidence_level=level,
        n_resamples=n_resamples,
        method="percentile",
        batch=_batch(difference),
        vectorized=True,
        rng=_generator(random_state),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def _batch(difference: np.ndarray) -> int:
    """Resamples at a time, so that some ten million numbers are held."""
    return max(1, 2**23 // len(difference))


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
