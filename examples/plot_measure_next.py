"""
What to measure next
====================

For those who pay for every label: games to be played, assays to be made, judgements to be asked for. A fitted ranker
knows which pairs it is least sure of, and suggests them. Here it learns rock-paper-scissors with fewer games than a
random schedule needs.
"""

# %%
# Sixty players who prefer one move or another, and sixty others to test on. Who wins a game is left to chance. A game
# between any two players can be ordered; at the start there are ten.

import matplotlib.pyplot as plt
import numpy as np

from condrank import ConditionalRanker, RelationGraph
from condrank.datasets import make_rock_paper_scissors
from condrank.metrics import rank_loss

N, START, BATCH, ROUNDS = 60, 10, 10, 12


def play(moves, i, j, random):
    """1 if i wins, -1 if j wins, 0 for a tie."""
    first, second = (np.array([random.choice(3, p=moves[one]) for one in of_one]) for of_one in (i, j))
    return np.array([0.0, 1.0, -1.0])[(first - second) % 3]


def fit(X, games):
    """A ranker of the games so far: an array with rows i, j, outcome."""
    i, j, won = games
    i, j = i.astype(int), j.astype(int)
    ends = np.append(i, j), np.append(j, i)
    return ConditionalRanker("reciprocal", "regression").fit(RelationGraph.from_edges(X, *ends, np.append(won, -won)))


# %%
# One run: fit, ask for a batch, play it, and fit again. ``suggest_edges`` takes one pair after another, each as if the
# games before it had been played, so a batch does not ask the same question twice.


def losses(suggested, seed):
    """Rank loss on the other players after each batch."""
    random = np.random.default_rng(seed)
    X = make_rock_paper_scissors(10, N, 10, random_state=2 * seed)[1].nodes.rows
    others = make_rock_paper_scissors(10, N, 10, random_state=2 * seed + 1)[1]
    i, j = np.triu_indices(N, 1)
    start = random.choice(len(i), START, replace=False)
    games = np.array([i[start], j[start], play(X, i[start], j[start], random)])
    found = []
    for _ in range(ROUNDS):
        ranker = fit(X, games)
        found.append(rank_loss(others.to_dense(), ranker.predict(others)))
        if suggested:
            batch = ranker.suggest_edges(BATCH, by="variance", max_pairs=300, random_state=0)
            a, b = batch.queries, batch.objects
        else:
            chosen = random.choice(len(i), BATCH, replace=False)
            a, b = i[chosen], j[chosen]
        games = np.hstack([games, [a, b, play(X, a, b, random)]])
    return found


# %%
# Six runs of each, drawn as mean and spread. The suggestions look for players with strong preferences: a game between
# two of these tells most about the three moves.

labels = START + BATCH * np.arange(ROUNDS)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, suggested in (("at random", False), ("suggested", True)):
    runs = np.array([losses(suggested, seed) for seed in range(6)])
    mean, spread = runs.mean(axis=0), runs.std(axis=0)
    ax.plot(labels, mean, marker="o", markersize=3, label=name)
    ax.fill_between(labels, mean - spread, mean + spread, alpha=0.2)
    print(f"{name}: rank loss {mean[4]:.3f} after {labels[4]} games")
ax.set(xlabel="games", ylabel="rank loss on other players")
ax.legend(frameon=False)
