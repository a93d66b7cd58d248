"""
Tennis: who wins next, and how sure are we
==========================================

For an analyst with a table of players and a table of matches with dates. Old matches count less, newcomers are ranked
by their columns, and the last picture is for the colleague who asks "who beats whom, and with what chance?".
"""

# %%
# Two tables as a federation would have them: 60 players, and the matches of three years. Form changes: half of what
# makes a player strong is drawn anew each year. Tall players serve better, and left-handers are hard to play for
# right-handers.

import matplotlib.pyplot as plt
import numpy as np

from condrank import ConditionalRanker, TableRanker

rng = np.random.default_rng(3)
names = np.array(
    [f"{first} {last}" for last in ("Ace", "Baseline", "Chip", "Drop", "Even", "Fault") for first in "ABCDEFGHIJ"]
)
n = len(names)
age, height = rng.integers(18, 36, n), rng.normal(185, 8, n).round()
left = rng.random(n) < 0.2
players = {"id": names, "age": age, "height": height, "hand": np.where(left, "left", "right")}
talent = 0.08 * (height - 185) - 0.01 * (age - 26) ** 2
form = {year: rng.normal(0, 1.0, n) for year in (2022, 2023, 2024)}
matches = {"winner": [], "loser": [], "date": []}
for _ in range(2400):
    year, month, day = rng.integers(2022, 2025), rng.integers(1, 13), rng.integers(1, 29)
    one, other = rng.choice(n, 2, replace=False)
    gap = (talent + form[year])[one] - (talent + form[year])[other] + 0.8 * (int(left[one]) - int(left[other]))
    if rng.random() > 1 / (1 + np.exp(-gap)):
        one, other = other, one
    matches["winner"].append(names[one])
    matches["loser"].append(names[other])
    matches["date"].append(f"{year}-{month:02d}-{day:02d}")
matches = {name: np.array(column) for name, column in matches.items()}

# %%
# The last two months are for judging. The same model is learned from all matches before, with several half-lives: a
# match that is one half-life older counts half. (A row is a game because its columns are called winner and loser.)

late = matches["date"] >= "2024-11-01"
known, last = ({name: column[here] for name, column in matches.items()} for here in (~late, late))
model = ConditionalRanker("reciprocal", "logistic", alpha=3.0, kernel="RBF('median') + Constant() + Identity()")
brier = {}
for half_life in (None, 1000, 365, 180, 60):
    ranker = TableRanker(model).fit(players, known, half_life=half_life)
    chances = 1 / (1 + np.exp(-ranker.predict_edges(last["winner"], last["loser"])))
    brier[half_life] = np.mean((1 - chances) ** 2)
    print(f"half-life {half_life or 'none':>5}: Brier score {brier[half_life]:.4f}, right {np.mean(chances > 0.5):.1%}")

# %%
# The best one is fitted to everything. A newcomer has no matches, only columns, and gets chances all the same.

best = min(brier, key=brier.get)
ranker = TableRanker(model).fit(players, matches, half_life=best)
newcomer = {"id": ["newcomer"], "age": [22], "height": [196], "hand": ["left"]}
for opponent, score in ranker.rank(newcomer, top=3)[0]:
    print(f"the newcomer beats {opponent} with probability {1 / (1 + np.exp(-score)):.0%}")

# %%
# For the colleague: the ten strongest players now, and the chance of each (row) against each (column).

strength = ranker.strengths(names)
top = names[np.argsort(-strength)[:10]]
chances = ranker.predict_proba(top, top)
figure, axes = plt.subplots(figsize=(7.5, 6), layout="constrained")
image = axes.imshow(chances, vmin=0, vmax=1, cmap="RdBu")
for row in range(len(top)):
    for column in range(len(top)):
        if row != column:
            axes.text(column, row, f"{chances[row, column]:.0%}", ha="center", va="center", fontsize=8)
axes.set_xticks(range(len(top)), top, rotation=40, ha="right")
axes.set_yticks(range(len(top)), [f"{place}. {name}" for place, name in enumerate(top, start=1)])
axes.set_title(f"Chance of the row to beat the column (half-life {best or 'none'} days)")
figure.colorbar(image, label="probability", shrink=0.8)
plt.show()
