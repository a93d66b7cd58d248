"""What the explorer of the page has: the rankings of the ranker, as many as fit."""

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.explorer import embedded as explorer
from condrank.metrics import rank_loss
from condrank.report import write_report
from condrank.tables import read_graph
from report.games import COLUMN, Reader, embedded


def test_explorer_has_the_rankings_of_the_ranker(ranker, text):
    data, graph = embedded(text), ranker.graph_
    ids = ranker.query_ids_.tolist()
    truth = dict(zip(ids, graph.to_dense(), strict=True))
    place = {one: position for position, one in enumerate(ids)}
    losses = dict(zip(ids, rank_loss(graph.to_dense(), ranker.predict(graph), average=None), strict=True))
    assert [data["names"][query[0]] for query in data["queries"]] == ids
    assert data["columns"] == ["rock", "paper", COLUMN]
    for query in data["queries"]:
        name = data["names"][query[0]]
        ranking = ranker.rank([name], top=12)
        assert [data["names"][one] for one in query[4]] == ranking.ids[0].tolist()
        np.testing.assert_allclose(query[5], ranking.scores[0], rtol=1e-4)
        expected = [truth[name][place[one]] for one in ranking.ids[0]]
        np.testing.assert_allclose([np.nan if one is None else one for one in query[6]], expected, rtol=1e-4)
        assert query[1] == pytest.approx(losses[name], rel=1e-4)
        assert query[2] == np.isfinite(truth[name]).sum()
        assert query[3][2] == ranker.row(name)[COLUMN]


def test_rankings_that_do_not_fit_are_left_out_and_the_page_says_so(ranker, tmp_path, monkeypatch):
    monkeypatch.setattr(explorer, "MOST_BYTES", 4000)
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[], max_queries=30).read_text("utf-8")
    n = len(embedded(text)["queries"])
    assert 1 <= n < 30
    words = "".join(Reader(text).words)
    assert f"Here are {n} of the 40 nodes, drawn at random" in words
    assert "(over 30 of 40 nodes, drawn at random)" in words


def test_a_large_page_stays_small(tmp_path):
    n = 2500
    rng = np.random.default_rng(0)
    nodes = {"id": [f"a rather long name {i}" for i in range(n)], "x": rng.normal(size=n), "text": ["word " * 40] * n}
    edges = {"source": rng.integers(n, size=20000), "target": rng.integers(n, size=20000)}
    edges = {side: [nodes["id"][i] for i in edges[side]] for side in edges} | {"value": rng.normal(size=20000)}
    ranker = TableRanker(ConditionalRanker()).fit(nodes, edges, drop=["text"])
    path = write_report(ranker, read_graph(nodes, edges), tmp_path / "r.html", settings=[])
    assert path.stat().st_size < 3_000_000
