"""Weights of the kernels in a sum: by the evidence of a complete graph, or by the loss on held-out nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count
from condrank.fitting.judging import NOTHING_TO_RANK, rankable
from condrank.fitting.reading import fitted_kernel, read_settings
from condrank.graph import RelationGraph
from condrank.kernels import Kernel, read_kernel
from condrank.kernels.composed import weighted_sum
from condrank.model_selection._splitter import check_graph
from condrank.model_selection.candidates import Candidate
from condrank.model_selection.evidence import Evidence
from condrank.model_selection.judging import Judge, Judged, quiet
from condrank.model_selection.splits import SettingShuffleSplit
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.rankers.conditional import ConditionalRanker

# Weights of kernels of mean diagonal one are searched within e^±BOUND; λ, which goes with their square, within thrice
# that in the exponent.
BOUND = 12.0
# Weights below this share of the largest are left out of the result.
NEGLIGIBLE = 1e-4
# Steps of a search by held-out loss: factors of one weight at a time, and the λ that are tried.
FACTORS = (0.0, 0.1, 10.0)
ALPHAS = (100.0, 10.0, 1.0, 0.1, 1e-2, 1e-3)


@dataclass(frozen=True)
class KernelWeights:
    """What `learn_kernel_weights` found.

    Attributes
    ----------
    kernel : Kernel
        Weighted sum of the kernels, for ``ConditionalRanker(kernel=...)``. Kernels of negligible weight are left out.
    object_kernel : Kernel or None
        The same for the objects of a second domain.
    alpha : float
        λ that goes with these weights.
    weights, object_weights : ndarray
        A weight for each of the given kernels, 0 for those left out.
    method : {"evidence", "holdout"}
        How they were found.
    value : float
        Negative log evidence per label, or rank loss on held-out nodes: the lower, the better.
    n_tried : int
        Number of weights that were evaluated.
    """

    kernel: Kernel
    object_kernel: Kernel | None
    alpha: float
    weights: np.ndarray
    object_weights: np.ndarray | None
    method: str
    value: float
    n_tried: int


def learn_kernel_weights(
    graph: RelationGraph,
    kernels: Sequence[Any],
    object_kernels: Sequence[Any] | None = None,
    *,
    ranker: ConditionalRanker | None = None,
    method: str = "auto",
    max_nodes: int = 500,
    setting: int = 4,
    n_splits: int = 3,
    random_state: Any = 0,
) -> KernelWeights:
    """Weights of kernels whose sum suits a relation, from the labels of the training nodes.

    Parameters
    ----------
    graph : RelationGraph
        Training nodes, with the views of all kernels.
    kernels, object_kernels : sequence of Kernel or str
        The kernels to add up; those of the objects only for a second domain (by default the same kernels).
    ranker : ConditionalRanker, optional
        Its relation, loss and ``rank_by`` are used; by default those of ``ConditionalRanker()``.
    method : {"auto", "evidence", "holdout"}
        "evidence" maximises the likelihood of the labels of a complete graph under the model of regression: one
        eigendecomposition a step, whatever the number of kernels. "holdout" changes one weight at a time and keeps what
        lowers the rank loss on held-out nodes. "auto": by evidence if the graph is complete.
    max_nodes : int
        Evidence is taken from at most this many nodes of each side, drawn at random.
    setting, n_splits : int
        What is new in the holdouts, and their number (method "holdout").
    random_state : int, RandomState instance or None
        Seed of the draws.

    Returns
    -------
    KernelWeights

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import RelationGraph
    >>> from condrank.kernels import RBF, Constant
    >>> from condrank.model_selection import learn_kernel_weights
    >>> rng = np.random.default_rng(0)
    >>> useful, noise = rng.normal(size=(2, 60, 2))
    >>> graph = RelationGraph({"useful": useful, "noise": noise}, np.sin(useful[:, :1] + useful[:, 1]))
    >>> kernels = [RBF("median", view="useful"), RBF("median", view="noise"), Constant()]
    >>> learned = learn_kernel_weights(graph, kernels)
    >>> bool(learned.weights[0] > 100 * learned.weights[1])
    True
    """
    check_graph(graph)
    check_choice("method", method, ("auto", "evidence", "holdout"))
    check_count("max_nodes", max_nodes, 2)
    ranker = ConditionalRanker() if ranker is None else ranker
    for name, some in (("kernels", kernels), ("object_kernels", object_kernels)):
        if isinstance(some, str | Kernel):
            raise ValueError(f"{name} must be a sequence of kernels, the summands to weigh, got {some!r}; write [...]")
    given = [read_kernel(kernel) for kernel in kernels]
    if not given:
        raise ValueError("kernels must have at least one kernel, got none")
    if object_kernels is not None and not graph.is_two_domain:
        raise ValueError("object_kernels is for the objects of a second domain, but the graph has one domain")
    others = given if object_kernels is None else [read_kernel(kernel) for kernel in object_kernels]
    if not others:
        raise ValueError("object_kernels must have at least one kernel, got none")
    if method == "auto":
        method = "evidence" if graph.is_complete and ranker.loss != "logistic" else "holdout"
    if method == "evidence" and not graph.is_complete:
        raise ValueError(
            f"method='evidence' needs a complete graph, but {graph.density:.2%} of the pairs are observed; use "
            "'holdout'"
        )
    random = check_random_state(random_state)
    if method == "evidence":
        return _by_evidence(graph, given, others, ranker, max_nodes, random)
    splits = SettingShuffleSplit(setting, n_splits=n_splits, random_state=random)
    return _by_holdout(graph, given, others, ranker, splits)


def _by_evidence(
    graph: RelationGraph, kernels: list[Kernel], others: list[Kernel], ranker: Any, max_nodes: int, random: Any
) -> KernelWeights:
    rows, cols = (_drawn(len(side), max_nodes, random) for side in (graph.nodes, graph.objects))
    some = graph.cut(rows, cols) if graph.is_two_domain else graph[rows]
    asked: dict[str, Any] = {"kernel": weighted_sum([(1.0, one) for one in kernels])}
    if graph.is_two_domain:
        asked["object_kernel"] = weighted_sum([(1.0, one) for one in others])
    settings = read_settings(ConditionalRanker(**_objective(ranker), **asked), some)
    Y = some.to_dense().astype(np.float64)
    Y = Y - (settings.centre if settings.relation.sign < 0 else Y.mean())
    K, scales = _matrices(kernels, some.nodes)
    G, object_scales = _matrices(others, some.objects) if graph.is_two_domain else (K, scales)
    evidence = Evidence(settings.relation, Y, K, G)
    n_free = len(K) + (len(G) if graph.is_two_domain else 0)
    if not np.abs(settings.relation.project(Y) if settings.relation.sign else Y).max() > 0:
        raise ValueError(f"all labels are equal for a {settings.relation.name} relation: no weights follow from them")
    start = np.append(np.full(n_free, -np.log(len(K))), 0.0)
    bounds = [(-BOUND, BOUND)] * n_free + [(-3 * BOUND, 3 * BOUND)]
    found = optimize.minimize(evidence, start, jac=True, method="L-BFGS-B", bounds=bounds)
    weights = np.exp(found.x)
    # The weights of a side times any number, and λ times it too, are the same model: their sum becomes one.
    first, second = weights[: len(K)], weights[len(K) : -1] if graph.is_two_domain else weights[: len(K)]
    first, second = (_of_kernels(*side) for side in ((first, K), (second, G)))
    alpha = float(weights[-1] / first.sum() / second.sum())
    first, second = first / first.sum() / scales, second / second.sum() / object_scales
    given = (first, second if graph.is_two_domain else None)
    return _result(kernels, others, *given, alpha, "evidence", float(found.fun), int(found.nfev))


def _by_holdout(
    graph: RelationGraph, kernels: list[Kernel], others: list[Kernel], ranker: Any, splits: Any
) -> KernelWeights:
    """One weight at a time, as long as the loss on the same holdouts falls by more than its standard error."""
    two, n_tried = graph.is_two_domain, 0
    pairs = [pair for pair in splits.split(graph) if rankable(pair[1].conditioned(ranker.rank_by).observed)]
    if not pairs:
        raise ValueError(f"{NOTHING_TO_RANK} among held-out nodes; the search needs more nodes or edges")
    units = [test.conditioned(ranker.rank_by).queries.positions for _, test in pairs]
    judge = Judge(pairs, units, ranker.rank_by)
    scales = np.concatenate([_scales(kernels, graph.nodes), _scales(others, graph.objects) if two else []])
    weights = 1 / scales

    def judged(weights: np.ndarray) -> Judged:
        nonlocal n_tried
        n_tried += 1
        params: dict[str, Any] = {"kernel": _weighted(kernels, weights[: len(kernels)])}
        if two:
            params["object_kernel"] = _weighted(others, weights[len(kernels) :])
        found = judge.judge(Candidate("", ConditionalRanker(**_objective(ranker), **params), alphas=ALPHAS))
        assert found is not None  # nothing gives it up
        return found

    with quiet():
        best, better = judged(weights), True
        while better:
            better = False
            for i in range(len(weights)):
                for factor in FACTORS:
                    changed = weights.copy()
                    changed[i] = factor * (weights[i] or 1 / scales[i])
                    if changed[i] == weights[i] or not _any_left(changed, len(kernels), two):
                        continue
                    one = judged(changed)
                    difference, error = one.against(best)
                    if difference < -error:
                        best, weights, better = one, changed, True
                        break
    first, second = weights[: len(kernels)], weights[len(kernels) :] if two else None
    alpha = float(best.candidate.ranker.alpha)
    return _result(kernels, others, first, second, alpha, "holdout", best.loss, n_tried)


def _result(
    kernels: list[Kernel],
    others: list[Kernel],
    first: np.ndarray,
    second: np.ndarray | None,
    alpha: float,
    method: str,
    value: float,
    n_tried: int,
) -> KernelWeights:
    """The weighted sums, without kernels that do not matter."""
    kept = [None if one is None else np.where(one >= NEGLIGIBLE * one.max(), one, 0.0) for one in (first, second)]
    assert kept[0] is not None
    object_kernel = None if kept[1] is None else _weighted(others, kept[1])
    return KernelWeights(_weighted(kernels, kept[0]), object_kernel, alpha, kept[0], kept[1], method, value, n_tried)


def _objective(ranker: Any) -> dict[str, Any]:
    """The parameters of a ranker that say what is learned."""
    names = ("relation", "loss", "rank_by", "tol", "max_iter", "clip")
    return {name: getattr(ranker, name) for name in names}


def _drawn(n: int, most: int, random: Any) -> np.ndarray:
    return np.arange(n) if n <= most else np.sort(random.permutation(n)[:most])


def _matrices(kernels: list[Kernel], nodes: Nodes) -> tuple[list[np.ndarray], np.ndarray]:
    """Kernel matrices of mean diagonal one, and what they were divided by."""
    found = [NodeSimilarity(fitted_kernel(one, nodes), nodes).training_kernel().astype(np.float64) for one in kernels]
    scales = np.array([float(np.trace(K)) / len(K) or 1.0 for K in found])
    return [K / scale for K, scale in zip(found, scales, strict=True)], scales


def _of_kernels(weights: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
    """Weights without those of kernels that are zero on all nodes, of which labels say nothing."""
    there = np.array([bool(K.any()) for K in matrices])
    if not there.any():
        raise ValueError("all kernels are zero on all nodes: nothing can be learned from them")
    return np.where(there, weights, 0.0)


def _scales(kernels: list[Kernel], nodes: Nodes) -> np.ndarray:
    """Mean diagonal of each kernel."""
    return np.array(
        [float(NodeSimilarity(fitted_kernel(one, nodes), nodes).diagonal().mean()) or 1.0 for one in kernels]
    )


def _weighted(kernels: list[Kernel], weights: np.ndarray) -> Kernel:
    return weighted_sum([(float(w), kernel) for w, kernel in zip(weights, kernels, strict=True) if w > 0])


def _any_left(weights: np.ndarray, n_first: int, two: bool) -> bool:
    return bool(weights[:n_first].any() and (not two or weights[n_first:].any()))
