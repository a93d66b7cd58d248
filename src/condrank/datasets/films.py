"""Ratings of films by users: users are the conditioning nodes, films the objects."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from condrank.datasets import files
from condrank.datasets.files import DataHome
from condrank.graph import RelationGraph

_WITHOUT_FILES = (
    "Without it, RelationGraph.from_edges(users, sources, targets, ratings, objects=films) takes any ratings."
)
_GENRES = 19
# The published files and their numbers of columns.
FILES = {"u.data": 4, "u.user": 5, "u.item": 5 + _GENRES}


def load_movielens(*, data_home: DataHome = None) -> Bunch:
    """100,000 ratings 1 to 5 of 1,682 films by 943 users, with a little about each (MovieLens 100K).

    Parameters
    ----------
    data_home : path or None, default=None
        Folder with "ml100k/u.data", "u.user" and "u.item" as they are published, with or without a line of names;
        None: the environment variable CONDRANK_DATA.

    Returns
    -------
    bunch : Bunch
        ``graph``, users × films; ``X_user`` (943, 23): age in decades, gender and occupation; ``X_film`` (1682, 20):
        year of release in decades and 19 genres; ``rows``, ``columns``, ``ratings`` and ``seconds`` (100000,), user,
        film, rating and time of each edge; ``user_ids``, ``film_ids``, ``titles``, ``user_features``,
        ``film_features``; ``DESCR``.
    """
    found = [files.find(f"ml100k/{name}", data_home, "MovieLens", _WITHOUT_FILES) for name in FILES]
    ratings, users, items = (_read(path, width) for path, width in zip(found, FILES.values(), strict=True))
    user_ids, film_ids = users[:, 0], items[:, 0]
    jobs = np.unique(users[:, 3])
    X_user = np.column_stack([users[:, 1].astype(float) / 10, users[:, 2] == "F", users[:, 3][:, None] == jobs]).astype(
        float
    )
    years = np.array([float(date[-4:]) if date else np.nan for date in items[:, 2]])
    years = np.where(np.isnan(years), np.nanmedian(years), years)
    X_film = np.column_stack([(years - 1900) / 10, items[:, 5:].astype(float)])
    graph = RelationGraph.from_edges(
        *(X_user, ratings[:, 0], ratings[:, 1], ratings[:, 2].astype(float)),
        objects=X_film,
        ids=user_ids,
        object_ids=film_ids,
    )
    places = [{name: at for at, name in enumerate(ids)} for ids in (user_ids, film_ids)]
    return Bunch(
        graph=graph,
        X_user=X_user,
        X_film=X_film,
        rows=np.array([places[0][one] for one in ratings[:, 0]]),
        columns=np.array([places[1][one] for one in ratings[:, 1]]),
        ratings=ratings[:, 2].astype(float),
        seconds=ratings[:, 3].astype(np.int64),
        user_ids=user_ids,
        film_ids=film_ids,
        titles=items[:, 1],
        user_features=np.array(["age", "female", *jobs]),
        film_features=np.array(["year", *(f"genre {number}" for number in range(_GENRES))]),
        DESCR="MovieLens 100K, GroupLens, Harper and Konstan 2015: every user has at least 20 ratings; 6% of all pairs "
        "are known. What a user rated is not a random sample of the films.",
    )


def _read(path: Path, width: int) -> np.ndarray:
    """Rows of a published file as text, separated by tabs or bars; a line of names is left out."""
    with open(path, encoding="latin-1", newline="") as file:
        text = file.read()
    separator = "\t" if "\t" in text.partition("\n")[0] else "|"
    rows: list[Any] = [row for row in csv.reader(text.splitlines(), delimiter=separator, quoting=csv.QUOTE_NONE) if row]
    rows = rows[0 if rows and rows[0][0].isdigit() else 1 :]
    wrong = next((row for row in rows if len(row) != width), None)
    if not rows or wrong is not None:
        raise ValueError(f"{str(path)!r} must have rows of {width} columns, got {len(wrong) if wrong else 'none'}")
    return np.array(rows)
