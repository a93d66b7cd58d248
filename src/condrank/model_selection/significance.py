"""Is one ranker better than another? Compares their losses, paired by conditioning node."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from condrank.base.checks import check_choice, check_count, check_number
from condrank.frames.dataframes import make_frame
from condrank.graph import RelationGraph
from condrank.metrics import LOWER_IS_BETTER, MEASURES
from condrank.model_selection._splitter import SETTINGS, check_graph
from condrank.model_selection.folds import rank_by_of, read_folds, ties_directions
from condrank.model_selection.results import CrossValidation
from condrank.model_selection.scoring import measures_order
from condrank.model_selection.validate import measure_folds, read_scoring


@dataclass(frozen=True)
class Comparison:
    """Mean difference of the losses of two rankers over conditioning nodes, the first minus the second.

    Every conditioning node counts the same here. The rank loss in the result of `cross_validate` pools the pairs of all
    nodes of a fold, so its difference may not be the same.

    Attributes
    ----------
    difference : float
        Mean of loss_a - loss_b. Negative if the first ranker has the lower loss (or lower values of the measure).
    low, high : float
        Bootstrap interval of the mean difference.
    p_value : float
        Two-sided p-value of the sign-flip test: the share of sign flips of the differences that give a mean at least as
        far from zero.
    n_queries : int
        Number of conditioning nodes compared.
    confidence : float
        Level of the interval.
    measure : str
        What was compared: the name of a measure, or "loss".
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

    def to_frame(self, library: str | None = None) -> Any:
        """One row with all of this as a data frame of pandas, polars or pyarrow, by default the first installed."""
        return make_frame({name: np.array([value]) for name, value in asdict(self).items()}, library)

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

    Queries of one test graph, and of folds with overlapping training graphs, share training data and test objects. They
    are not independent. So the interval and the p-value hold for these training graphs only. They do not say how much
    the rankers would differ after training on other data, and tend to be too optimistic about that.

    Parameters
    ----------
    loss_a, loss_b : array-like of shape (n_queries,), or CrossValidation
        Loss of each conditioning node, in the same order, NaN if not defined (such nodes are left out); or results of
        `cross_validate` for two rankers on the same folds. If several folds tested a node, its values are averaged
        first.
    measure : str, optional
        The measure of the two cross-validations to compare, by default their first; or a name for losses in arrays.
    confidence : float
        Level of the interval.
    n_resamples : int
        Number of bootstrap samples (percentile interval) and of sign flips. If there are no more than that, all 2ⁿ
        flips are used.
    random_state : int, RandomState, Generator or None
        Seed of both.

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
            raise ValueError(f"loss_a and loss_b must have one loss per query, aligned, got {a.shape} and {b.shape}")
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

    The rankers must have the same ``rank_by``. Folds are drawn once and kept while both rankers are measured. In
    setting 1 both directions of a pair are held out together if one determines the other for either ranker.
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
    """Values of both for each conditioning node, averaged over the folds that tested it."""
    if name not in a.scores or name not in b.scores:
        raise ValueError(f"measure {name!r} must be in both results, they have {list(a.scores)} and {list(b.scores)}")
    if not np.array_equal(a.fold_keys, b.fold_keys):
        raise ValueError(
            "the two results are of different folds: cross-validate both with the same cv, with an int as random_state"
        )
    values = a.queries[name], b.queries[name]
    _check_finite(*values)
    defined = ~np.isnan(values[0] - values[1])
    if not defined.any():
        raise ValueError(f"measure {name!r} has no values for single queries: it must take average=None")
    # Ids may have several types, which cannot be sorted.
    ids = a.queries["query"][defined].tolist()
    number = {one: i for i, one in enumerate(dict.fromkeys(ids))}
    query = np.array([number[one] for one in ids])
    of_a, of_b = (np.bincount(query, weights=one[defined]) / np.bincount(query) for one in values)
    return of_a, of_b


def _check_finite(a: np.ndarray, b: np.ndarray) -> None:
    for name, losses in (("loss_a", a), ("loss_b", b)):
        if np.isinf(losses).any():
            raise ValueError(
                f"{name} must be finite, or NaN if not defined; the loss of query {np.argmax(np.isinf(losses))} is not"
            )


def _direction(measure: str) -> str:
    """Whether lower or higher is better, if the name of the measure is known."""
    if measure == "loss" or measure in LOWER_IS_BETTER:
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
    """Number of resamples at a time, so that about ten million numbers are in memory."""
    return max(1, 2**23 // len(difference))


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
