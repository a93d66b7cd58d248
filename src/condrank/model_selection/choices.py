"""What a search can choose: kernels of each side, prior, loss and the like; as rankers, and in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from condrank.baselines import TwoStepRidge
from condrank.graph import RelationGraph
from condrank.kernels import RBF, Constant, Cosine, Identity, Kernel, Laplacian, Linear, Precomputed, Unit
from condrank.kernels.composed import weighted_sum
from condrank.kernels.widths import median_width
from condrank.model_selection.candidates import Candidate
from condrank.model_selection.preparation import RAW, STANDARD, Scaling
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.views import Views
from condrank.rankers.conditional import ConditionalRanker

# Values of λ for kernels of mean diagonal one.
ALPHAS = tuple(10.0**power for power in range(5, -5, -1))
# Weights of a similarity prior whose spread is that of the labels.
PRIOR_WEIGHTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Steps of the descent for feature weights and λ, and the λ that it starts from.
N_STEPS, RELEVANCE_ALPHAS = 30, (1.0,)
# Number of nodes from which widths and scales are computed.
SAMPLE = 300
# Precision of the fits that are judged.
SEARCH = {"tol": 1e-4, "max_iter": 200}
# Of the logistic loss: Newton's gradient, whose size says more about the scores than a residual does.
NEWTON_SEARCH = SEARCH | {"tol": 3e-3}
FAMILIES = {"linear": Linear, "cosine": Cosine, "rbf": RBF, "laplacian": Laplacian}
DISTANCES = ("rbf", "laplacian")
# Kernels that are given as matrices.
GIVEN = ("precomputed", "unit")


@dataclass(frozen=True)
class Part:
    """The kernel of one view.

    Attributes
    ----------
    view : str or None
        Name of the view.
    family : {"linear", "cosine", "rbf", "laplacian", "precomputed", "unit"}
        The kernel; "unit" is a given matrix scaled to unit length.
    standard : bool
        Whether features are divided by their standard deviation inside the kernel.
    width : float
        Factor of γ, where 1 is one over the median distance.
    power : int
        Elementwise power.
    weight : float
        Weight in the sum of the views.
    """

    view: str | None
    family: str
    standard: bool = False
    width: float = 1.0
    power: int = 1
    weight: float = 1.0

    def __str__(self) -> str:
        name = {"precomputed": "given kernel", "unit": "given kernel of unit length"}.get(self.family, self.family)
        parts = [name]
        parts += ["on standardised features"] if self.standard else []
        parts += [f"width {self.width:g}"] if self.width != 1 else []
        parts += [f"power {self.power}"] if self.power != 1 else []
        parts += [f"weight {self.weight:g}"] if self.weight != 1 else []
        text = " ".join(parts)
        return text if self.view is None else f"{text} of {self.view}"


@dataclass(frozen=True)
class Side:
    """The kernel of one side: a sum over views, a constant and an identity."""

    parts: tuple[Part, ...]
    constant: float = 0.0
    identity: float = 0.0

    def __str__(self) -> str:
        parts = [str(part) for part in self.parts]
        parts += [f"constant {self.constant:g}"] if self.constant else []
        parts += [f"identity {self.identity:g}"] if self.identity else []
        return " + ".join(parts)

    @property
    def complexity(self) -> int:
        """Number of parts and of changed parameters."""
        changed = sum((part.width != 1) + (part.power != 1) + (part.weight != 1) for part in self.parts)
        return len(self.parts) + changed + (self.constant != 0) + (self.identity != 0)


@dataclass(frozen=True)
class Choice:
    """Everything that is chosen, except for λ and the weight of the prior."""

    rows: Side
    cols: Side | None
    relation: str
    loss: str
    preparation: str = RAW
    prior: bool = False
    compared: tuple[int, ...] = ()
    pairwise_kernel: str | None = None
    relevance: bool = False
    two_step: bool = False

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides, one in a single domain."""
        return (self.rows,) if self.cols is None else (self.rows, self.cols)

    @property
    def is_given(self) -> bool:
        """Whether a kernel is a given matrix, which may have negative eigenvalues."""
        return any(part.family in GIVEN for side in self.sides for part in side.parts)

    def with_side(self, number: int, side: Side) -> Choice:
        """The same with another kernel of one side."""
        return replace(self, rows=side) if number == 0 else replace(self, cols=side)

    @property
    def complexity(self) -> int:
        """Number of parts and of changed parameters."""
        own = (self.preparation != RAW) + self.prior + len(self.compared) + 2 * (self.pairwise_kernel is not None)
        return own + 2 * self.relevance + self.two_step + sum(side.complexity for side in self.sides)

    def __str__(self) -> str:
        kernels = " × ".join(map(str, self.sides))
        parts = [f"{'two-step ridge' if self.two_step else self.loss}: {kernels}"]
        parts += [f"{self.preparation} features"] if self.preparation != RAW else []
        parts += ["similarity prior"] if self.prior else []
        parts += [f"compared {list(self.compared)}"] if self.compared else []
        parts += [f"{self.pairwise_kernel} pair kernel"] if self.pairwise_kernel else []
        parts += ["feature weights"] if self.relevance else []
        return ", ".join(parts)


class Space:
    """The graph of a search as far as choices need it: views, widths, scales.

    Parameters
    ----------
    graph : RelationGraph
        The nodes among which is searched; reserved nodes are not among them.
    given : ConditionalRanker
        Parameters that are not searched.
    random : RandomState
        Draws the nodes that are measured.
    """

    def __init__(self, graph: RelationGraph, given: ConditionalRanker, random: np.random.RandomState):
        self.graph, self.given = graph, given
        sides = (graph.nodes, graph.objects) if graph.is_two_domain else (graph.nodes,)
        self.places = [np.sort(random.permutation(len(side))[:SAMPLE]) for side in sides]
        self.samples = [side.take(place) for side, place in zip(sides, self.places, strict=True)]
        self.rank_by = given.rank_by
        self._rows: dict[Any, Any] = {}
        self._medians: dict[Any, float] = {}

    def sample(self, side: int, view: str | None, preparation: str) -> Any:
        """Prepared features of some nodes, or the given kernel among them."""
        key = side, view, preparation
        if key not in self._rows:
            rows = self.samples[side].view(view).rows
            self._rows[key] = Scaling.fit(preparation, rows).apply(rows)
        return self._rows[key]

    def deviations(self, side: int, view: str | None) -> np.ndarray:
        """Standard deviations of features; 1 for features that are constant."""
        X = self.sample(side, view, RAW)
        if sparse.issparse(X):
            return Scaling.fit(STANDARD, X).learned["scale"]
        found = np.asarray(X, dtype=np.float64).std(axis=0)
        return np.where(found > 1e-7 * max(found.max(initial=0.0), 1e-30), found, 1.0)

    def leaf(self, side: int, part: Part, preparation: str) -> Kernel:
        """The kernel of a part, without its weight."""
        if part.family in GIVEN:
            leaf: Kernel = Precomputed(part.view)
            leaf = Unit(leaf) if part.family == "unit" else leaf
        else:
            weights = tuple((1 / self.deviations(side, part.view)).tolist()) if part.standard else None
            params: dict[str, Any] = {"view": part.view, "feature_weights": weights}
            if part.family in DISTANCES:
                params["gamma"] = part.width / self._median(side, part, preparation)
            leaf = FAMILIES[part.family](**params)
        return leaf**part.power if part.power > 1 else leaf

    def _median(self, side: int, part: Part, preparation: str) -> float:
        key = side, part.view, part.family, part.standard, preparation
        if key not in self._medians:
            X = self.sample(side, part.view, preparation)
            if part.standard:
                scale = 1 / self.deviations(side, part.view)
                X = sparse.csr_array(X @ sparse.diags_array(scale)) if sparse.issparse(X) else X * scale
            self._medians[key] = median_width(part.family, X)
        return self._medians[key]

    def scale(self, side: int, part: Part, preparation: str) -> float:
        """Mean of k(v, v)."""
        if part.family == "precomputed":
            nodes = self.samples[side].view(part.view)
            return float(np.abs(np.diag(nodes.kernel_with(nodes))).mean() ** part.power) or 1.0
        if part.family == "linear":
            leaf: Any = self.leaf(side, part, preparation)
            return float(leaf.diagonal(self.sample(side, part.view, preparation)).mean()) or 1.0
        return 1.0

    def kernel(self, number: int, side: Side, preparation: str) -> tuple[Kernel, float]:
        """The expression of a side and its mean diagonal without the constant."""
        scales = [self.scale(number, part, preparation) for part in side.parts]
        leaves = [self.leaf(number, part, preparation) for part in side.parts]
        if len(leaves) == 1:
            summands, scale = [(1.0, leaves[0])], scales[0]
        else:
            weights = [part.weight / own for part, own in zip(side.parts, scales, strict=True)]
            summands, scale = list(zip(weights, leaves, strict=True)), sum(part.weight for part in side.parts)
        extra: list[tuple[float, Kernel]] = [(side.constant, Constant()), (side.identity, Identity())]
        summands += [(weight * scale, kernel) for weight, kernel in extra if weight]
        return weighted_sum(summands), scale

    def unit(self, choice: Choice) -> float:
        """What λ is relative to: the product of the mean diagonals of the kernels."""
        scales = [self.kernel(number, side, choice.preparation)[1] for number, side in enumerate(choice.sides)]
        return scales[0] * scales[-1]

    def candidate(self, choice: Choice, alphas: tuple[float, ...] | None = None) -> Candidate:
        """The candidate of a choice, with its λ to try (relative to the scale of the kernels) and its prior weights."""
        kernels = [self.kernel(number, side, choice.preparation) for number, side in enumerate(choice.sides)]
        scale = kernels[0][1] * kernels[-1][1]
        params: dict[str, Any] = {"kernel": kernels[0][0]}
        if choice.cols is not None:
            params["object_kernel"] = kernels[1][0]
        if choice.two_step:
            alphas = tuple(one * kernels[0][1] for one in ALPHAS)
            ranker: Any = TwoStepRidge(fit_intercept=True, clip=choice.is_given, **params)
            return Candidate(str(choice), ranker, alphas=alphas, complexity=choice.complexity, choice=choice)
        if choice.relevance:
            # The descent starts from the standard deviations inside the kernel.
            part, leaf = choice.rows.parts[0], kernels[0][0].body
            start = leaf.feature_weights or (1.0,) * self.graph.n_features_in_  # pyright: ignore
            params = {"kernel": part.family, "gamma": leaf.gamma, "feature_weights": list(start)}  # pyright: ignore
            params["constant"] = choice.rows.constant
            alphas = RELEVANCE_ALPHAS
        if choice.compared:
            params["compared"] = list(choice.compared)
        if choice.prior:
            params["prior"] = "similarity"
        regression = choice.loss == "regression" and choice.relation != "reciprocal"
        ranker = ConditionalRanker(
            relation="ordinary" if choice.pairwise_kernel else choice.relation,
            loss=choice.loss,
            rank_by=self.rank_by,
            clip=choice.is_given,
            pairwise_kernel=choice.pairwise_kernel,
            fit_intercept=regression,
            **(NEWTON_SEARCH if choice.loss == "logistic" else SEARCH),
            **params,
        )
        taus: tuple[float, ...] = ()
        if choice.prior:
            unit = self.prior_scale(kernels[0][0], choice.preparation)
            taus = tuple(unit * one for one in PRIOR_WEIGHTS)
        return Candidate(
            str(choice),
            ranker,
            choice.preparation,
            tuple(one * scale for one in (ALPHAS if alphas is None else alphas)),
            taus,
            choice.complexity,
            choice,
            N_STEPS if choice.relevance else 0,
        )

    def typical(self, number: int, part: Part, preparation: str) -> float:
        """Median of |k(v, v')|/√(k(v, v) k(v', v')) of different nodes that have something in common; 1 without any."""
        K = np.abs(self.values(self.leaf(number, replace(part, power=1), preparation), preparation, number))
        scale = np.sqrt(np.multiply.outer(np.diag(K), np.diag(K)))
        found = ~np.eye(len(K), dtype=bool) & (K > 0) & (scale > 0)
        return min(float(np.median(K[found] / scale[found])), 1.0) if found.any() else 1.0

    def prior_scale(self, kernel: Kernel, preparation: str) -> float:
        """Spread of the labels over the spread of the kernel values of different nodes."""
        labels = self.graph.cut(self.places[0], self.places[-1]).to_dense()
        labels = labels[np.isfinite(labels)]
        K = self.values(kernel, preparation)
        K = K[~np.eye(len(K), dtype=bool)]
        spread = float(labels.std()) if len(labels) > 1 else 1.0
        return (spread or 1.0) / (float(K.std()) or 1.0)

    def values(self, kernel: Kernel, preparation: str, number: int = 0) -> np.ndarray:
        """Values of a kernel among the sampled nodes of a side. Only nodes with a single view are prepared."""
        nodes = self.samples[number]
        if preparation != RAW:
            views = [*nodes.base.parts] if isinstance(nodes.base, Views) else [None]
            rows = self.sample(number, views[0], preparation)
            nodes = Nodes(rows if views == [None] else Views({views[0]: rows}), None, nodes.ids)  # pyright: ignore
        return NodeSimilarity(kernel, nodes).similarity(None, None)
