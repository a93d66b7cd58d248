"""The page in a real browser."""

import shutil

import numpy as np
import pytest

from report.games import COLUMN, NASTY


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on PATH")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def view(browser, written):
    """The page, with what it said and what it asked for."""
    opened = browser.new_page(viewport={"width": 1100, "height": 800})
    said, asked = [], []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(written.as_uri())
    yield opened
    assert said == []
    assert [one for one in asked if not one.startswith("data:")] == [written.as_uri()]
    opened.close()


def top(view):
    return view.locator("#ranking tbody th").all_inner_texts()


def test_page_shows_a_ranking_at_once(view, ranker):
    assert view.locator("#picked").inner_text() == f"Ranking for {NASTY[0]}"
    assert top(view) == ranker.rank([NASTY[0]], top=12).ids[0].tolist()
    assert view.locator("img").evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")


def test_search_and_keyboard_change_the_ranking(view, ranker):
    view.locator("#node").fill("player 1")
    options = view.locator("#suggestions [role=option]")
    assert options.all_inner_texts()[:2] == ["player 10", "player 11"]
    view.keyboard.press("ArrowDown")
    assert view.locator("[aria-selected=true]").inner_text() == "player 11"
    assert view.locator("#node").get_attribute("aria-activedescendant") == "suggestion-1"
    view.keyboard.press("Enter")
    assert view.locator("#suggestions").is_hidden()
    assert view.locator("#picked").inner_text() == "Ranking for player 11"
    assert top(view) == ranker.rank(["player 11"], top=12).ids[0].tolist()
    view.keyboard.press("ArrowUp")
    view.keyboard.press("ArrowUp")
    view.keyboard.press("Escape")
    assert view.locator("#suggestions").is_hidden()
    view.locator("#node").fill("nobody at all")
    assert view.locator("#suggestions").inner_text() == "none with this name"
    view.keyboard.press("Enter")
    assert view.locator("#picked").inner_text() == "Ranking for player 11"


def test_clicks_change_the_ranking(view, ranker):
    view.locator("#node").fill("PLAYER 20")
    view.locator("#suggestions [role=option]").first.click()
    assert top(view) == ranker.rank(["player 20"], top=12).ids[0].tolist()
    second = top(view)[1]
    view.locator("#ranking tbody button").nth(1).click()
    assert view.locator("#picked").inner_text() == f"Ranking for {second}"
    assert top(view) == ranker.rank([second], top=12).ids[0].tolist()
    view.get_by_role("button", name="Next conditioning node").click()
    assert view.locator("#picked").inner_text() != f"Ranking for {second}"
    view.get_by_role("button", name="Previous conditioning node").click()
    assert view.locator("#picked").inner_text() == f"Ranking for {second}"


def test_truth_and_columns_are_shown(view, ranker):
    view.locator("#node").fill("player 30")
    view.keyboard.press("Enter")
    told = view.locator("#ranking tbody td:last-child").all_inner_texts()
    order = ranker.rank(["player 30"], top=12).indices[0]
    truth = ranker.graph_.to_dense()[30, order]
    assert [one == "not observed" for one in told] == np.isnan(truth).tolist()
    assert [float(one) for one in told if one != "not observed"] == pytest.approx(truth[~np.isnan(truth)], rel=1e-4)
    assert view.locator("#columns dt").all_inner_texts() == ["rock", "paper", COLUMN]
    assert view.locator("#columns dd").nth(2).inner_text() == ranker.row("player 30")[COLUMN]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 375, 768])
def test_page_fits_a_narrow_screen(view, width, scheme):
    view.emulate_media(color_scheme=scheme)
    view.set_viewport_size({"width": width, "height": 700})
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    view.locator("#node").fill("player")
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    if width >= 375:  # what matters is in sight without scrolling in the table
        truth = view.locator("#ranking thead th").last.bounding_box()
        assert truth["x"] + truth["width"] <= width


def test_page_fits_a_printed_sheet(view):
    view.set_viewport_size({"width": 718, "height": 1000})  # A4 less Chromium's margins
    view.emulate_media(media="print")
    assert view.evaluate("document.documentElement.scrollWidth") <= 718
    assert not view.locator("nav").is_visible()


def test_explorer_can_be_reached_by_keyboard_alone(view):
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.className") == "skip"
    view.keyboard.press("Enter")
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.id") == "node"
