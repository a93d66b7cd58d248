"""The leaderboard of the search that chose the model: as the model has it, before saving and after loading."""

import re

import pytest

from condrank import TableRanker
from condrank.model_selection import RankerSearch
from condrank.model_selection.leaderboard import Leaderboard, LeaderboardRow
from condrank.report import searched as module
from condrank.report import write_report
from condrank.report.searched import searched
from condrank.tables.searched import Searched
from report.games import Reader, make_games


def row(name, loss, **given):
    usual = {"standard_error": 0.01, "seconds": 1.25, "is_baseline": False, "chosen": False, "params": {}}
    return LeaderboardRow(name=name, loss=loss, **(usual | given))


def found(*rows):
    return Searched(Leaderboard(rows), "Chosen: <b>it</b>.", 0.2, 0.01, True)


def lines(markup):
    """Texts of the rows of all tables, without the heads."""
    return ["".join(Reader(one).words) for one in re.findall("<tr><th scope=.row.*?</tr>", markup)]


def test_losses_errors_seconds_and_marks_are_those_of_the_leaderboard():
    nan = float("nan")
    page = searched(
        found(
            row("<i>rbf</i>", 0.123456, chosen=True),
            row("popularity", 0.3, standard_error=nan, seconds=0.04, is_baseline=True),
            row("broken", nan, standard_error=nan, seconds=nan),
        )
    )
    assert lines(page) == ["<i>rbf</i>0.1235 ± 0.01001.2chosen", "popularity0.30000.0baseline", "broken––"]
    assert "<i>" not in page
    assert "Chosen: &lt;b&gt;it&lt;/b&gt;." in page


def test_the_choice_and_the_best_baseline_are_always_shown(monkeypatch):
    monkeypatch.setattr(module, "SHOWN", 2)
    rows = [row(f"model {i}", 0.1 + i / 100, chosen=i == 5) for i in range(8)]
    rows += [row(f"guess {i}", 0.4 + i / 100, is_baseline=True) for i in range(2)]
    page = searched(found(*rows))
    first, rest = page.split("<details>")
    assert [re.match(r"\w+ \d", one)[0] for one in lines(first)] == ["model 0", "model 1", "model 5", "guess 0"]
    assert len(lines(rest)) == 6
    assert "The other 6 of 10 candidates" in rest


@pytest.fixture(scope="module")
def chosen():
    search = RankerSearch(time_limit=1, random_state=0)
    return TableRanker(search).fit(*make_games(24, 300))


@pytest.mark.parametrize("is_loaded", [False, True])
def test_the_report_of_a_search_has_its_leaderboard(chosen, is_loaded, tmp_path):
    ranker = chosen
    if is_loaded:
        chosen.save(tmp_path / "model")
        ranker = TableRanker.load(tmp_path / "model")
    text = write_report(ranker, chosen.graph_, tmp_path / "r.html", settings=[]).read_text("utf-8")
    section = re.search('<section id="search".*?</section>', text, re.S)[0]
    board = chosen.search_.leaderboard_
    assert len(board) == len(lines(section))
    for one in board:
        assert any(line.startswith(one.name) and f"{one.loss:.4f}" in line for line in lines(section))
    assert chosen.search_.summary_ in "".join(Reader(section).words)
    assert '<a href="#search">Search</a>' in text


def test_a_model_that_was_not_searched_for_has_none(text):
    assert 'id="search"' not in text
    assert "#search" not in text
