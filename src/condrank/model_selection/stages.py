"""The stages of a search: what is tried first, and what is then changed in the best choice so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from condrank.baselines import NearestNeighbours, PopularityRanker, SimilarityRanker, StrengthRanker
from condrank.graph import RelationGraph
from condrank.kernels import Linear, read_kernel
from condrank.model_selection.candidates import Candidate
from condrank.model_selection.choices import DISTANCES, GIVEN, Choice, Part, Side, Space
from condrank.model_selection.preparation import QUANTILE, RAW, STANDARD, UNIT
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.observations.edges import all_edges

# Changes of widths, powers, weights of views, constants and identities.
WIDTHS, POWERS, WEIGHTS = (0.3, 3.0), (2, 4), (0.1, 10.0)
# Larger powers of a kernel are nearly an identity. So are those that make the value of most pairs of nodes less than
# this share of the diagonal: their scores would drown in the rounding of the mean of the labels.
MOST_POWER, LEAST_VALUE = 32, 1e-6
CONSTANTS, IDENTITIES = (0.1, 1.0, 10.0), (0.1, 1.0)
NEIGHBOURS = (5, 20)
# Features are standardised already if nearly all deviations are within this factor of each other.
ALIKE = 1.5
# At most this many features are tried as compared features, the most promising first.
MOST_COMPARED = 3
# At most so many features are weighted.
MOST_WEIGHTED = 100
Stage = Callable[[Space, Choice], Iterator[Choice]]


def matrices_of(nodes: Nodes, kernel: Any) -> frozenset[str | None]:
    """Views that are kernel matrices: marked as such, named in a given kernel, or square and symmetric."""
    named = frozenset() if kernel is None else read_kernel(kernel).matrices
    views = [*nodes.base.parts] if isinstance(nodes.base, Views) else [None]
    return frozenset(view for view in views if view in named or _is_matrix(nodes.view(view)))


def _is_matrix(nodes: Nodes) -> bool:
    base = nodes.base
    if nodes.is_kernel:
        return True
    if sparse.issparse(base) or base.shape[0] != base.shape[1] or base.shape[0] < 2:
        return False
    # Up to rounding: columns of a kernel matrix that are taken as features would contain held-out nodes.
    gap = float(np.abs(base - base.T).max())
    return gap <= 1e-5 * float(np.abs(base).max())


def sides_for(space: Space, number: int, matrices: frozenset[str | None]) -> list[tuple[str, Side]]:
    """Preparations and kernels of one side to begin with; the first is the default."""
    nodes = space.samples[number]
    views = [*nodes.base.parts] if isinstance(nodes.base, Views) else [None]
    options = {view: _parts(space, number, view, view in matrices) for view in views}
    if len(views) == 1:
        return [(way, Side((part,))) for way, part in options[views[0]]]
    # Several views: their sum, each alone, and another kernel for one of them; all on features as they are.
    plain = {view: [part for way, part in parts if way == RAW] for view, parts in options.items()}
    first = tuple(parts[0] for parts in plain.values())
    found = [Side(first), *(Side((part,)) for part in first)]
    for place, parts in enumerate(plain.values()):
        found += [Side((*first[:place], part, *first[place + 1 :])) for part in parts[1:]]
    return [(RAW, side) for side in found]


def _parts(space: Space, number: int, view: str | None, is_matrix: bool) -> list[tuple[str, Part]]:
    """Preparations and kernels of one view, the default first."""
    if is_matrix:
        nodes = space.samples[number].view(view)
        diagonal = np.diag(nodes.kernel_with(nodes))
        even = np.ptp(diagonal) <= 1e-6 * np.abs(diagonal).max() or diagonal.min() <= 0
        return [(RAW, Part(view, family)) for family in (("precomputed",) if even else ("unit", "precomputed"))]
    if sparse.issparse(space.samples[number].view(view).base):
        found = [(RAW, Part(view, "cosine")), (UNIT, Part(view, "rbf")), (RAW, Part(view, "linear"))]
        lengths = Linear().diagonal(space.sample(number, view, RAW))
        # Of rows of unit length, as tf-idf has them, linear and cosine kernels are the same.
        return found[:2] if np.allclose(lengths[lengths > 0], 1, atol=1e-3) else found
    low, high = np.quantile(space.deviations(number, view), (0.1, 0.9))
    if high <= ALIKE * low:
        near = [(RAW, Part(view, "rbf")), (RAW, Part(view, "laplacian"))]
        return [*near, (RAW, Part(view, "linear")), (RAW, Part(view, "cosine")), (QUANTILE, Part(view, "laplacian"))]
    return [
        (RAW, Part(view, "rbf", standard=True)),
        (STANDARD, Part(view, "linear")),
        (RAW, Part(view, "cosine")),
        (RAW, Part(view, "rbf")),
        (RAW, Part(view, "laplacian", standard=True)),
        (QUANTILE, Part(view, "laplacian")),
        (STANDARD, Part(view, "cosine")),
    ]


def first_choices(space: Space, relation: str, loss: str, matrices: list[frozenset[str | None]]) -> list[Choice]:
    """Kernels and preparations to begin with. A reciprocal relation always has a constant: strengths of the nodes."""
    constant = 1.0 if relation == "reciprocal" else 0.0
    options = [sides_for(space, number, matrices[number]) for number in range(len(space.samples))]
    if len(options) == 1:
        pairs = [(way, side, None) for way, side in options[0]]
    else:
        (default, rows), (_, cols) = options[0][0], options[1][0]
        pairs = [(default, rows, cols)]
        # The same change on both sides, and then on one of them.
        pairs += [(way, one, other) for (way, one), (same, other) in zip(*options, strict=False) if way == same]
        pairs += [(way, side, cols) for way, side in options[0] if way == RAW]
        pairs += [(way, rows, side) for way, side in options[1] if way == RAW]
    found: dict[Choice, None] = {}
    for way, rows, cols in pairs:
        found[Choice(replace(rows, constant=constant), cols, relation, loss, way)] = None
    return [*found]


def baselines(space: Space, defaults: list[Choice], graph: RelationGraph) -> Iterator[Candidate]:
    """Baselines that suit a graph, the cheapest first. They rank by the edges that start at the conditioning node."""
    first = defaults[0]
    if space.rank_by != "outgoing":
        return
    kernels: dict[str, Any] = {"kernel": _plain(space, first, 0)}
    if first.cols is not None:
        kernels["object_kernel"] = _plain(space, first, 1)
    if first.relation == "reciprocal":
        yield Candidate("strengths without features", StrengthRanker(**kernels), is_baseline=True)
    else:
        yield Candidate("popularity without features", PopularityRanker(**kernels), is_baseline=True)
    alike = [choice for choice in defaults if choice.preparation == RAW]
    if first.cols is None and first.relation != "reciprocal":
        for choice in _different(alike):
            name = f"similarity: {replace(choice.rows, constant=0.0)}"
            ranker = SimilarityRanker(_plain(space, choice, 0))
            yield Candidate(name, ranker, complexity=1, choice=choice, is_baseline=True)
    for k in NEIGHBOURS:
        yield Candidate(f"{k} nearest neighbours", NearestNeighbours(k, **kernels), complexity=2, is_baseline=True)
    if graph.is_complete:
        # Given kernels as they are and of unit length; of features the default kernel.
        for choice in _different(alike) if first.is_given else alike[:1]:
            found = space.candidate(_in_two_steps(choice))
            yield replace(found, name=found.name.split(":")[0] if choice is first else found.name, is_baseline=True)


def _plain(space: Space, choice: Choice, number: int) -> Any:
    """The kernel of a side without a constant, on features as they are."""
    return space.kernel(number, replace(choice.sides[number], constant=0.0), RAW)[0]


def _different(choices: list[Choice]) -> list[Choice]:
    """Choices whose kernels order nodes differently: with a width, one kernel of a view and a family is enough."""
    return choices[:4]


# Changes of the best choice so far


def prior(space: Space, best: Choice) -> Iterator[Choice]:
    """A similarity prior, for relations that can have one."""
    if best.cols is None and best.relation != "reciprocal" and best.pairwise_kernel is None and not best.prior:
        yield replace(best, prior=True)


def constants(space: Space, best: Choice) -> Iterator[Choice]:
    """A constant of another weight, for each side."""
    for number, side in enumerate(best.sides):
        for weight in CONSTANTS:
            if weight != side.constant:
                yield best.with_side(number, replace(side, constant=weight))


def losses(space: Space, best: Choice) -> Iterator[Choice]:
    """The other one of the losses that are quick to minimise."""
    yield replace(best, loss="ranking" if best.loss == "regression" else "regression")


def logistic(space: Space, best: Choice) -> Iterator[Choice]:
    """The logistic loss of games: many times slower to minimise, so it is tried with the best kernel only."""
    if best.relation == "reciprocal":
        yield replace(best, loss="logistic")


def shapes(space: Space, best: Choice) -> Iterator[Choice]:
    """Other widths, and powers of kernels of unit length."""
    for number, side in enumerate(best.sides):
        for place, part in enumerate(side.parts):
            for changed in _shapes(space, number, part, best.preparation):
                parts = (*side.parts[:place], changed, *side.parts[place + 1 :])
                yield best.with_side(number, replace(side, parts=parts))


def _shapes(space: Space, number: int, part: Part, preparation: str) -> Iterator[Part]:
    if part.family in DISTANCES:
        for width in WIDTHS:
            yield replace(part, width=part.width * width)
    elif part.family in ("cosine", *GIVEN):
        typical = space.typical(number, part, preparation)
        for power in (part.power * one for one in POWERS):
            if power <= MOST_POWER and typical**power >= LEAST_VALUE:
                yield replace(part, power=power)


def weights(space: Space, best: Choice) -> Iterator[Choice]:
    """Other weights of views, and sums without one of them."""
    for number, side in enumerate(best.sides):
        if len(side.parts) == 1:
            continue
        for place, part in enumerate(side.parts):
            rest = (*side.parts[:place], *side.parts[place + 1 :])
            yield best.with_side(number, replace(side, parts=rest))
            for weight in WEIGHTS:
                changed = replace(part, weight=part.weight * weight)
                parts = (*side.parts[:place], changed, *side.parts[place + 1 :])
                yield best.with_side(number, replace(side, parts=parts))


def compared(space: Space, best: Choice) -> Iterator[Choice]:
    """Compared features, one more each time; the most promising first."""
    views = isinstance(space.graph.nodes.base, Views) and len(space.graph.nodes.base.parts) > 1
    if best.relation != "reciprocal" or views or best.rows.parts[0].family in GIVEN:
        return
    for feature in promising(space.graph, MOST_COMPARED + len(best.compared)):
        if feature not in best.compared:
            yield replace(best, compared=(*best.compared, feature))


def promising(graph: RelationGraph, most: int) -> list[int]:
    """Features of which it matters most who has more: |Σ (y - c) sign(x - x')| over the edges. O(n_edges d)."""
    edges, X = all_edges(graph.relation), graph.nodes.view(None).rows
    X = X.toarray() if sparse.issparse(X) else X
    y = (edges.values - graph.centre) * edges.weights
    gains = [abs(float(y @ np.sign(x[edges.sources] - x[edges.indices]))) for x in X.T]
    return [int(feature) for feature in np.argsort(gains)[::-1][:most] if gains[feature] > 0]


def pair_kernels(space: Space, best: Choice) -> Iterator[Choice]:
    """Other kernels between edges, without a prior and compared features."""
    if best.relation == "reciprocal" or best.loss == "logistic":
        return
    plain = replace(best, prior=False, relevance=False)
    names = ("mlpk",) if best.relation == "symmetric" else ("linear", "poly2D")
    for name in names:
        yield replace(plain, pairwise_kernel=name)


def relevance(space: Space, best: Choice) -> Iterator[Choice]:
    """Weights of the features of one view, learned by descent; for RBF and Laplacian kernels without a prior."""
    part, X = best.rows.parts[0], space.samples[0].base
    single = best.cols is None and len(best.rows.parts) == 1 and not best.rows.identity and best.pairwise_kernel is None
    dense = not sparse.issparse(X) and not isinstance(X, Views)
    few = dense and X.shape[1] <= MOST_WEIGHTED
    if single and few and part.family in DISTANCES and part.power == 1 and not best.prior and not best.relevance:
        yield replace(best, relevance=True)


def two_step(space: Space, best: Choice | None, default: Choice) -> Iterator[Choice]:
    """Two-step ridge with the kernels of the best choice, or with the default ones if that prepares features."""
    chosen = default if best is None or best.preparation != RAW else best
    if space.rank_by == "outgoing" and chosen.preparation == RAW:
        yield _in_two_steps(chosen)


def _in_two_steps(choice: Choice) -> Choice:
    """Two-step ridge with the kernels of a choice, without constants and identities."""
    sides = [replace(side, constant=0.0, identity=0.0) for side in choice.sides]
    return Choice(sides[0], None if choice.cols is None else sides[1], choice.relation, "regression", two_step=True)


def main_effects(known: tuple[bool, ...]) -> Stage:
    """A constant on every side and an identity of those whose nodes are known, at once.

    A constant of one side times an identity of the other is a mean of each node, such as its popularity. One without
    the other gains little, so steps of one part each would not find them.
    """

    def stage(space: Space, best: Choice) -> Iterator[Choice]:
        if any(known):
            for weight in CONSTANTS[1:]:
                sides = [
                    replace(side, constant=weight, identity=IDENTITIES[-1] if is_known else 0.0)
                    for side, is_known in zip(best.sides, known, strict=True)
                ]
                yield replace(best, rows=sides[0], cols=None if best.cols is None else sides[1])

    return stage


def identities(known: tuple[bool, ...]) -> Stage:
    """Identities of sides whose nodes are known in the setting."""

    def stage(space: Space, best: Choice) -> Iterator[Choice]:
        for number, side in enumerate(best.sides):
            if known[number]:
                for weight in IDENTITIES:
                    yield best.with_side(number, replace(side, identity=weight))

    return stage
