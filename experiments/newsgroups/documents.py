"""Documents in the forms that the experiments use: counts, tf-idf, low-rank coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from condrank import RelationGraph, datasets
from condrank.model_selection import SettingSplit

from ..results import Run


def load(run: Run, groups: Any) -> Any:
    """Documents of some newsgroups; in a quick run only a few of each newsgroup."""
    bunch = datasets.load_newsgroups(groups, data_home=run.data)
    if run.quick:
        labels = bunch.labels
        kept = np.concatenate([np.flatnonzero(labels == label)[:12] for label in np.unique(labels)])
        bunch.X, bunch.labels, bunch.levels = bunch.X[kept], labels[kept], bunch.levels[kept]
        bunch.graph = bunch.graph[kept]
    return bunch


def tf_idf() -> Any:
    """Logarithmic term frequency times inverse document frequency, unit length; weights come from the training."""
    return TfidfTransformer(sublinear_tf=True)


def low_rank(n_components: int, seed: int) -> Any:
    """The leading coordinates of tf-idf documents, scaled back to unit length."""
    return make_pipeline(tf_idf(), TruncatedSVD(n_components, random_state=seed), Normalizer(copy=False))


def graphs(form: Any, train: Any, test: Any) -> tuple[RelationGraph, RelationGraph]:
    """Training and test graph on other features, fitted to the training documents."""
    X, X_test = form.fit_transform(train.X), form.transform(test.X)
    return RelationGraph.from_classes(X, train.levels), RelationGraph.from_classes(X_test, test.levels)


def halves(documents: Any, seed: int, n_repeats: int = 1) -> SettingSplit:
    """Half of the newsgroups held out, then the other half; each half has both topics."""
    topics, groups = documents.levels.T
    return SettingSplit(setting=4, n_splits=2, n_repeats=n_repeats, groups=groups, stratify=topics, random_state=seed)


def two_halvings(documents: Any, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two different ways to halve the newsgroups, each half held out once: positions for training and testing."""
    groups = documents.levels[:, 1]
    drawn = halves(documents, seed, n_repeats=20).indices(documents.graph)
    distinct = {tuple(np.unique(groups[test])): (train, test) for train, test in drawn}
    return list(distinct.values())[:4]
