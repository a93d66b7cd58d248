"""Fingerprints of models and data."""

from condrank import ConditionalRanker, TableRanker
from condrank.report.identity import data_fingerprint, model_fingerprint
from condrank.tables import read_graph
from report.games import make_games


def test_fingerprints_follow_model_and_data(ranker, tmp_path):
    ranker.save(tmp_path / "model")
    loaded = TableRanker.load(tmp_path / "model")
    players, games = make_games()
    plain = TableRanker(ConditionalRanker(relation="reciprocal", loss="regression", alpha=3.0)).fit(players, games)
    plain.save(tmp_path / "plain")
    assert model_fingerprint(plain) == model_fingerprint(TableRanker.load(tmp_path / "plain"))
    assert len({model_fingerprint(one) for one in (loaded, plain)}) == 2
    graph = read_graph(players, games)
    assert data_fingerprint(graph) == data_fingerprint(read_graph(*make_games()))
    players["rock"][3] += 0.25
    assert data_fingerprint(graph) != data_fingerprint(read_graph(players, games))
    assert data_fingerprint(graph) != data_fingerprint(
        read_graph(make_games()[0], {k: v[1:] for k, v in games.items()})
    )
