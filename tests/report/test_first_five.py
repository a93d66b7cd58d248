"""How sure the first five of a ranking are, and why: what the ranker itself says."""

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.report import first_five as module
from condrank.report import write_report
from condrank.report.first_five import first_five
from condrank.report.rankings import rank_sample
from report.games import embedded, make_games
from report.test_rankings import two_domains


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_answers_are_those_of_the_ranker(rank_by, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)
    ranker = two_domains(rank_by)
    graph, fitted = ranker.encode(ranker.graph_), ranker.ranker_
    rankings = rank_sample(fitted, graph, 4, 100)
    found = first_five(fitted, graph, rankings)
    assert sorted(found) == list(range(len(rankings)))
    queries, objects = (graph.objects, graph.nodes) if rank_by == "incoming" else (graph.nodes, graph.objects)
    for row, reasons in found.items():
        assert [one[:2] for one in reasons] == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
        firsts, seconds = (rankings.indices[row, [one[end] for one in reasons]] for end in (0, 1))
        given = queries.rows[[row] * len(reasons)], objects.rows[firsts], objects.rows[seconds]
        np.testing.assert_allclose([one[2] for one in reasons], fitted.probability_above(*given), rtol=1e-6)
        for above, below, (_, _, probability, why) in zip(firsts, seconds, reasons, strict=True):
            assert 0.5 <= probability <= 1
            one, other = rankings.object_ids[[above, below]]
            assert why.startswith(f"{one} is ranked above {other} for {rankings.query_ids[row]}")


def test_the_nodes_with_most_edges_come_first_and_time_is_limited(ranker, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", -1.0)
    graph = ranker.encode(ranker.graph_)
    rankings = rank_sample(ranker.ranker_, graph, 4, 100)
    assert list(first_five(ranker.ranker_, graph, rankings)) == [int(np.argmax(rankings.observed))]
    monkeypatch.setattr(module, "SECONDS", 60.0)
    monkeypatch.setattr(module, "MOST_CHARACTERS", 3000)
    some = first_five(ranker.ranker_, graph, rankings)
    assert 2000 < sum(len(one[3]) for reasons in some.values() for one in reasons) < 4000
    assert {one[:2] for reasons in some.values() for one in reasons} == {(0, 1)}  # of all nodes before other places
    monkeypatch.setattr(module, "MOST_EDGES", 10)
    assert first_five(ranker.ranker_, graph, rankings) == {}


def test_the_page_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 60.0)
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", constant=True)).fit(*make_games(20, 200))
    data = embedded(write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[]).read_text("utf-8"))
    assert all(len(query) == 8 for query in data["queries"])
    reasons = data["queries"][3][7]
    assert len(reasons) == 10
    names = [data["names"][one] for one in data["queries"][3][4]]
    for first, second, above, why in reasons:
        assert 0.5 <= above <= 1
        assert why.startswith(f"{names[first]} is ranked above {names[second]} for ")
