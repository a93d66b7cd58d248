"""Ratings of films: new ratings, new users, new films and both, beside popularity and matrix factorisation."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from condrank import RelationGraph, datasets
from condrank.baselines import PopularityRanker
from condrank.metrics import ndcg, rank_loss, recall_at_k
from condrank.model_selection import RankerSearch, SettingShuffleSplit, cross_validate

from .folds import with_error
from .results import Row, Run, clock, experiment, mean_and_error

SETTINGS = {1: "known user and film", 2: "new user", 3: "new film", 4: "both new"}
POPULARITY, SEARCH, FACTORS = "popularity, shrunk", "RankerSearch", "implicit's ALS"
SHRINKAGES = (1.0, 3.0, 10.0, 30.0)
# Ratings above this are relevant.
RELEVANT = 3.5
SECONDS = 60.0
# (factors, regularisation, weight of a rating), of which the best on a holdout is taken.
FACTORISATIONS = ((16, 0.1, 1.0), (32, 0.1, 1.0), (64, 1.0, 1.0), (32, 1.0, 5.0))


class Factors:
    """Matrix factorisation of the ratings by implicit's alternating least squares; it knows training nodes only."""

    def __init__(self, n_factors: int, regularisation: float, weight: float, seed: int):
        self.n_factors, self.regularisation, self.weight, self.seed = n_factors, regularisation, weight, seed

    def fit(self, graph: RelationGraph) -> Factors:
        """Factors of users and films from ratings as confidences; what is not rated counts as 0, as implicit has it."""
        als: Any = importlib.import_module("implicit.als")
        Y = graph.to_dense()
        confidence = sparse.csr_matrix(np.where(np.isfinite(Y), self.weight * (Y - np.nanmin(Y) + 1), 0).astype("f"))
        with threadpool_limits(1, "blas"):  # as implicit asks for
            model = als.AlternatingLeastSquares(
                self.n_factors, self.regularisation, random_state=self.seed, num_threads=1
            )
            model.fit(confidence, show_progress=False)
        self.scores = np.asarray(model.user_factors) @ np.asarray(model.item_factors).T
        return self

    def predict(self, graph: RelationGraph) -> np.ndarray:
        """Scores of all pairs of training nodes."""
        return self.scores


def popularity(graph: RelationGraph, inner: SettingShuffleSplit) -> Any:
    """Popularity with the shrinkage that has the lowest loss on holdouts of the setting."""
    tried = [PopularityRanker(shrinkage) for shrinkage in SHRINKAGES]
    return min(tried, key=lambda ranker: cross_validate(ranker, graph, cv=inner).mean()).fit(graph)


def factorised(graph: RelationGraph, inner: SettingShuffleSplit, seed: int) -> Any:
    """The factorisation with the lowest loss on the first holdout."""
    train, test = next(inner.split(graph))
    tried = [Factors(*one, seed) for one in FACTORISATIONS]
    best = min(tried, key=lambda one: rank_loss(test.to_dense(), one.fit(train).predict(test)))
    return best.fit(graph)


@experiment(
    "Films for users",
    differences=(
        "Not in the paper. MovieLens 100K: users have age, gender and occupation, films have a year and genres. A "
        "fifth of the ratings, users, films or both is held out, with three seeds; everything is chosen inside the "
        "rest.",
        "Only held-out ratings are ranked, each user's among themselves: what a user did not rate is not counted as "
        "wrong. So these numbers are not those of papers that rank all films.",
        f"Relevant for recall@10: ratings of 4 and 5. {SEARCH} has {SECONDS:g} seconds, and chooses by the rank loss.",
        "implicit's ALS knows neither new users nor new films, so it is judged in setting 1 only; it is made for "
        "clicks and takes ratings as confidences. LightFM does not install on Python 3.11 any more.",
    ),
    files=("ml100k/u.data", "ml100k/u.user", "ml100k/u.item"),
)
def films(run: Run) -> Iterator[Row]:
    """Rank films for a user by ratings, when the pair, the user, the film or both are new."""
    bunch = datasets.load_movielens(data_home=run.data)
    graph = few(bunch) if run.quick else bunch.graph
    table = f"{graph.shape[0]:,} users × {graph.shape[1]:,} films, {graph.n_edges:,} ratings"
    for setting, what in SETTINGS.items():
        yield from compare(run, graph, setting, table, f"setting {setting}: {what}")


def few(bunch: Any) -> RelationGraph:
    """The 40 users and 40 films with the most ratings."""
    users, items = np.bincount(bunch.rows).argsort()[::-1][:40], np.bincount(bunch.columns).argsort()[::-1][:40]
    Y = bunch.graph.to_dense()[np.ix_(users, items)]
    return RelationGraph(bunch.X_user[users], Y, objects=bunch.X_film[items])


def compare(run: Run, graph: RelationGraph, setting: int, table: str, title: str) -> Iterator[Row]:
    """A row for each method in one setting."""
    n_splits = run.repeat(3, 2)
    seconds = 5.0 if run.quick else SECONDS
    inner = SettingShuffleSplit(setting, 3, test_size=0.2, random_state=run.seed + 1)
    methods: dict[str, Callable[[RelationGraph], Any]] = {
        POPULARITY: lambda train: popularity(train, inner),
        SEARCH: lambda train: RankerSearch(setting=setting, time_limit=seconds, random_state=run.seed).fit(train),
    }
    if setting == 1 and importlib.util.find_spec("implicit") is not None:
        methods[FACTORS] = lambda train: factorised(train, inner, run.seed)
    found: dict[str, list[np.ndarray]] = {name: [] for name in methods}
    took, last = dict.fromkeys(methods, 0.0), {}
    outer = SettingShuffleSplit(setting, n_splits, test_size=0.2, random_state=run.seed)
    for train, test in outer.split(graph):
        for name, fit in methods.items():
            run.step(f"{title}: {name}")
            with clock() as elapsed:
                last[name] = fit(train)
                found[name].append(judged(test, last[name].predict(test)))
            took[name] += elapsed()
    losses = {name: np.array(values)[:, 0] for name, values in found.items()}
    for name, values in found.items():
        notes = []
        if name != POPULARITY:
            gain, error = mean_and_error(losses[name] - losses[POPULARITY])
            notes.append(f"{gain:+.4f}{with_error(error)} against {POPULARITY}")
        means = np.mean(values, axis=0)
        notes.append(f"NDCG@10 {means[1]:.3f}, recall@10 {means[2]:.3f}")
        if name == SEARCH:
            notes.append(last[name].summary_)
        yield Row(
            *(table, title, name, *mean_and_error(losses[name]), None, took[name], run.seed),
            f"{n_splits} random holdouts of a fifth, choices inside the rest",
            "; ".join(notes),
        )


def judged(test: RelationGraph, scores: np.ndarray) -> np.ndarray:
    """Rank loss, NDCG@10 and recall@10 on the known ratings of a test graph."""
    truth = test.to_dense()
    return np.array(
        [rank_loss(truth, scores), ndcg(truth, scores, k=10), recall_at_k(truth, scores, relevant=RELEVANT)]
    )
