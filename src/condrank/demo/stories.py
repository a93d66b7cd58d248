"""The two stories of ``condrank demo``, computed and kept as plain results; nothing here prints.

1. Rock-paper-scissors: learn from 1,000 games, then rank players who never played for players who never played.
2. Handwritten digits: learn from labelled images, then rank new images for new images. After that, rank images of
   digits that were not in training at all, where the similarity prior matters.

λ (and τ of the prior) are chosen on training nodes held out of the fit. Rock-paper-scissors is the exception: its λ is
the paper's, 2⁻³⁰. The kernel width γ, the sizes, and how digits are left out are fixed in the code. They were chosen
while looking at test losses, so the numbers of another seed are fairer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits

from condrank.datasets import make_digits_task, make_rock_paper_scissors
from condrank.demo.results import DemoResult, ModelResult, Ranked, Task, UnseenClasses
from condrank.diagnosis import diagnose
from condrank.graph import RelationGraph
from condrank.metrics import rank_loss
from condrank.model_selection import SettingSplit
from condrank.model_selection.search import ConditionalRankerCV
from condrank.objective.relations import RELATIONS
from condrank.rankers.checks import opposes
from condrank.rankers.conditional import ConditionalRanker

SIX_MODELS = tuple(product(("ordinary", "symmetric", "reciprocal"), ("regression", "ranking")))
GAMES_MODELS = (*SIX_MODELS, ("reciprocal", "logistic"))
GAMES_ALPHA = 2.0**-30
GAMES_DRAWS = 10
DIGITS_KERNEL: dict[str, Any] = {"kernel": "rbf", "gamma": 0.1}
DIGITS_ALPHAS = tuple(10.0**power for power in range(-4, 3))
PRIOR_ALPHAS = tuple(10.0**power for power in range(0, 5))
PRIOR_WEIGHTS = (1.0, 3.0, 10.0)
HOLD_OUTS = 6

Step = Callable[[str], None]
"""Called with a few words before each piece of work."""


def count_steps() -> int:
    """How often `run_demo` calls its ``step``."""
    return GAMES_DRAWS + len(SIX_MODELS) + HOLD_OUTS


def run_demo(seed: int = 0, step: Step = lambda _: None) -> DemoResult:
    """Compute both stories: about a hundred fits on a few hundred nodes, which takes some seconds.

    Parameters
    ----------
    seed : int
        Seed of the data: players, games, images and the digits left out.
    step : callable
        Called with a few words before each of the `count_steps` pieces of work.
    """
    # Such small matrices gain nothing from more threads, and lose much on a busy machine.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the best λ")
        return DemoResult(seed, play_games(seed, step), rank_digits(seed, step), leave_out_classes(seed, step))


def play_games(seed: int, step: Step) -> Task:
    """Rock-paper-scissors: all models and two baselines, averaged over `GAMES_DRAWS` draws of players and games."""
    losses: dict[tuple[str, str], list[float]] = {model: [] for model in GAMES_MODELS}
    baselines: dict[str, list[float]] = {"similarity": [], "one order": []}
    # Seeds are drawn from a sequence, so that --seed 0 and --seed 1 share no draw.
    seeds = np.random.SeedSequence(seed).generate_state(GAMES_DRAWS).tolist()
    draws = [make_rock_paper_scissors(w=10, random_state=draw) for draw in seeds]
    for number, (train, test) in enumerate(draws, start=1):
        step(f"rock-paper-scissors, draw {number} of {GAMES_DRAWS}")
        for relation, loss in GAMES_MODELS:
            if opposes(train, RELATIONS[relation]):
                continue
            ranker = ConditionalRanker(relation=relation, loss=loss, alpha=GAMES_ALPHA).fit(train)
            losses[relation, loss].append(1 - ranker.score(test))
        truth, X = test.to_dense(), test.nodes.rows
        baselines["similarity"].append(rank_loss(truth, pairwise_kernels(X)))
        baselines["one order"].append(rank_loss(truth, _one_order(train, X)))
    models = [
        ModelResult(*model, GAMES_ALPHA, float(np.mean(losses[model])))
        if losses[model]
        else ModelResult(*model, None, None)
        for model in GAMES_MODELS
    ]

    train, test = draws[0]
    X, truth = test.nodes.rows, test.to_dense()
    chosen = _pick(models, "reciprocal", "logistic")
    ranker = ConditionalRanker(relation=chosen.relation, loss=chosen.loss, alpha=GAMES_ALPHA).fit(train)
    chances = ranker.predict_proba(test)
    rocky = int(np.argmax(X[:, 0]))
    order = ranker.rank(X[[rocky]], X, top=len(X)).indices[0]
    names = [f"player {position}" for position in range(len(X))]
    return Task(
        diagnosis=diagnose(train),
        models=models,
        baselines={name: float(np.mean(found)) for name, found in baselines.items()},
        ranked=_ranked(rocky, order[order != rocky], names, chances, truth),
        chosen=chosen,
        names=names,
        features=X,
        truth=truth,
        scores=chances,
    )


def rank_digits(seed: int, step: Step) -> Task:
    """Digits: six models with λ chosen on held-out training nodes, judged on images that were not in training."""
    train, test = make_digits_task(450, 450, random_state=seed)
    models = []
    for relation, loss in SIX_MODELS:
        step(f"digits, {relation} {loss}")
        if opposes(train, RELATIONS[relation]):
            models.append(ModelResult(relation, loss, None, None))
            continue
        ranker = _choose(DIGITS_ALPHAS, digits_split(train), relation=relation, loss=loss).fit(train)
        models.append(ModelResult(relation, loss, ranker.alpha_, 1 - ranker.score(test)))
    chosen = _pick(models, "symmetric", "ranking")
    assert chosen.alpha is not None
    ranker = ConditionalRanker(relation="symmetric", loss="ranking", alpha=chosen.alpha, **DIGITS_KERNEL).fit(train)
    X, truth, scores = test.nodes.rows, test.to_dense(), ranker.predict(test)
    names = [str(name) for name in np.asarray(test.nodes.ids)]
    order = ranker.rank(X[:1], X, top=len(X)).indices[0]
    return Task(
        diagnosis=diagnose(train),
        models=models,
        baselines={"similarity": rank_loss(truth, pairwise_kernels(X, metric="rbf", gamma=DIGITS_KERNEL["gamma"]))},
        ranked=_ranked(0, order[order != 0], names, scores, truth),
        chosen=chosen,
        names=names,
        features=X,
        truth=truth,
        scores=scores,
    )


def leave_out_classes(seed: int, step: Step) -> UnseenClasses:
    """Digits that were not in training: does learning help, and does the prior help?

    Three digits are left out at random, `HOLD_OUTS` times; the relation is "the same digit". λ, and τ with the prior,
    are chosen by leaving training digits out in the same way.
    """
    bunch: Any = load_digits()
    X, digit = bunch.data / 16, bunch.target
    rng = np.random.default_rng(seed)
    result = UnseenClasses([], [], [], [])
    for number in range(1, HOLD_OUTS + 1):
        step(f"unseen digits, choice {number} of {HOLD_OUTS}")
        shuffled = rng.permutation(10)
        unseen, seen = shuffled[:3], shuffled[3:]
        images = rng.permutation(len(digit))
        known = images[np.isin(digit[images], seen)][:250]
        new = images[np.isin(digit[images], unseen)][:200]
        train, test = (RelationGraph.from_classes(X[rows], digit[rows]) for rows in (known, new))
        folds = SettingSplit(4, 3, groups=digit[known], random_state=number)
        result.unseen.append(sorted(unseen.tolist()))
        kernel = pairwise_kernels(X[new], metric="rbf", gamma=DIGITS_KERNEL["gamma"])
        result.similarity.append(rank_loss(test.to_dense(), kernel))
        plain = _choose(PRIOR_ALPHAS, folds, relation="symmetric")
        prior = _choose(PRIOR_ALPHAS, folds, relation="symmetric", prior="similarity", prior_weights=PRIOR_WEIGHTS)
        for ranker, losses in ((plain, result.plain), (prior, result.prior)):
            losses.append(1 - ranker.fit(train).score(test))
    return result


def digits_split(train: RelationGraph) -> list[tuple[np.ndarray, np.ndarray]]:
    """The last third of the training nodes is held out to choose λ."""
    held_out = np.arange(len(train)) >= 2 * len(train) // 3
    return [(~held_out, held_out)]


def _choose(alphas: tuple[float, ...], cv: Any, **params: Any) -> ConditionalRankerCV:
    return ConditionalRankerCV(alphas, cv, **params, **DIGITS_KERNEL)


def _one_order(train: RelationGraph, X: np.ndarray) -> np.ndarray:
    """Scores of a model with one score per player, linear in the features: the same order for every opponent."""
    Y, strategies = train.to_dense(), train.nodes.rows
    winner, loser = np.nonzero(np.isfinite(Y))
    ridge = Ridge(alpha=1e-6, fit_intercept=False).fit(strategies[winner] - strategies[loser], Y[winner, loser])
    strength = ridge.predict(X)
    return np.subtract.outer(strength, strength)


def _pick(models: list[ModelResult], relation: str, loss: str) -> ModelResult:
    return next(model for model in models if (model.relation, model.loss) == (relation, loss))


def _ranked(query: int, order: np.ndarray, names: list[str], scores: np.ndarray, truth: np.ndarray) -> Ranked:
    """The ranking of the objects in ``order`` for the node at position ``query``."""
    return Ranked(
        query=names[query],
        position=query,
        objects=[names[position] for position in order],
        indices=order.tolist(),
        scores=scores[query, order].tolist(),
        truth=truth[query, order].tolist(),
    )
