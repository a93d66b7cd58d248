"""Table 2: train on some newsgroups, rank documents of others. First as in the paper, then with more methods."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from condrank import ConditionalRankerCV, RelationGraph
from condrank.baselines import SimilarityRanker

from .. import trees
from ..results import Row, Run, clock, mean_and_error
from . import documents

PAPER = {"c.rank": (0.2562, 0.2895), "c.reg": (0.3685, 0.3967)}
LOSS = {"c.rank": "ranking", "c.reg": "regression"}
TABLE = "Table 2: unseen newsgroups"
BEYOND = "Unseen newsgroups, beyond the paper"
TREE_COORDINATES = 100
PARTS = 10
PRIOR_WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def both_ways(run: Run) -> list[tuple[str, Any, Any]]:
    """Set 1 for training and set 2 for testing, and the other way round."""
    sets = documents.load(run, "set1"), documents.load(run, "set2")
    return [("set 1 → set 2", *sets), ("set 2 → set 1", *sets[::-1])]


def table_2(run: Run) -> Iterator[Row]:
    """Word counts with a linear kernel, as in the paper."""
    for place, (data, train, test) in enumerate(both_ways(run)):
        cv = documents.two_halvings(train, run.seed)
        for method, loss in LOSS.items():
            run.step(f"{data}: {method}, counts")
            ranker = chosen(counts_alphas(run), cv, relation="ordinary", loss=loss)
            yield row(run, TABLE, data, f"{method}", ranker, train.graph, test.graph, PAPER[method][place])


def beyond(run: Run) -> Iterator[Row]:
    """Tf-idf of unit length, with and without symmetry and prior; then trees."""
    for data, train, test in both_ways(run):
        graphs = documents.graphs(documents.tf_idf(), train, test)
        cv = documents.two_halvings(train, run.seed)
        run.step(f"{data}: cosine")
        yield row(run, BEYOND, data, "cosine similarity of tf-idf (unsupervised)", SimilarityRanker("linear"), *graphs)
        for relation in ("ordinary", "symmetric"):
            for method, loss in LOSS.items():
                # The prior is symmetric; with an ordinary relation it gives nearly the same result.
                for prior in (None, "similarity") if relation == "symmetric" else (None,):
                    name = f"{method}, tf-idf, {relation}" + (", similarity prior" if prior else "")
                    run.step(f"{data}: {name}")
                    ranker = chosen(alphas(run), cv, relation=relation, loss=loss, prior=prior)
                    yield row(run, BEYOND, data, name, ranker, *graphs)
        n_coordinates = 8 if run.quick else TREE_COORDINATES
        low = documents.graphs(documents.low_rank(n_coordinates, run.seed), train, test)
        note = f"{n_coordinates} SVD coordinates of tf-idf"
        ranker = chosen(alphas(run), cv, relation="symmetric", prior="similarity")
        run.step(f"{data}: low rank")
        yield row(run, BEYOND, data, "c.rank, symmetric, similarity prior, low rank", ranker, *low, note=note)
        for library in trees.LIBRARIES:
            run.step(f"{data}: {library}")
            yield tree_row(run, data, library, *low, cv, note)


def alphas(run: Run) -> np.ndarray:
    """The λ to try on unit-length documents."""
    return 2.0 ** np.arange(-12, 17, 14 if run.quick else 2)


def counts_alphas(run: Run) -> np.ndarray:
    """The λ to try on word counts, whose kernel has values in the thousands."""
    return 2.0 ** np.arange(12, 41, 14 if run.quick else 2)


def chosen(alphas: np.ndarray, cv: Any, **settings: Any) -> ConditionalRankerCV:
    """A ranker that chooses λ, and τ if there is a prior, with training newsgroups held out."""
    weights = PRIOR_WEIGHTS if settings.get("prior") else None
    return ConditionalRankerCV(alphas=alphas, cv=cv, prior_weights=weights, **settings)


def row(
    run: Run,
    table: str,
    data: str,
    method: str,
    ranker: Any,
    train: RelationGraph,
    test: RelationGraph,
    paper: float | None = None,
    note: str = "",
) -> Row:
    """Fit, judge on all pairs of the test documents, and on parts of them for the standard error."""
    with clock() as seconds, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best λ")  # the note says so
        measured = 1 - ranker.fit(train).score(test)
    _, error = mean_and_error(part_losses(run, ranker, test))
    if hasattr(ranker, "alpha_"):
        note = "; ".join(filter(None, [chosen_parameters(ranker), note]))
    protocol = f"{len(train):,} training and {len(test):,} test documents of other groups; setting 4"
    return Row(table, data, method, measured, error, paper, seconds(), run.seed, protocol, note)


def chosen_parameters(ranker: Any) -> str:
    """λ and τ as text, and whether one is at an end of the tried values."""
    last = " (the last one tried)"
    text = f"λ = 2^{np.log2(ranker.alpha_):.0f}" + last * (ranker.alpha_ in (ranker.alphas_[0], ranker.alphas_[-1]))
    if ranker.prior:
        text += f", τ = {ranker.prior_weight_:g}" + last * (
            ranker.prior_weight_ in (PRIOR_WEIGHTS[0], PRIOR_WEIGHTS[-1])
        )
    return text


def part_losses(run: Run, ranker: Any, test: RelationGraph) -> list[float]:
    """Rank loss within each of ten disjoint parts of the test documents."""
    order = np.random.default_rng(run.seed).permutation(len(test))
    return [1 - ranker.score(test[np.sort(part)]) for part in np.array_split(order, 2 if run.quick else PARTS)]


def tree_row(run: Run, data: str, library: str, train: RelationGraph, test: RelationGraph, cv: list, note: str) -> Row:
    """A row of trees, or a row that says that they are not installed."""
    if not trees.is_installed(library):
        return Row(BEYOND, data, library, None, seed=run.seed, note=f"{library} is not installed")
    with clock() as seconds:
        grid = trees.QUICK if run.quick else None
        held_out = [(train[part], train[rest]) for part, rest in cv]
        ranker = trees.tune(library, train, held_out, "symmetric", run.seed, grid)
        measured, error = mean_and_error(part_losses(run, ranker, test))
    protocol = f"{len(train):,} training and {len(test):,} test documents of other groups; setting 4"
    note = f"{ranker.objective}, {ranker.n_trees} trees of {ranker.n_leaves} leaves; {note}"
    return Row(BEYOND, data, f"{library} on pairs", measured, error, None, seconds(), run.seed, protocol, note)
