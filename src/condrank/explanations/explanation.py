"""Explanation: one score, or the difference of two, as sums of contributions, computed when they are asked for."""

from __future__ import annotations

import html
from functools import cached_property
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_count
from condrank.explanations.asked import Asked
from condrank.explanations.features import Columns, terms_of_features
from condrank.explanations.labels import Labels, contributions_of_labels, names_of, terms_of_labels, terms_of_nodes
from condrank.explanations.parts import terms_of_parts
from condrank.explanations.terms import SHOWN, Terms
from condrank.explanations.wording import sentence

BY = ("labels", "nodes", "features", "parts")


class Explanation:
    """Why an object has its score for a conditioning node, or why it is ranked above or below another object.

    Every table is an exact sum: its contributions and its ``rest`` add up to `total`. A table is computed when it is
    first asked for; one that does not exist for a model raises a ValueError that says what to ask instead.

    Parameters
    ----------
    asked : Asked
        The conditioning node and the objects.
    names : tuple
        Names of the conditioning node, of the object and of the other object or None.
    sides : (Columns, Columns), optional
        Columns that the features of the conditioning node and of the objects were made of; by default the features.

    Attributes
    ----------
    query, object, other : id or position
        The conditioning node, the object, and the other object or None.
    score, other_score : float
        Scores of the object and of the other one (None without), as `predict` gives them.
    total : float
        What is explained: the score, or the difference of the two scores.
    rest : dict of float
        What is in it beside the learned part: prior, intercept, centre of the scale.
    """

    def __init__(self, asked: Asked, names: tuple[Any, Any, Any], sides: tuple[Columns, Columns] | None = None):
        self._asked, self._sides = asked, sides
        self.query, self.object, self.other = names
        scores = asked.scores()
        self.score = float(scores[0])
        self.other_score = float(scores[1]) if len(scores) > 1 else None
        self.total = float(asked.difference(scores))
        self.rest = asked.rest()

    @cached_property
    def labels(self) -> Terms:
        """Contributions of the known labels: query, object, label, baseline, influence, contribution.

        The contribution of a label is its influence times (label - baseline). The influence is by how much the score
        grows if the label grows by one. The baseline is what the model expects without labels: prior, centre, and the
        mean that the loss subtracts. Logistic scores are not linear in the labels. There the baseline is the predicted
        probability of the game, and the influence is weight · k̄ / λ, with the edge kernel k̄ between game and score.
        """
        queries, objects = self._names
        return terms_of_labels(self._labels, self.rest, queries, objects)

    @cached_property
    def nodes(self) -> Terms:
        """Contributions of training nodes: the sums of those of their labels, one half for each end of a label."""
        queries, objects = self._names
        one_domain = self._asked.model.rows is self._asked.model.cols
        return terms_of_nodes(self._labels, self.rest, queries, objects, one_domain)

    @cached_property
    def features(self) -> Terms:
        """Contributions of features (of the columns, for tables): side, feature, perhaps values, contribution.

        Only if the kernel is linear in the features: "linear", "cosine" (in features of unit length), or a sum of them.
        Half of the product of two features belongs to each of them.
        """
        sides = self._sides or (Columns.plain(self._asked.query), Columns.plain(*self._asked.objects))
        return terms_of_features(self._asked, self.rest, sides)

    @cached_property
    def parts(self) -> Terms:
        """Contributions of parts of the model: products of the parts of both kernels, compared features, the rest."""
        nodes = self._asked.query
        side = self._sides[0] if self._sides else Columns.plain(nodes)
        return terms_of_parts(self._asked, self.rest, lambda f: side.of_feature(None, nodes.base.shape[1])[f])

    @cached_property
    def _labels(self) -> Labels:
        return contributions_of_labels(self._asked)

    @property
    def _names(self) -> tuple[np.ndarray, np.ndarray]:
        model = self._asked.model
        cols = model.cols.nodes if model.cols.nodes.ids is not None else self._asked.fitted.objects
        return names_of(model.rows.nodes, model.rows.n_nodes), names_of(cols, model.cols.n_nodes)

    @cached_property
    def by(self) -> str:
        """The table that sentence, picture and HTML show: features if scores are sums over them, or nodes, or parts."""
        for by in ("features", "nodes"):
            try:
                getattr(self, by)
            except ValueError:
                continue
            return by
        return "parts"

    def terms(self, by: str | None = None) -> Terms:
        """One of the tables: "labels", "nodes", "features" or "parts"; by default that of `by`."""
        if by is not None:
            check_choice("by", by, BY)
        return getattr(self, by or self.by)

    def to_frame(self, by: str | None = None, top: int | None = None) -> Any:
        """A table as a pandas frame, largest contribution first; ``top`` limits its length."""
        return self.terms(by).to_frame(None if top is None else check_count("top", top))

    def to_dict(self, by: str | None = None, top: int = SHOWN) -> dict[str, Any]:
        """The ``top`` contributions of a table and everything else that is known, as plain values for JSON."""
        terms = self.terms(by)
        return {
            "query": _plain(self.query),
            "object": _plain(self.object),
            "other": _plain(self.other),
            "score": self.score,
            "other_score": self.other_score,
            "total": self.total,
            "by": terms.by,
            "sentence": self.sentence(by),
            "contributions": [
                {name: _plain(value) for name, value in row.items()} for row in terms.rows(check_count("top", top))
            ],
            "n_contributions": len(terms),
            "rest": dict(terms.rest),
        }

    def sentence(self, by: str | None = None, top: int = 3) -> str:
        """The explanation in words, with the ``top`` largest contributions."""
        return sentence(self.terms(by), (self.query, self.object, self.other), self.total, top)

    def plot(self, by: str | None = None, *, top: int = SHOWN, ax: Any = None) -> Any:
        """A waterfall: one bar for each of the ``top`` contributions, from zero to the total."""
        from condrank.plots import WaterfallDisplay

        return WaterfallDisplay.from_explanation(self, by, top=top).plot(ax=ax)

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>{self.terms().to_html()}"


def _plain(value: Any) -> Any:
    """A value that JSON has; dates and the like as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
