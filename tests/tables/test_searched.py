"""What a search over tables has found, in words of the tables."""

from types import SimpleNamespace

from condrank.model_selection.leaderboard import LeaderboardRow
from condrank.tables.searched import Searched


def found(features):
    names = ("ranking: rbf, compared [0, 2]", "the given ranker", "strengths (baseline)")
    rows = [LeaderboardRow(name, 0.1, 0.01, 1.0, False, False, {}) for name in names]
    summary = f"Chosen: {names[0]} (rank loss 0.1)"
    search = SimpleNamespace(leaderboard_=rows, summary_=summary, loss_=0.1, loss_error_=0.01, learned_=True)
    return Searched.of(search, features)


def test_compared_features_have_the_names_of_the_columns():
    named = found(["speed", "reach", "hand=left"])
    assert [row.name for row in named.leaderboard_] == [
        "ranking: rbf, compared speed, hand=left",
        "the default model",
        "strengths (baseline)",
    ]
    assert named.summary_ == "Chosen: ranking: rbf, compared speed, hand=left (rank loss 0.1)"


def test_features_without_names_keep_their_numbers():
    for features in ((), ["speed", "reach"]):
        assert found(features).leaderboard_[0].name == "ranking: rbf, compared [0, 2]"
