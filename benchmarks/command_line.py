"""From a CSV file to a saved model to a ranking, by commands in separate processes."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness import Row, suite
from benchmarks.imports import installed


def write_games(folder: Path, n_players: int, n_games: int) -> None:
    """Write players with six numbers and a category, and games decided by strengths and a cyclic part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_players, 6))
    A, w = rng.normal(size=(6, 6)), rng.normal(size=6)
    hands = rng.choice(["left", "right"], n_players)
    with (folder / "players.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"x{j}" for j in range(6)), "hand"])
        writer.writerows([f"player {i}", *X[i].round(4), hands[i]] for i in range(n_players))
    one = rng.integers(n_players, size=n_games)
    other = (one + rng.integers(1, n_players, size=n_games)) % n_players
    score = np.einsum("gi,ij,gj->g", X[one], (A - A.T) / 2, X[other]) + (X[one] - X[other]) @ w
    won = rng.random(n_games) < 1 / (1 + np.exp(-score))
    with (folder / "games.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["winner", "loser"])
        for a, b, first in zip(one, other, won, strict=True):
            writer.writerow([f"player {a}", f"player {b}"] if first else [f"player {b}", f"player {a}"])


def command_seconds(folder: Path, *arguments: str) -> float:
    """Seconds of a command, from the start of its process to its end; its bytecode is kept in the folder."""
    command, given = [sys.executable, "-m", "condrank", *arguments], installed(folder / "bytecode")
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=given)
    return time.perf_counter() - start


@suite("From a CSV file to a ranking on the command line")
def cli(quick: bool) -> list[Row]:
    """`condrank fit --quick` (it chooses relation, loss and λ) and `condrank rank`, each in a new process, with its
    start and imports: the least of several runs. And `condrank fit` with all its defaults once, a search of at most 60
    s that may take a fifth longer.
    """
    n_players, n_games = (40, 500) if quick else (800, 50_000)
    size = f"{n_players:,} nodes, {n_games:,} games"
    given, fits, ranks = ("--nodes", "players.csv", "--edges", "games.csv"), [], []
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_games(folder, n_players, n_games)
        for _ in range(1 if quick else 3):
            fits.append(command_seconds(folder, "fit", *given, "--quick", "-o", "model/"))
            ranks.append(command_seconds(folder, "rank", "model", "--query", "player 3", "--top", "10"))
        searched = command_seconds(folder, "fit", *given, *(("--time-limit", "1") if quick else ()), "-o", "searched/")
    return [
        Row("condrank fit --quick", size, min(fits)),
        Row("condrank rank", size, min(ranks)),
        Row("both", size, min(map(sum, zip(fits, ranks, strict=True))), bar=15.0, note="bar: 15 s on two cores"),
        Row("condrank fit", size, searched, bar=72.0, note="bar: its time limit of 60 s, and a fifth"),
    ]
