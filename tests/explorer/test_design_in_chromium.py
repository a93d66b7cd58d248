"""What a reader does with the page of a report: colours, comparing, keys, small screens, long names."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from condrank.report import first_five, write_report
from explorer.chromium import View
from report.games import make_games

LONG = "Proceedings of the {}th international workshop on conditional ranking of relational data and <b>much</b> more"


@pytest.fixture(scope="module")
def ranker():
    return TableRanker(ConditionalRanker("reciprocal", "logistic", constant=True)).fit(*make_games())


@pytest.fixture(scope="module")
def contest(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("contest") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_five, "SECONDS", 60.0)  # all reasons, however busy the machine is
        return write_report(ranker, ranker.graph_, path, settings=[4, 1], folds=2, words=("players", None))


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """Likeness of few pairs, between nodes with very long names, most of them alone."""
    rng = np.random.default_rng(0)
    names = [LONG.format(i) for i in range(300)]
    X = rng.normal(size=(300, 2))
    pairs = [(i, (i + k) % 80) for i in range(80) for k in (1, 3, 7)]
    edges = {"source": [names[i] for i, _ in pairs], "target": [names[j] for _, j in pairs]}
    edges["value"] = [float(X[i] @ X[j]) for i, j in pairs]
    fitted = TableRanker(ConditionalRanker("symmetric")).fit(
        {"paper": names, "x": X[:, 0], "y": X[:, 1]}, edges, mirror="same"
    )
    path = tmp_path_factory.mktemp("sparse") / "report.html"
    return write_report(fitted, fitted.graph_, path, settings=[4], folds=2)


@pytest.fixture
def view(chromium, contest):
    opened = View(chromium)
    opened.open(contest.as_uri())
    opened.run("localStorage.clear()")
    opened.open(contest.as_uri())
    yield opened
    assert opened.messages() == []


def background(view):
    return sum(map(int, view.run("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(","))) / 3


def test_colours_follow_the_system_until_the_reader_chooses(view, contest):
    assert background(view) > 200
    view.show_as(scheme="dark")
    assert background(view) < 50
    # The page hears of the new colours with its next frame.
    view.wait(lambda: view.one("#theme").get_attribute("aria-pressed") == "true")
    view.one("#theme").click()
    assert background(view) > 200
    assert view.text("#theme") == "Dark"
    view.driver.get(contest.as_uri())  # the choice is remembered
    assert background(view) > 200
    view.show_as(scheme="light")
    view.one("#theme").click()
    assert background(view) < 50
    assert "invert" in view.run("getComputedStyle(document.querySelector('.cells')).filter")
    view.run("localStorage.clear()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(view, scheme):
    view.show_as(scheme=scheme)
    script = """(() => {
      const light = (text) => {
        const [r, g, b] = text.match(/[0-9.]+/g).slice(0, 3).map((one) => one / 255)
          .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const card = light(getComputedStyle(document.querySelector('section')).backgroundColor);
      return ['.lead', '.muted', 'td', '.go', '.verdict', 'figcaption', '.strips .beside', '.chart text'].map((one) => {
        const style = getComputedStyle(document.querySelector('section ' + one));
        const ink = light(one.startsWith('.chart') ? style.fill : style.color);
        return [one, (Math.max(ink, card) + 0.05) / (Math.min(ink, card) + 0.05)];
      });
    })()"""
    weak = [(name, ratio) for name, ratio in view.run(script) if ratio < 4.5]
    assert weak == []


def test_the_first_thing_to_read_is_the_sentence(view):
    first = view.run("document.querySelector('main').innerText.trim().split('\\n')[0]")
    assert "of pairs of new players are ordered right; similarity alone:" in first.replace("\xa0", " ")
    assert view.run("parseFloat(getComputedStyle(document.querySelector('.lead')).fontSize)") > 24


def test_two_ticked_objects_are_compared(view, ranker):
    name = "player 30"
    view.fill("#node", name)
    view.press("ENTER")
    ranking = ranker.rank([name], top=6)
    ids = ranking.ids[0].tolist()
    assert view.text("#comparison h3") == f"{ids[0]} above {ids[1]}"
    boxes = view.all("#ranking tbody input")
    boxes[4].click()  # the oldest of three is dropped
    boxes[2].click()
    assert [box.is_selected() for box in boxes[:6]] == [False, False, True, False, True, False]
    assert view.text("#comparison h3") == f"{ids[2]} above {ids[4]}"
    beats = 1 / (1 + np.exp(-ranking.scores[0]))
    shown = view.text("#comparison").replace("\xa0", " ")
    expected = f"{name} beats {ids[2]} with {100 * beats[2]:.0f} %, and {ids[4]} with {100 * beats[4]:.0f} %."
    assert expected in shown
    duel = ranker.predict_proba([ids[2]], [ids[4]])[0, 0]
    assert f"{100 * duel:.0f} % {ids[2]}" in shown
    assert view.texts("#comparison .differences tbody th")[:2] == ["rock", "paper"]
    boxes[2].click()
    assert view.text("#comparison") == "Tick two objects to compare them."


def test_the_first_five_come_with_probabilities_and_reasons(view, ranker):
    busiest = ranker.query_ids_[int(np.argmax((~np.isnan(ranker.graph_.to_dense())).sum(axis=1)))]
    view.fill("#node", busiest)
    view.press("ENTER")
    one, other, third = ranker.rank([busiest], top=3).ids[0]
    assert "Which score is higher" in view.text("#comparison")
    assert view.text("#comparison .why").startswith(f"{one} is ranked above {other} for {busiest}")
    boxes = view.all("#ranking tbody input")
    boxes[2].click()
    assert view.text("#comparison .why").startswith(f"{other} is ranked above {third} for {busiest}")
    boxes[6].click()
    assert view.all("#comparison .why") == []


def test_arrow_keys_move_along_the_ranking_and_the_focus_is_visible(view):
    view.run("document.querySelector('#ranking tbody input').focus()")
    view.press("ARROW_DOWN")
    view.press("ARROW_DOWN")
    view.press("ARROW_UP")
    at = "[...document.querySelectorAll('#ranking tbody input')].indexOf(document.activeElement)"
    assert view.run(at) == 1
    assert view.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    view.press("ARROW_UP")
    view.press("ARROW_UP")
    assert view.run(at) == 0
    view.press("TAB")
    assert view.run("document.activeElement.className") == "go"
    view.press("ARROW_DOWN")
    assert view.run("[...document.querySelectorAll('#ranking tbody .go')].indexOf(document.activeElement)") == 1


def test_a_name_on_the_leaderboard_shows_its_ranking(view):
    (first, *_), name = view.all(".leaders .go"), view.texts(".leaders .go")[0]
    first.click()
    assert view.text("#picked") == f"Ranking for {name}"


@pytest.mark.parametrize("page", ["contest", "sparse"])
@pytest.mark.parametrize("width", [320, 375, 1200])
def test_nothing_is_cut_off_and_nothing_is_wider_than_the_screen(chromium, request, page, width):
    opened = View(chromium)
    opened.open(request.getfixturevalue(page).as_uri(), width=width)
    assert opened.run("document.documentElement.scrollWidth") <= width
    outside = opened.run("""[...document.querySelectorAll('.chart text, .lead, .strips *, #comparison *')]
      .filter((one) => {
        const box = one.getBoundingClientRect(), card = one.closest('section').getBoundingClientRect();
        return box.width && (box.left < card.left - 1 || box.right > card.right + 1);
      }).map((one) => one.textContent)""")
    assert outside == []
    assert opened.messages() == []


def test_long_names_that_begin_alike_can_be_told_apart_and_found_by_any_part(chromium, sparse):
    opened = View(chromium)
    opened.open(sparse.as_uri())
    opened.fill("#node", "the 77th inter")
    assert opened.text("#count") == "1 found"
    opened.press("ENTER")
    assert opened.text("#picked").startswith("Ranking for Proceedings of the 77th")
    shown = opened.text("#comparison h3")
    first, second = shown.split(" above ")
    assert first != second
    assert len(shown) < 80
    named = opened.run("[...document.querySelectorAll('.chart .tick')].map((one) => one.lastChild.textContent)")
    assert len({one for one in named if "th" in one}) > 20  # not all of them "Proceedings of the…"
    assert opened.all("b:not(.strips b)") == []
