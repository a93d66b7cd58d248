"""Methods that are judged on the same folds: losses, times and chosen parameters, combined into rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condrank import RelationGraph
from condrank.metrics import concordance_index, rank_loss

from . import trees
from .results import Row, Run, clock, mean_and_error

# Number of leading coordinates of each kernel that trees use.
TREE_COORDINATES = 20

# Attributes of a fitted ranker that may have been chosen, and their short names.
CHOICES = {
    "alpha_": "λ",
    "prior_weight_": "τ",
    "alpha": "λ",
    "alpha_objects": "μ",
    "n_neighbors": "k",
    "power": "p",
    "described": "",
    "objective": "",
    "n_trees": "trees",
    "n_leaves": "leaves",
}


class StandIn(Row):
    """A row on data that replace the paper's: the paper's number is shown beside ours, without a verdict."""

    @property
    def verdict(self) -> str:
        """Empty, because the data are not the paper's."""
        return ""


@dataclass
class Judged:
    """One method: its loss and its concordance on each fold, its time, and the parameters that it chose."""

    losses: list[float] = field(default_factory=list)
    concordance: list[float] = field(default_factory=list)
    seconds: float = 0.0
    chosen: list[dict[str, Any]] = field(default_factory=list)
    at_an_end: int = 0


@dataclass
class Folds:
    """Methods on the folds of one data set.

    Attributes
    ----------
    table, data, protocol : str
        The same as in the rows.
    reference : str or None
        Method with which the others are compared, fold by fold.
    across : bool
        Whether to report the concordance index over all edges of a test graph too. It also compares objects of
        different conditioning nodes.
    """

    run: Run
    table: str
    data: str
    protocol: str
    reference: str | None = None
    across: bool = False
    methods: dict[str, Judged] = field(default_factory=dict)

    def judge(
        self, method: str, fit: Callable[[RelationGraph], Any], train: RelationGraph, test: RelationGraph
    ) -> np.ndarray:
        """Fit, score the test graph and keep the loss on its pairs of different nodes. Returns the scores."""
        self.run.step(f"{self.data}: {method}")
        judged = self.methods.setdefault(method, Judged())
        with clock() as seconds, warnings.catch_warnings():
            # The row says how often λ is at an end of the grid.
            warnings.filterwarnings("ignore", "the best λ", UserWarning)
            ranker = fit(train)
            scores = ranker.predict(test)
        truth = test.to_dense()
        if not test.is_two_domain:
            # A node is not ranked for itself: that it is like itself is no finding.
            truth = truth.astype(float)
            np.fill_diagonal(truth, np.nan)
        judged.losses.append(rank_loss(truth, scores))
        if self.across:
            judged.concordance.append(concordance_index(truth.ravel(), scores.ravel()))
        judged.seconds += seconds()
        judged.chosen.append(choices(ranker))
        tried = getattr(ranker, "alphas_", ())
        judged.at_an_end += len(tried) > 1 and ranker.alpha_ in (tried[0], tried[-1])
        return scores

    def judge_trees(
        self,
        train: RelationGraph,
        test: RelationGraph,
        held_out: Iterator[tuple[RelationGraph, RelationGraph]],
        relation: str = "ordinary",
    ) -> None:
        """Judge each library of trees that is installed, tuned on the first holdout to save time."""
        first = [next(held_out)]
        for library in filter(trees.is_installed, trees.LIBRARIES):
            self.judge(
                f"{library} on pairs",
                lambda graph, library=library: trees.tune(
                    library, graph, first, relation, self.run.seed, trees.QUICK if self.run.quick else None
                ),
                train,
                test,
            )

    def rows(self, paper: dict[str, float] | None = None, kind: type[Row] = Row) -> Iterator[Row]:
        """A row for each method: mean over folds, standard error, and chosen parameters."""
        for method, judged in self.methods.items():
            measured, error = mean_and_error(judged.losses)
            yield kind(
                self.table,
                self.data,
                method,
                measured,
                error,
                (paper or {}).get(method),
                judged.seconds,
                self.run.seed,
                self.protocol,
                self._note(method, judged),
            )

    def _note(self, method: str, judged: Judged) -> str:
        n_folds = len(judged.losses)
        parts = [summary(judged.chosen)]
        if n_folds < max(len(other.losses) for other in self.methods.values()):
            parts.append(f"on the first {n_folds} folds")
        if judged.at_an_end:
            parts.append(f"λ at an end of the grid in {judged.at_an_end} of {n_folds}")
        if self.reference in self.methods and method != self.reference:
            # A method may have been judged on the first folds only.
            less = np.array(judged.losses) - self.methods[self.reference].losses[: len(judged.losses)]
            difference, error = mean_and_error(less)
            parts.append(f"{difference:+.4f}{with_error(error)} against {self.reference}")
        if judged.concordance:
            mean, error = mean_and_error(judged.concordance)
            parts.append(f"concordance over all edges {mean:.3f}{with_error(error, 3)}")
        return "; ".join(filter(None, parts))


def leading(K: np.ndarray, n: int = TREE_COORDINATES) -> np.ndarray:
    """The n leading coordinates of a kernel; coordinates of negative eigenvalues are zero."""
    sigma, Q = np.linalg.eigh(K)
    return Q[:, -n:] * np.sqrt(np.maximum(sigma[-n:], 0))


def choices(ranker: Any) -> dict[str, Any]:
    """Parameters that a fitted ranker has chosen, by short name; of two attributes with one name the first counts."""
    found: dict[str, Any] = {}
    for attribute, name in CHOICES.items():
        value = getattr(ranker, attribute, None)
        if value is None or (name == "τ" and not ranker.prior):
            continue
        found.setdefault(name, value)
    if hasattr(ranker, "best_params_"):
        found[""] = next(row.name for row in ranker.leaderboard_ if row.chosen)
    return found


def summary(chosen: list[dict[str, Any]]) -> str:
    """The median and the range of each chosen number; for words the most frequent one."""
    parts = []
    for name in chosen[0]:
        values = [one[name] for one in chosen]
        if isinstance(values[0], str):
            parts.append(max(set(values), key=values.count))
            continue
        low, middle, high = np.quantile(values, (0, 0.5, 1), method="lower")
        parts.append(f"{name} {middle:.3g}" + (f" ({low:.3g} to {high:.3g})" if low < high else ""))
    return ", ".join(parts)


def with_error(error: float | None, digits: int = 4) -> str:
    """± a standard error, if there is one."""
    return "" if error is None else f" ± {error:.{digits}f}"
