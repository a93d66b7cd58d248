"""How sure the first two of a ranking are, and why: what the ranker itself says."""

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.report import first_two as module
from condrank.report import write_report
from condrank.report.first_two import first_two
from condrank.report.rankings import rank_sample
from report.games import embedded, make_games
from report.test_rankings import two_domains


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_answers_are_those_of_the_ranker(rank_by, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)
    ranker = two_domains(rank_by)
    graph, fitted = ranker.encode(ranker.graph_), ranker.ranker_
    rankings = rank_sample(fitted, graph, 4, 100)
    found = first_two(fitted, graph, rankings)
    assert sorted(found) == list(range(len(rankings)))
    queries, objects = (graph.objects, graph.nodes) if rank_by == "incoming" else (graph.nodes, graph.objects)
    every = np.arange(len(rankings))
    expected = fitted.probability_above(
        queries.rows[every], objects.rows[rankings.indices[:, 0]], objects.rows[rankings.indices[:, 1]]
    )
    np.testing.assert_allclose([found[row][0] for row in every], expected, rtol=1e-6)
    assert all(0.5 <= above <= 1 for above, _ in found.values())
    for row, (_, why) in found.items():
        one, other = rankings.object_ids[rankings.indices[row, :2]]
        assert why.startswith(f"{one} is ranked above {other} for {rankings.query_ids[row]}")


def test_the_nodes_with_most_edges_come_first_and_time_is_limited(ranker, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", -1.0)
    graph = ranker.encode(ranker.graph_)
    rankings = rank_sample(ranker.ranker_, graph, 4, 100)
    assert list(first_two(ranker.ranker_, graph, rankings)) == [int(np.argmax(rankings.observed))]
    monkeypatch.setattr(module, "MOST_EDGES", 10)
    assert first_two(ranker.ranker_, graph, rankings) == {}


def test_the_page_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", constant=True)).fit(*make_games(20, 200))
    data = embedded(write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[]).read_text("utf-8"))
    assert all(len(query) == 8 for query in data["queries"])
    above, why = data["queries"][3][7]
    assert 0.5 <= above <= 1
    assert data["names"][data["queries"][3][4][0]] in why
