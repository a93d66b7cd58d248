"""The model card."""

from condrank.report import write_report
from condrank.tables import read_graph
from report.games import Reader, make_games


def test_the_card_says_whether_the_model_has_seen_the_data(ranker, written, tmp_path):
    assert "in training: the model&#x27;s loss on them says how well it fits" in written.read_text("utf-8")
    players, games = make_games(30, 400, seed=1)
    renamed = {f"{name}": one for name, one in players.items()} | {"id": [f"new {one}" for one in players["id"]]}
    games = {side: [f"new {one}" for one in games[side]] for side in games}
    path = write_report(ranker, read_graph(renamed, games), tmp_path / "new.html", settings=[])
    words = "".join(Reader(path.read_text("utf-8")).words)
    assert "None of these conditioning nodes was in training." in words
    assert "Not measured: setting 1" in words
