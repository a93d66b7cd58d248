"""All twenty newsgroups: 18,846 documents and 355 million edges, which are never stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import SimilarityRanker

from ..results import Row, Run, clock
from . import documents
from .unseen import alphas, chosen, row

TABLE = "All 20 newsgroups, half of them unseen, low-rank coordinates"
COORDINATES = 500


def all_groups(run: Run) -> Iterator[Row]:
    """Half of the newsgroups for training and the others for testing, in both directions; then a fit to all."""
    everything = documents.load(run, "all")
    n_coordinates = 8 if run.quick else COORDINATES
    for place, (train, test) in enumerate(documents.halves(everything, run.seed).indices(everything.graph)):
        train, test = subset(everything, train), subset(everything, test)
        cv = documents.halves(train, run.seed)
        data = f"half {'AB'[place]} → half {'BA'[place]}"
        run.step(f"{data}: coordinates")
        with clock() as seconds:
            graphs = documents.graphs(documents.low_rank(n_coordinates, run.seed), train, test)
        note = f"{n_coordinates} SVD coordinates of tf-idf (made in {seconds():.0f} s, not in the time)"
        run.step(f"{data}: cosine")
        yield row(run, TABLE, data, "cosine similarity (unsupervised)", SimilarityRanker("linear"), *graphs, note=note)
        for method, loss in (("c.reg", "regression"), ("c.rank", "ranking")):
            for prior in (None, "similarity"):
                name = f"{method}, symmetric" + (", similarity prior" if prior else "")
                run.step(f"{data}: {name}")
                ranker = chosen(alphas(run), cv, relation="symmetric", loss=loss, prior=prior)
                yield row(run, TABLE, data, name, ranker, *graphs, note=note)
    run.step("all documents: fit")
    X = documents.low_rank(n_coordinates, run.seed).fit_transform(everything.X)
    graph = RelationGraph.from_classes(X, everything.levels)
    with clock() as seconds:
        ConditionalRanker("symmetric", "ranking").fit(graph)
    yield Row(
        "All 20 newsgroups in one training graph: seconds of a fit",
        f"{len(graph):,} documents",
        "c.rank, symmetric, closed form",
        seconds(),
        seconds=seconds(),
        seed=run.seed,
        protocol=f"one fit on {graph.n_edges:,} edges",
        note=f"{n_coordinates} coordinates; the relation is factored: no matrix of all pairs is made",
        unit="s",
    )


def subset(everything: Any, index: np.ndarray) -> Any:
    """Some of the documents."""
    return type(everything)(X=everything.X[index], levels=everything.levels[index], labels=everything.labels[index])
