"""Writes the tables of the README, players.csv and games.csv, into the current folder.

Reach, speed and the left hand win games. But reach wins more against the quick, and speed less against those with long
reach: who is the easier opponent depends on who asks.
"""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(4)
names = ["ann", "bob", *(f"p{number}" for number in range(2, 60))]
speed, reach, right = rng.normal(size=60), rng.normal(size=60), rng.random(60) < 0.7
rows = [
    f"{a},{b:.2f},{180 + 9 * c:.0f},{'right' if d else 'left'}\n"
    for a, b, c, d in zip(names, speed, reach, right, strict=True)
]
Path("players.csv").write_text("id,speed,reach,hand\n" + "".join(rows))

rows = []
while len(rows) < 700:
    one, other = rng.choice(60, size=2, replace=False)
    gap = (
        0.8 * (reach[one] - reach[other]) + 0.5 * (speed[one] - speed[other]) + 0.6 * (1.0 * right[other] - right[one])
    )
    gap += 0.8 * (reach[one] * speed[other] - speed[one] * reach[other])
    wins = rng.random() < 1 / (1 + np.exp(-gap))
    rows.append(f"{names[one]},{names[other]}\n" if wins else f"{names[other]},{names[one]}\n")
Path("games.csv").write_text("winner,loser\n" + "".join(rows))
