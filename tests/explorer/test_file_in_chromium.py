"""The page of a report in a real browser: the source of data is the file itself."""

from __future__ import annotations

import numpy as np
import pytest

from condrank.report import write_report
from explorer.chromium import View
from report.games import COLUMN, NASTY, fit_games


@pytest.fixture(scope="module")
def ranker():
    return fit_games()


@pytest.fixture(scope="module")
def written(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(ranker, ranker.graph_, path, title="A & <b>", folds=2, top=12, classes=COLUMN)


@pytest.fixture
def view(chromium, written):
    """The page, which may write nothing to the console and load nothing but itself."""
    opened = View(chromium)
    opened.open(written.as_uri())
    yield opened
    assert opened.messages() == []
    assert opened.requests() == [written.as_uri()]


def top(view):
    return view.texts("#ranking tbody th")


def test_the_first_ranking_is_shown_at_once(view, ranker):
    assert view.text("#picked") == f"Ranking for {NASTY[0]}"
    assert top(view) == ranker.rank([NASTY[0]], top=12).ids[0].tolist()


def test_search_and_keyboard_change_the_ranking(view, ranker):
    view.fill("#node", "player 1")
    assert view.texts("#suggestions [role=option]")[:2] == ["player 10", "player 11"]
    assert view.text("#count") == "10 found"
    view.press("ARROW_DOWN")
    assert view.text("[aria-selected=true]") == "player 11"
    assert view.one("#node").get_attribute("aria-activedescendant") == "suggestion-1"
    view.press("ENTER")
    assert not view.one("#suggestions").is_displayed()
    assert view.text("#picked") == "Ranking for player 11"
    assert top(view) == ranker.rank(["player 11"], top=12).ids[0].tolist()
    view.press("ARROW_UP")
    assert view.one("#suggestions").is_displayed()
    view.press("ARROW_UP")
    view.press("ESCAPE")
    assert not view.one("#suggestions").is_displayed()
    view.fill("#node", "nobody at all")
    assert view.text("#suggestions") == "none with this name"
    view.press("ENTER")
    assert view.text("#picked") == "Ranking for player 11"


def test_a_part_of_a_name_finds_it(view):
    view.fill("#node", "ER 2")
    assert view.texts("#suggestions [role=option]")[0] == "player 20"


def test_clicks_change_the_ranking(view, ranker):
    view.fill("#node", "PLAYER 20")
    view.all("#suggestions [role=option]")[0].click()
    assert top(view) == ranker.rank(["player 20"], top=12).ids[0].tolist()
    second = top(view)[1]
    view.all("#ranking tbody button")[1].click()
    assert view.text("#picked") == f"Ranking for {second}"
    assert top(view) == ranker.rank([second], top=12).ids[0].tolist()
    view.one("button[aria-label='Next conditioning node']").click()
    assert view.text("#picked") != f"Ranking for {second}"
    view.one("button[aria-label='Previous conditioning node']").click()
    assert view.text("#picked") == f"Ranking for {second}"


def test_the_number_of_places_can_be_lowered(view):
    before = top(view)
    assert view.one("#k").get_attribute("value") == view.one("#k").get_attribute("max") == "12"
    view.fill("#k", "3")
    view.press("ENTER")
    assert top(view) == before[:3]
    view.fill("#k", "nothing")
    view.press("ENTER")
    assert top(view) == before


def test_truth_and_columns_are_shown(view, ranker):
    view.fill("#node", "player 30")
    view.press("ENTER")
    shown = view.texts("#ranking tbody td:last-child")
    order = ranker.rank(["player 30"], top=12).indices[0]
    truth = ranker.graph_.to_dense()[30, order]
    missing = ["not observed" in one for one in shown]
    assert missing == np.isnan(truth).tolist()
    numbers = [float(one) for one, hole in zip(shown, missing, strict=True) if not hole]
    assert numbers == pytest.approx(truth[~np.isnan(truth)], rel=1e-3)
    assert view.texts("#columns dt") == ["rock", "paper", COLUMN]
    assert view.texts("#columns dd")[2] == ranker.row("player 30")[COLUMN]
    assert "of its observed pairs are ordered right." in view.text("#says")
    assert not view.one("#asks-sure").is_displayed()  # only a service can be asked


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 375, 768])
def test_the_page_fits_a_narrow_screen(view, width, scheme):
    view.show_as(scheme=scheme)
    view.resize(width, 700)
    assert view.run("document.documentElement.scrollWidth") <= width
    view.fill("#node", "player")
    assert view.run("document.documentElement.scrollWidth") <= width
    if width >= 375:  # what matters is in sight without scrolling in the table
        assert view.run("document.getElementById('truth').getBoundingClientRect().right") <= width


def test_the_page_fits_a_printed_sheet(view):
    view.resize(718, 1000)  # A4 less Chromium's margins
    view.show_as(media="print")
    assert view.run("document.documentElement.scrollWidth") <= 718
    assert not view.one("nav").is_displayed()


def test_the_explorer_can_be_reached_by_keyboard_alone(view):
    view.press("TAB")
    assert view.run("document.activeElement.className") == "skip"
    view.press("ENTER")
    view.press("TAB")
    assert view.run("document.activeElement.id") == "node"


def test_the_policy_stops_a_script_that_was_put_in(chromium, written, tmp_path):
    broken = tmp_path / "broken.html"
    text = written.read_text("utf-8")
    broken.write_text(text.replace("</main>", "<script>document.title = 'run'</script></main>"), "utf-8")
    view = View(chromium)
    view.open(broken.as_uri())
    assert view.driver.title == "A & <b>"
    assert any("Content Security Policy" in one for one in view.messages())
