"""What is asked: the score of an object for a conditioning node, or the difference of the scores of two objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from condrank.fitting.fitted import FittedRanker
from condrank.fitting.judging import edge_scores
from condrank.graph.relation_graph import Conditioned
from condrank.models import ComparedModel, EdgeModel, Model
from condrank.nodes import Nodes
from condrank.observations import Edges
from condrank.products.compared import compared_values
from condrank.products.edge_kernels import NEW_NODES


@dataclass(frozen=True)
class Asked:
    """A conditioning node and one or two objects; the second one's score is subtracted.

    Attributes
    ----------
    fitted : FittedRanker
        The fitted ranker.
    query : Nodes of length 1
        The conditioning node.
    objects : tuple of one or two Nodes of length 1
        The object, and the other one.
    """

    fitted: FittedRanker
    query: Nodes
    objects: tuple[Nodes, ...]

    @property
    def model(self) -> Any:
        """The fitted model."""
        return self.fitted.model

    @property
    def signs(self) -> np.ndarray:
        """1 for the object, -1 for the other one."""
        return np.array([1.0, -1.0])[: len(self.objects)]

    def difference(self, values: Any) -> Any:
        """Values of the objects (one row each), the other one's subtracted."""
        return values[0] if len(self.objects) == 1 else values[0] - values[1]

    def scores(self) -> np.ndarray:
        """Scores of the objects, (1,) or (2,)."""
        if isinstance(self.model, Model) and not self.model.logistic and not self.model.prior_weight:
            z, others = self.coordinates  # contributions need them too, and they take as long as the scores
            scores = (others @ (z @ self.model.W.astype(z.dtype, copy=False)) + self.model.offset).astype(np.float64)
        else:
            pair = Edges(np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp), np.zeros(1), None, (1, 1))
            parts = [edge_scores(self.model, Conditioned(self.query, one, pair)) for one in self.objects]
            scores = np.concatenate(parts).astype(np.float64)
        if not np.isfinite(scores).all():
            raise ValueError("the score is not finite: scale the features or the labels to numbers near 1")
        return scores

    def rest(self) -> dict[str, float]:
        """What is in the score beside the learned part, by name; zeros are left out."""
        model, signs = self.model, self.signs
        found, count = dict[str, float](), float(signs.sum())
        if getattr(model, "prior_weight", 0.0):
            similarity = [float(model.cols.similarity(self.query, one)[0, 0]) for one in self.objects]
            found["prior"] = float(model.prior_weight) * float(signs @ similarity)
        if not model.logistic:
            centre = self.fitted.settings.centre
            found |= {"intercept": (float(model.offset) - centre) * count, "centre": centre * count}
        return {name: value for name, value in found.items() if value}

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """z (r,) of the conditioning node, and z' (n_objects, r') of the objects."""
        cols = self.model.cols
        return self.model.rows.transform(self.query)[0], np.concatenate([cols.transform(one) for one in self.objects])

    def compared_signs(self) -> np.ndarray:
        """Sign of each compared feature of the conditioning node minus that of each object, (n_compared, n_objects)."""
        model = self.model
        assert isinstance(model, ComparedModel)
        signs = []
        for other in self.objects:
            kinds = (model.rows.nodes.dtype, self.query.dtype, other.dtype)
            dtype = min(kinds, key=lambda kind: kind.itemsize)  # as `ComparedModel` compares them
            signs.append(
                np.sign(np.subtract(*(compared_values(one, model.compared, dtype) for one in (self.query, other))))
            )
        return np.hstack(signs)

    def edge_values(self) -> np.ndarray:
        """k̄ between the observed edges and what is asked, (n_pairs,), of a model over edges."""
        model = self.model
        assert isinstance(model, EdgeModel)
        if model.kernel.known_only:
            places = model.rows.places(self.query), np.concatenate([model.cols.places(one) for one in self.objects])
            if any((place < 0).any() for place in places):
                raise ValueError(NEW_NODES)
            sizes = model.rows.n_nodes, model.cols.n_nodes
            k, others = (np.eye(n)[place] for n, place in zip(sizes, places, strict=True))
            k = k[0]
        else:
            k, others = self.coordinates
        return self.difference([model.kernel.between(k, g) for g in others])
