"""Ratings of films: a quick run on small files."""

import importlib.util

import numpy as np
import pytest

from condrank import RelationGraph
from experiment_modules import check_rows, naive_rank_loss, quick_run


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    """Files of 45 users and 42 films with structure to be found."""
    folder = tmp_path_factory.mktemp("films")
    (folder / "ml100k").mkdir()
    rng = np.random.default_rng(0)
    genres, good = rng.integers(0, 2, (42, 19)), rng.normal(size=42)
    users = [
        f"{user}|{rng.integers(18, 60)}|{'MF'[user % 2]}|{('other', 'artist')[user % 3 == 0]}|1" for user in range(45)
    ]
    films = [f"{film}|film {film}|01-Jan-{1950 + film}|||{'|'.join(map(str, genres[film]))}" for film in range(42)]
    lines = []
    for user in range(45):
        for film in rng.choice(42, 30, replace=False):
            stars = np.clip(np.round(3 + good[film] + (genres[film, 0] - 0.5) * (user % 2) + 0.3 * rng.normal()), 1, 5)
            lines.append(f"{user}\t{film}\t{stars:.0f}\t0")
    for name, rows in {"u.data": lines, "u.user": users, "u.item": films}.items():
        (folder / "ml100k" / name).write_text("\n".join(rows) + "\n")
    return folder


def test_every_method_is_judged_in_every_setting(experiments, ratings):
    found = quick_run(experiments, ratings, "films").rows
    check_rows(found)
    methods = {}
    for row in found:
        methods.setdefault(int(row.data[8]), []).append(row.method)
    alone = [experiments.films.POPULARITY, experiments.films.SEARCH]
    others = [experiments.films.FACTORS] if importlib.util.find_spec("implicit") else []
    assert methods == {1: alone + others, 2: alone, 3: alone, 4: alone}
    assert all("NDCG@10" in row.note for row in found)


def test_measures_are_of_known_ratings(experiments):
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((6, 9)) < 0.7, rng.integers(1, 6, (6, 9)), np.nan)
    scores = rng.normal(size=Y.shape)
    graph = RelationGraph(rng.normal(size=(6, 2)), Y, objects=rng.normal(size=(9, 2)))
    loss = experiments.films.judged(graph, scores)[0]
    kept = [np.isfinite(row) for row in Y]
    lists = [(y[k], s[k]) for y, s, k in zip(Y, scores, kept, strict=True)]
    assert loss == pytest.approx(naive_rank_loss(*zip(*lists, strict=True)))
