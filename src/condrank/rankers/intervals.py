"""Intervals of a ranker: they cover new labels with a given probability, whatever the model (conformal prediction)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from condrank.base.checks import check_choice, check_count, check_number
from condrank.base.warn import warn
from condrank.exceptions import IntervalWarning
from condrank.fitting.fitted import FittedRanker
from condrank.fitting.residuals import SETTINGS, Residuals
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.nodes.store import SameBase, recognise
from condrank.rankers.base import Ranker, fitted_of, read_pair
from condrank.rankers.checks import refuse_raw

WHAT_IS_NEW = {1: "only the edge", 2: "the conditioning node", 3: "the object", 4: "both nodes"}


class Intervals(Ranker):
    """Intervals around scores, from residuals of pairs that were left out."""

    loss: str

    def predict_interval(
        self, queries: Any, objects: Any = None, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of intervals for the labels of pairs, two arrays of shape (n_queries, n_objects).

        An interval is the score ± a quantile of ``|y - h|`` over pairs that were left out in the same setting: if the
        conditioning node is new and the object known, over pairs of conditioning nodes that were left out, and so on.
        Which setting a pair is in is found by its nodes: training nodes are recognised by their ids, or if they are
        given as positions or as the same array of features.

        The residuals are made by `calibrate` when a setting is first asked for, and kept with the model when it is
        saved. On average over new nodes, intervals cover at least about ``coverage``;
        `condrank.rankers.intervals.Intervals.calibrate` says what is guaranteed.

        Parameters
        ----------
        queries, objects
            As in `predict`.
        coverage : float
            Share of the labels to cover, between 0 and 1. If there were too few nodes to leave out for it, intervals
            are infinite, with an `condrank.exceptions.IntervalWarning`.

        Examples
        --------
        >>> from condrank import ConditionalRanker
        >>> from condrank.datasets import make_classes
        >>> train, new = make_classes(60, 4, 3, random_state=0)[:40], make_classes(60, 4, 3, random_state=0)[40:]
        >>> ranker = ConditionalRanker("symmetric", "regression", kernel="rbf", gamma=0.1).fit(train)
        >>> lower, upper = ranker.predict_interval(new, coverage=0.9)
        >>> bool(((lower <= new.to_dense()) & (new.to_dense() <= upper)).mean() > 0.8)
        True
        """
        first, second = read_pair(self, queries, objects)
        known = known_nodes(self, first, second)
        scores = self.predict(queries, objects)
        return interval(self, scores, known[0][:, None], known[1][None, :], coverage)

    def calibrate(
        self,
        graph: RelationGraph | None = None,
        *,
        settings: Sequence[int] | None = None,
        n_splits: int = 10,
        random_state: Any = 0,
    ) -> Self:
        """Make the residuals of `predict_interval` now: from the training graph, or from a graph with other nodes.

        For ``loss="logistic"``, find the slopes a of recalibrated probabilities sigmoid(a h) instead, for
        ``predict_proba(..., recalibrated=True)``: those that suit games that were left out best, one number for each
        setting (one for settings 2 and 3), always by folds.

        Without a graph, parts of the training graph are left out and predicted by models that were fitted to the rest
        with the same parameters (λ is not chosen again). On complete graphs with the regression loss this costs a few
        fits for settings 1 to 3, by exact shortcuts; otherwise ``n_splits`` fits for setting 1 and ``n_splits`` for
        settings 2 to 4 together.

        With a graph whose nodes the ranker has not seen (or some of them), its pairs with a new node are used instead.
        If these nodes and later ones are exchangeable (drawn in the same way), this has a guarantee whatever the model:
        at least ``coverage`` in settings 2 and 3, and in setting 4 of two domains; at least 2 coverage - 1, and
        about ``coverage``, in setting 4 of a single domain. Without a graph the same holds if leaving a part out hardly
        changes the other scores.

        Parameters
        ----------
        graph : RelationGraph, optional
            A graph with new nodes; by default the training graph, which a loaded ranker has only if it was saved with
            ``training=True``.
        settings : sequence of {1, 2, 3, 4}, optional
            Settings to make residuals for; by default all.
        n_splits : int
            Number of folds.
        random_state : int or None
            Seed of the folds.
        """
        fitted: FittedRanker = fitted_of(self)
        n_splits = check_count("n_splits", n_splits, at_least=2)
        asked = _read_settings(self, settings)
        name = "slopes" if self.loss == "logistic" else "residuals"
        if graph is None:
            found = _left_out(self, name, asked, n_splits, random_state)
        else:
            found = _on_graph(self, name, graph, asked)
        made = getattr(fitted, name) | found
        self._keep(replace(fitted, **{name: dict(sorted(made.items()))}))
        return self


def interval(
    ranker: Any,
    scores: np.ndarray,
    known_queries: np.ndarray,
    known_objects: np.ndarray,
    coverage: float,
    warns: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of scores; whether their nodes are known has a shape that broadcasts to theirs."""
    coverage = check_number("coverage", coverage, above=0.0)
    if coverage >= 1:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")
    check_intervals(ranker)
    setting = np.broadcast_to(settings_of(known_queries, known_objects), scores.shape)
    widths = np.zeros(max(SETTINGS) + 1)
    for one in np.unique(setting).tolist():
        widths[one] = residuals_for(ranker, one).half_width(coverage)
        if np.isinf(widths[one]) and warns:
            n_units = residuals_for(ranker, one).n_units
            warn(
                f"coverage={coverage:g} needs infinite intervals where {WHAT_IS_NEW[one]} is new: only {n_units:g} "
                "independent parts could be left out; ask for less coverage, or calibrate with a larger graph",
                IntervalWarning,
            )
    half = widths[setting]
    lower, upper = scores - half, scores + half
    if fitted_of(ranker).settings.centre:  # probabilities
        return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    return lower, upper


def settings_of(known_queries: np.ndarray, known_objects: np.ndarray) -> np.ndarray:
    """The setting of pairs, by whether their nodes are known."""
    return np.array([[4, 2], [3, 1]])[known_queries.astype(int), known_objects.astype(int)]


def recalibrated(ranker: Any, probabilities: np.ndarray, first: Nodes, second: Nodes | None) -> np.ndarray:
    """sigmoid(a h) of probabilities sigmoid(h) (n_queries, n_objects), with the slope a of each pair's setting.

    The two directions of a pair sum to one as exactly as before: both have the same slope.
    """
    known = known_nodes(ranker, first, second)
    setting = settings_of(known[0][:, None], known[1][None, :])
    slopes = np.zeros(max(SETTINGS) + 1)
    for one in np.unique(setting).tolist():
        if one not in fitted_of(ranker).slopes:
            ranker.calibrate(settings=[one])
        slopes[one] = fitted_of(ranker).slopes[one]
    with np.errstate(divide="ignore"):
        log_odds = np.log(probabilities) - np.log(1.0 - probabilities)
    half = np.tanh(np.clip(log_odds, -1e3, 1e3) * slopes[setting] / 2) / 2
    return 0.5 + np.round(half * 2.0**53) / 2.0**53


def residuals_for(ranker: Any, setting: int) -> Residuals:
    """The residuals of one setting, made now if they were not yet."""
    fitted = fitted_of(ranker)
    if setting not in fitted.residuals:
        ranker.calibrate(settings=[setting])
    return fitted_of(ranker).residuals[setting]


def known_nodes(ranker: Any, first: Nodes, second: Nodes | None) -> tuple[np.ndarray, np.ndarray]:
    """Which conditioning nodes and which objects the ranker has learned from."""
    fitted = fitted_of(ranker)
    model = fitted.model
    of_queries = _known(first, model.rows.nodes)
    if second is None:
        return of_queries, np.ones(len(fitted.objects), dtype=bool)
    return of_queries, _known(second, model.cols.nodes)


def _known(nodes: Nodes, training: Nodes) -> np.ndarray:
    return recognise(nodes, training, SameBase(training.base)) >= 0


def check_intervals(ranker: Any) -> None:
    """Refuse losses whose scores are not on the scale of the labels."""
    if ranker.loss == "logistic":
        raise ValueError(
            "intervals are for scores on the scale of the labels, but loss='logistic' gives log-odds of outcomes: use "
            "predict_proba, or loss='regression'"
        )


def _read_settings(ranker: Any, settings: Any) -> list[int]:
    if settings is None:
        return [1] if getattr(ranker, "pairwise_kernel", None) == "cartesian" else list(SETTINGS)
    asked = list(settings)
    for one in asked:
        check_choice("settings", one, SETTINGS)
    return asked


def _left_out(ranker: Any, name: str, asked: list[int], n_splits: int, random_state: Any) -> dict[int, Any]:
    """Residuals or slopes of what is left out of the training graph."""
    from condrank.model_selection.residuals import left_out_residuals, left_out_slopes
    from condrank.rankers.conditional import ConditionalRanker

    graph = fitted_of(ranker).graph
    if graph is None:
        raise ValueError(
            f"this ranker has no left-out {name} and no labels to make them from (it was loaded, or learned by "
            "partial_fit): call calibrate() before save, or save with training=True, or run condrank fit --intervals; "
            "or calibrate(graph) with a graph of other nodes"
        )
    plain = ConditionalRanker(**ranker._saved_params() | {"warm_start": False})
    make = left_out_slopes if name == "slopes" else left_out_residuals
    return make(plain, graph, asked, n_splits, random_state)


def _on_graph(ranker: Any, name: str, graph: Any, asked: list[int]) -> dict[int, Any]:
    """Residuals or slopes on the new nodes of a graph."""
    from condrank.model_selection.residuals import given_residuals, given_slopes

    if not isinstance(graph, RelationGraph):
        raise ValueError(f"graph must be a RelationGraph, got {type(graph).__name__}")
    refuse_raw(graph)
    make = given_slopes if name == "slopes" else given_residuals
    found: dict[int, Any] = make(ranker, graph, lambda first, second: known_nodes(ranker, first, second))
    found = {setting: one for setting, one in found.items() if setting in asked}
    if not found:
        raise ValueError(
            "graph must have observed pairs with a node that the ranker has not seen: all its nodes are training "
            "nodes, or settings asks for others; leave graph out to use the training graph"
        )
    return found
