"""
Games: who beats whom, with and without cycles
==============================================

For those who have players with features and the results of games. The relation is *reciprocal*: what one player wins,
the other loses. There may be cycles, so that no order of all players exists. Players who never played can be ranked
too.
"""

# %%
# Players of rock-paper-scissors who prefer one move or another, and 3,000 games between them. We keep 100 other
# players, with their true winning chances, for the end. First, what do the results alone show?

import matplotlib.pyplot as plt
import numpy as np

from condrank import ConditionalRanker, ConditionalRankerCV, diagnose
from condrank.datasets import make_rock_paper_scissors
from condrank.plots import CoordinatesDisplay, HodgeDisplay, QueryLossDisplay

games, newcomers = make_rock_paper_scissors(10.0, n_players=100, n_games=3000, random_state=0)
print(diagnose(games))

# %%
# "One score per node explains" little, so an Elo rating would fail here. The true chances of the newcomers show why. On
# the left they are sorted by strength. The middle shows what one order of all players explains, the right shows the
# cycles. This is called the Hodge split.

HodgeDisplay.from_relation(newcomers).plot(ax=plt.subplots(1, 3, figsize=(11, 4), layout="constrained")[1])

# %%
# The regression loss suits games with ties. λ, the strength of the regularisation, is chosen by leaving players out.
# ``constant=True`` gives each player a strength in addition to the cyclic part.

ranker = ConditionalRankerCV(
    np.logspace(-2, 2, 5), 5, relation="reciprocal", loss="regression", kernel="rbf", constant=True, random_state=0
).fit(games)
print(f"λ = {ranker.alpha_:g}; pairs of newcomers in the right order: {ranker.score(newcomers):.1%}")
print(ranker.rank(newcomers, top=3))

# %%
# What was learned, in a plane: a player beats those who lie counter-clockwise of it, seen from the origin. Rock, paper
# and scissors are the three corners. The few players near the origin play all moves equally often. For them the order
# of opponents is hard to predict.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
favourite = np.array(["rock", "paper", "scissors"])[newcomers.nodes.rows.argmax(axis=1)]
CoordinatesDisplay.from_estimator(ranker, newcomers, groups=favourite).plot(ax=axes[0], label="favourite move")
QueryLossDisplay.from_estimator(ranker, newcomers).plot(ax=axes[1])

# %%
# If every game is won or lost, without ties, the logistic loss gives winning chances. The chances of the two directions
# sum to one exactly.

results = games.relation.to_dense()
won = np.where(results > 0, 1.0, np.where(results < 0, 0.0, np.nan))
contests = ConditionalRanker("reciprocal", "logistic", alpha=1.0, kernel="rbf").fit(games.nodes.rows, won)
chances = contests.predict_proba(newcomers.nodes.rows[:3], newcomers.nodes.rows[:3])
print(chances.round(2))
plt.show()
