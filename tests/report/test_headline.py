"""The first sentence, in the words of the table, with the numbers of the library's own cross-validation."""

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.baselines import SimilarityRanker
from condrank.model_selection import cross_validate
from condrank.report import write_report
from condrank.report.headline import percent, verdict
from condrank.report.measured import Measured, measure_settings
from condrank.report.words import Words, noun, words_of
from report.games import Reader, make_games
from report.test_rankings import two_domains


def first_section(path):
    words = "".join(Reader(path.read_text("utf-8")).words)
    return words[words.index("Diagnosis\n") + len("Diagnosis\n") :].strip()


def test_the_page_begins_with_one_sentence(ranker, tmp_path):
    path = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4, 1], folds=2, words=("players", None))
    model = cross_validate(TableRanker(ranker.ranker), ranker.graph_, 4, cv=2)
    similarity = cross_validate(TableRanker(SimilarityRanker(kernel="rbf")), ranker.graph_, 4, cv=2)
    expected = (
        f"{percent(1 - model.mean())} of pairs of new players are ordered right; "
        f"similarity alone: {percent(1 - similarity.mean())}."
    )
    assert first_section(path).startswith(expected)


@pytest.mark.parametrize(("rank_by", "expected"), [("outgoing", "For new drugs, "), ("incoming", "For new proteins, ")])
def test_two_domains_are_called_by_their_columns_of_ids(rank_by, expected, tmp_path):
    ranker = two_domains(rank_by)
    path = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4], folds=2)
    said = first_section(path)
    assert said.startswith(expected)
    assert ("of pairs of new proteins" if rank_by == "outgoing" else "of pairs of new drugs") in said[:90]


def test_without_a_measured_setting_the_sentence_says_so(ranker, tmp_path):
    path = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[])
    right = percent(ranker.score(ranker.graph_))
    expected = f"{right} of pairs of nodes in these data are ordered right; new ones were not measured."
    assert first_section(path).startswith(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("players", "players"),
        ("player_id", "players"),
        ("PlayerName", "players"),
        ("drug", "drugs"),
        ("company", "companies"),
        ("class", "classes"),
        ("box", "boxes"),
        ("day", "days"),
        ("old-players", "old players"),
        ("id", ""),
        ("nodes", ""),
        ("x", ""),
        ("train_nodes", ""),
        ("20240101", ""),
        ("", ""),
    ],
)
def test_nouns_of_columns_and_files(name, expected):
    assert noun(name) == expected


def test_given_words_come_before_those_of_columns():
    ranker = two_domains("outgoing")
    assert words_of(ranker, ranker.graph_) == Words("drugs", "proteins", False)
    assert words_of(ranker, ranker.graph_, ("pills", None)) == Words("pills", "proteins", False)
    assert words_of(two_domains("incoming"), ranker.graph_, ("pills", None)) == Words("proteins", "pills", False)


def test_the_verdict_follows_what_was_measured(ranker):
    options = {"folds": 3, "max_nodes": 100, "step": lambda _: None}
    found, _, _ = measure_settings(ranker, ranker.graph_, [1], **options)
    assert verdict(found)[1] == "good"
    rng = np.random.default_rng(0)
    players, games = make_games()
    games["winner"], games["loser"] = rng.permutation([games["winner"], games["loser"]])
    players |= {name: rng.normal(size=40) for name in ("rock", "paper")}
    noise = TableRanker(ConditionalRanker("reciprocal", "regression")).fit(players, games)
    assert verdict(measure_settings(noise, noise.graph_, [4], **options)[0])[1] == "bad"
    assert verdict([Measured(4, None, None, None, "too little")])[1] == "unknown"


def test_percentages_do_not_round_up_to_all():
    assert [percent(one) for one in (0.674, 0.9951, 1.0, np.nan)] == ["67\xa0%", "99.5\xa0%", "100\xa0%", "–"]
