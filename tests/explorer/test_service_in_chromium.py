"""The page of a service in a real browser: the source of data is HTTP."""

from __future__ import annotations

import threading
import time
from importlib import import_module

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from explorer.chromium import View
from report.games import COLUMN, NASTY, make_games
from service.served import EDGES, NODES, Limits, ModelHolder, create_app, running


@pytest.fixture(scope="module")
def ranker():
    return TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(NODES, EDGES)


@pytest.fixture(scope="module")
def folder(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    ranker.save(path)
    return path


@pytest.fixture(scope="module")
def address(folder):
    with running(create_app(ModelHolder(folder), Limits(k=25))) as found:
        yield found


@pytest.fixture
def view(chromium):
    return View(chromium)


@pytest.fixture
def opened(view, address):
    """The page with its first ranking; it may write nothing to the console and ask nobody else."""
    view.open(address)
    view.wait(lambda: view.texts("#ranking tbody tr"))
    yield view
    assert view.messages() == []
    assert all(one.startswith(address) for one in view.requests())


def names(view):
    return view.texts("#ranking tbody th")


def show(view, name):
    view.fill("#node", name)
    view.press("ENTER")
    view.wait(lambda: view.text("#picked") == f"Ranking for {name}")


def test_the_page_asks_for_the_token(view, folder, ranker):
    with running(create_app(ModelHolder(folder), token="t")) as address:
        view.open(address)
        view.wait(lambda: view.one("#locked").is_displayed())
        assert "token is needed" in view.text("#problem")
        view.fill("#token", "wrong")
        view.press("ENTER")
        view.wait(lambda: "token is wrong" in view.text("#problem"))
        # The browser writes down by itself that it was refused.
        assert all("401" in one for one in view.messages())
        view.fill("#token", "t")
        view.press("ENTER")
        view.wait(lambda: view.texts("#ranking tbody tr"))
        assert view.text("#problem") == ""
        assert not view.one("#locked").is_displayed()
        assert names(view) == ranker.rank([NODES["id"][0]], top=20).ids[0].tolist()
        assert view.messages() == []


def test_search_and_keyboard_change_the_ranking(opened, ranker):
    opened.fill("#node", "node 12")
    opened.wait(lambda: opened.texts("#suggestions [role=option]") == ["Node 12"])
    assert opened.text("#count") == "1 found"
    opened.press("ARROW_DOWN")
    opened.press("ENTER")
    opened.wait(lambda: opened.text("#picked") == "Ranking for Node 12")
    found = names(opened)
    assert found == ranker.rank(["Node 12"], top=20).ids[0].tolist()
    assert opened.texts("#columns dt") == ["x", "born", "kind"]
    assert float(opened.texts("#columns dd")[0]) == pytest.approx(NODES["x"][12], rel=1e-5)
    assert opened.texts("#columns dd")[1:] == [NODES["born"][12], NODES["kind"][12]]
    opened.all("#ranking tbody button")[1].click()
    opened.wait(lambda: opened.text("#picked") == f"Ranking for {found[1]}")
    assert names(opened) == ranker.rank([found[1]], top=20).ids[0].tolist()
    assert opened.run("document.activeElement.getAttribute('role')") == "region"  # the keyboard keeps its place


def test_enter_takes_what_was_typed_last_even_if_the_search_is_slow(view, folder):
    holder = ModelHolder(folder)
    find = holder.current.find
    holder.current.find = lambda *given: (time.sleep(0.3), find(*given))[-1]
    with running(create_app(holder)) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        view.fill("#node", "Node 17")
        view.press("ENTER")
        view.wait(lambda: view.text("#picked") == "Ranking for Node 17")


def test_the_list_of_all_nodes_opens_with_the_arrow_and_closes_with_escape(opened):
    opened.one("#node").click()
    opened.wait(lambda: len(opened.all("#suggestions [role=option]")) == len(NODES["id"]))
    opened.press("ESCAPE")
    assert not opened.one("#suggestions").is_displayed()
    opened.press("ARROW_DOWN")
    opened.wait(lambda: opened.texts("[aria-selected=true]") == [NODES["id"][0]])
    opened.fill("#node", "nobody")
    opened.wait(lambda: opened.text("#suggestions") == "none with this name")


def test_an_id_with_a_slash_can_be_picked(opened, ranker):
    show(opened, "n/3")
    assert names(opened) == ranker.rank(["n/3"], top=20).ids[0].tolist()


def test_next_and_previous_follow_the_order_of_the_nodes(opened):
    show(opened, "Node 28")
    for button, name in (("next", "Node 29"), ("next", "Node 0"), ("previous", "Node 29"), ("previous", "Node 28")):
        opened.one(f"#{button}").click()
        opened.wait(lambda name=name: opened.text("#picked") == f"Ranking for {name}")
        assert opened.one("#node").get_attribute("value") == name


def test_the_number_of_places_can_be_changed_up_to_the_limit(opened, ranker):
    show(opened, "Node 5")
    opened.fill("#k", "25")
    opened.press("ENTER")
    opened.wait(lambda: len(names(opened)) == 25)
    opened.fill("#k", "26")
    opened.press("ENTER")
    opened.wait(lambda: "k: expected at most 25, got 26" in opened.text("#problem"))
    assert all("422" in one for one in opened.messages())
    opened.fill("#k", "3")
    opened.press("ENTER")
    opened.wait(lambda: names(opened) == ranker.rank(["Node 5"], top=3).ids[0].tolist())
    assert opened.text("#problem") == ""


def test_there_is_no_truth_and_a_line_about_the_model(opened):
    assert not opened.one("#truth").is_displayed()
    assert not opened.one("#says").is_displayed()
    assert opened.text("#about").startswith("30 nodes, reciprocal relation, ranking loss, model ")


def test_the_search_field_follows_the_colours_on_the_keyboard(opened):
    opened.press("TAB")
    assert opened.run("document.activeElement.id") == "theme"
    opened.press("TAB")
    assert opened.run("document.activeElement.id") == "node"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 375, 768])
def test_the_page_fits_a_narrow_screen(opened, width, scheme):
    opened.show_as(scheme=scheme)
    opened.resize(width, 700)
    assert opened.run("document.documentElement.scrollWidth") <= width
    opened.run("document.getElementById('locked').hidden = false")
    opened.fill("#node", "Node")
    opened.wait(lambda: opened.all("#suggestions [role=option]"))
    assert opened.run("document.documentElement.scrollWidth") <= width


def test_ticked_objects_are_explained_by_the_service(opened, ranker):
    show(opened, "n/3")
    ids = names(opened)
    assert not any("explain" in one for one in opened.requests())  # not before somebody has asked
    boxes = opened.all("#ranking tbody input")
    boxes[4].click()  # with the second: the oldest of three is dropped
    one, other = ids[1], ids[4]
    opened.wait(lambda: opened.texts(".why") == [str(ranker.explain("n/3", one, other))])
    assert any(one.endswith("/explain") for one in opened.requests())
    boxes[1].click()
    opened.wait(lambda: opened.texts(".why") == [str(ranker.explain("n/3", ids[4]))])
    assert opened.text("#comparison h3") == f"{ids[4]} for n/3"
    found = ranker.explain("n/3", ids[4]).to_dict()
    largest = abs(found["contributions"][0]["contribution"])
    expected = [one for one in found["contributions"] if abs(one["contribution"]) > 0.01 * largest][:6]
    sums = [float(one.replace("−", "-")) for one in opened.texts(".terms td")]
    np.testing.assert_allclose(sums, [one["contribution"] for one in expected], rtol=6e-3)
    first = expected[0]
    assert opened.texts(".terms th")[0].startswith(f"{first['feature']} of ")
    assert opened.text(".reason .muted").endswith(f"sum {found['total']:+.3g}.".replace("-", "−"))


def test_the_first_two_are_explained_on_request(opened, ranker):
    show(opened, "Node 7")
    opened.wait(lambda: opened.texts(".reason button") == ["Why?"])
    opened.one(".reason button").click()
    opened.wait(lambda: opened.texts(".why") == [str(ranker.explain("Node 7", *names(opened)[:2]))])


def test_nodes_that_speak_for_a_score_are_named_and_a_token_is_sent(view, tmp_path):
    ranker = TableRanker(ConditionalRanker("reciprocal", kernel="rbf")).fit(NODES, EDGES)
    ranker.save(tmp_path, training=True)
    with running(create_app(ModelHolder(tmp_path), token="t")) as address:
        view.open(address)
        view.wait(lambda: view.one("#locked").is_displayed())
        view.fill("#token", "t")
        view.press("ENTER")
        view.wait(lambda: view.texts("#ranking tbody tr"))
        view.messages()
        view.all("#ranking tbody input")[0].click()
        second = names(view)[1]
        view.wait(lambda: view.texts(".why") == [str(ranker.explain("Node 0", second))])
        expected = ranker.explain("Node 0", second).to_dict()["contributions"]
        assert view.texts(".terms th") == [f"what is known of {one['node']}" for one in expected[:6]]
        assert view.text(".reason .muted").startswith(f"{len(NODES['id']) - 6} more ")
        assert view.messages() == []


def test_what_the_service_does_not_explain_is_shown_as_its_message(view, folder):
    holder, refusals = ModelHolder(folder), import_module("condrank.service.refusals")  # needs what served looks for

    def refuse(*given):
        raise refusals.Refusal(422, "these scores are <b>no sums</b>")

    holder.current.explain = refuse
    with running(create_app(holder)) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        view.all("#ranking tbody input")[3].click()
        view.wait(lambda: view.texts(".refused") == ["these scores are <b>no sums</b>"])
        assert view.texts(".terms") == []
        assert view.text("#problem") == ""
        assert all("422" in one for one in view.messages())


def test_only_the_newest_answer_is_shown(view, folder):
    holder, go = ModelHolder(folder), threading.Event()
    rank = holder.current.rank

    def slow(queries, *given):
        if queries == ["Node 1"]:
            go.wait(20)
        return rank(queries, *given)

    holder.current.rank = slow
    with running(create_app(holder, Limits(workers=2))) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        view.fill("#node", "Node 1")
        view.press("ENTER")
        view.wait(lambda: not view.one("#suggestions").is_displayed())
        show(view, "Node 12")
        go.set()
        # Once a later question is answered, the late answer has arrived too.
        view.run("fetch('rank/Node 1').then(one => one.json()).then(() => { document.title = 'late' })")
        view.wait(lambda: view.driver.title == "late")
        assert view.text("#picked") == "Ranking for Node 12"


def test_a_service_that_is_gone_is_reported(view, folder):
    with running(create_app(ModelHolder(folder))) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
    view.one("#next").click()
    view.wait(lambda: view.text("#problem") == "The service does not answer.")
    view.messages()


def test_ids_columns_and_cells_are_text(view, tmp_path):
    ranker = TableRanker(ConditionalRanker("reciprocal")).fit(*make_games())
    ranker.save(tmp_path)
    with running(create_app(ModelHolder(tmp_path))) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        for name in NASTY:
            show(view, name)
            assert names(view) == ranker.rank([name], top=20).ids[0].tolist()
            assert view.texts("#columns dt") == ["rock", "paper", COLUMN]
            assert view.texts("#columns dd")[2] == ranker.row(name)[COLUMN]
        assert view.all("img, #x, b, u") == []
        assert view.messages() == []


def test_objects_of_another_domain_cannot_be_picked(view, tmp_path):
    rng = np.random.default_rng(1)
    drugs = {"id": [f"d{i}" for i in range(6)], "x": rng.normal(size=6), "y": rng.normal(size=6)}
    targets = {"id": [f"t{i}" for i in range(8)], "z": rng.normal(size=8), "w": rng.normal(size=8)}
    edges = {"source": np.repeat(drugs["id"], 8), "target": np.tile(targets["id"], 6), "value": rng.normal(size=48)}
    ranker = TableRanker(ConditionalRanker()).fit(drugs, edges, objects=targets)
    ranker.save(tmp_path)
    with running(create_app(ModelHolder(tmp_path))) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        show(view, "d4")
        assert names(view) == ranker.rank(["d4"], top=20).ids[0].tolist()
        assert view.all("#ranking button") == []
        assert view.text("#about").startswith("6 conditioning nodes, 8 objects, ")
