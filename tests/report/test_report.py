"""The report: its numbers are those of the library, its text is safe, and it works in a real browser."""

import json
import os
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, TableRanker
from condrank.baselines import SimilarityRanker
from condrank.cli import app
from condrank.diagnosis import diagnose
from condrank.metrics import rank_loss
from condrank.model_selection import cross_validate
from condrank.report import explorer, page, pictures, write_report
from condrank.report.identity import data_fingerprint, model_fingerprint
from condrank.report.measured import SETTINGS
from condrank.report.rankings import encoded_graph, rank_rows, rank_sample
from condrank.tables import read_graph

NASTY = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '"><b id=x>',
    "<!--",
    "$\\frac$",
    "a & b",
]
COLUMN = "<i>hand</i>"


def make_games(n=40, games=900, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([1, 1, 1], n)
    ids = [NASTY[i] if i < len(NASTY) else f"player {i}" for i in range(n)]
    first = rng.integers(n, size=games)
    second = (first + rng.integers(1, n, size=games)) % n
    beats = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    chance = 0.5 + 0.5 * np.einsum("ij,jk,ik->i", shares[first], beats, shares[second])
    won = rng.random(games) < chance
    names = np.array(ids, dtype=object)
    players = {"id": ids, "rock": shares[:, 0], "paper": shares[:, 1], COLUMN: rng.choice(["<u>left", "$right$"], n)}
    return players, {
        "winner": names[np.where(won, first, second)].tolist(),
        "loser": names[np.where(won, second, first)].tolist(),
    }


@pytest.fixture(scope="module")
def ranker():
    params = {"relation": "reciprocal", "loss": "regression", "kernel": "rbf", "random_state": 0}
    search = ConditionalRankerCV([0.1, 1.0, 10.0, 1000.0], 2, **params)
    return TableRanker(search).fit(*make_games())


@pytest.fixture(scope="module")
def written(ranker, tmp_path_factory):
    steps = []
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    write_report(ranker, ranker.graph_, path, title="A & <b>", folds=2, top=12, classes=COLUMN, step=steps.append)
    assert {"ranking", "diagnosing", "drawing", "setting 4, model: fold 2 of 2"} <= set(steps)
    return path


@pytest.fixture(scope="module")
def text(written):
    return written.read_text("utf-8")


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures are made but not put into pixels, which takes most of the time of a small report."""
    for name in ("_png", "_svg"):
        monkeypatch.setattr(pictures, name, lambda figure, label: pictures._image("image/png", b"", label))


class Reader(HTMLParser):
    """Elements, and text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self._quiet = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._quiet = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._quiet = False

    def handle_data(self, data):
        if not self._quiet:
            self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_numbers_are_those_of_the_library(ranker, text):
    graph = ranker.graph_
    words = "".join(Reader(text).words)
    assert f"{1 - ranker.score(graph):.4f}rank loss of the model" in words
    fresh = TableRanker(ranker.ranker)
    for setting, what in SETTINGS.items():
        found = cross_validate(fresh, graph, setting, cv=2)
        told = f"{setting}{what}{found.mean():.4f} ± {found.standard_error():.4f}"
        assert told in words, setting
    assert f"one score per node explains {100 * diagnose(graph).hodge.gradient_share:.1f}" in words
    assert f"λ{ranker.ranker_.alpha_:.6g}" in words
    assert model_fingerprint(ranker) in words
    assert data_fingerprint(graph) in words


@pytest.mark.usefixtures("undrawn")
def test_warnings_of_folds_are_told_once(ranker, tmp_path):
    lowest = TableRanker(clone(ranker.ranker).set_params(alphas=[1e-3, 1e-2])).fit(ranker.graph_)
    path = write_report(lowest, ranker.graph_, tmp_path / "r.html", settings=[1], folds=2)
    told = re.findall("told while fitting: (the best λ[^<]*)", path.read_text("utf-8"))
    assert 1 <= len(told) == len(set(told))


def test_similarity_is_measured_on_the_same_folds(ranker, text):
    baseline = TableRanker(SimilarityRanker(kernel="rbf"))
    found = cross_validate(baseline, ranker.graph_, 4, cv=2)
    assert f"{found.mean():.4f} ± {found.standard_error():.4f}" in "".join(Reader(text).words)


def test_explorer_has_the_rankings_of_the_ranker(ranker, text):
    data, graph = embedded(text), ranker.graph_
    ids = ranker.query_ids_.tolist()
    truth = dict(zip(ids, graph.to_dense(), strict=True))
    place = {one: position for position, one in enumerate(ids)}
    losses = dict(zip(ids, rank_loss(graph.to_dense(), ranker.predict(graph), average=None), strict=True))
    assert [data["names"][query[0]] for query in data["queries"]] == ids
    assert data["columns"] == ["rock", "paper", COLUMN]
    for query in data["queries"]:
        name = data["names"][query[0]]
        ranking = ranker.rank([name], top=12)
        assert [data["names"][one] for one in query[4]] == ranking.ids[0].tolist()
        np.testing.assert_allclose(query[5], ranking.scores[0], rtol=1e-4)
        expected = [truth[name][place[one]] for one in ranking.ids[0]]
        np.testing.assert_allclose([np.nan if one is None else one for one in query[6]], expected, rtol=1e-4)
        assert query[1] == pytest.approx(losses[name], rel=1e-4)
        assert query[2] == np.isfinite(truth[name]).sum()
        assert query[3][2] == ranker.row(name)[COLUMN]


def test_worst_and_best_are_told_with_the_truth(ranker, text):
    losses = rank_loss(ranker.graph_.to_dense(), ranker.predict(ranker.graph_), average=None)
    worst = ranker.query_ids_[np.argsort(-losses, kind="stable")[0]]
    words = "".join(Reader(text).words)
    told = words[words.index("Worst 6") :]
    assert told.startswith(f"Worst 6{worst}loss {np.max(losses):.4f}")
    scores = ranker.rank([worst], top=1)
    value = ranker.graph_.to_dense()[list(ranker.query_ids_).index(worst), scores.indices[0, 0]]
    assert f"{scores.ids[0, 0]} ({'not observed' if np.isnan(value) else f'{value:.4g}'})" in told


def test_nothing_that_was_given_becomes_markup(text):
    reader = Reader(text)
    assert [one.get("type") for one in reader.named("script")] == ["application/json", None]
    assert all(one["src"].startswith("data:image/") for one in reader.named("img"))
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert not reader.named("b") or all(not one for one in reader.named("b"))
    assert not reader.named("u")
    words = "".join(reader.words)
    assert "A & <b>" in words
    assert set(NASTY) <= set(embedded(text)["names"])
    addresses = [one.get("href", "") for one in [*reader.named("a"), *reader.named("link")]]
    assert all(one.startswith(("#", "data:")) for one in addresses)


def test_every_image_has_a_description_and_every_field_a_label(text):
    reader = Reader(text)
    assert len(reader.named("img")) == 6  # heat maps, Hodge, losses, settings, coordinates, λ
    assert all(one["alt"] for one in reader.named("img"))
    assert {one["for"] for one in reader.named("label")} == {one["id"] for one in reader.named("input")}
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("undrawn")
def test_model_is_told_to_have_seen_the_data(ranker, written, tmp_path):
    assert "in training: the model&#x27;s loss on them says how well it fits" in written.read_text("utf-8")
    players, games = make_games(30, 400, seed=1)
    renamed = {f"{name}": one for name, one in players.items()} | {"id": [f"new {one}" for one in players["id"]]}
    games = {side: [f"new {one}" for one in games[side]] for side in games}
    path = write_report(ranker, read_graph(renamed, games), tmp_path / "new.html", settings=[])
    words = "".join(Reader(path.read_text("utf-8")).words)
    assert "None of these conditioning nodes was in training." in words
    assert "Not measured: setting 1" in words


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


def two_domains(rank_by):
    rng = np.random.default_rng(3)
    drugs = {"drug": [f"d{i}" for i in range(14)], "size": rng.normal(size=14)}
    targets = {"protein": np.arange(11), "charge": rng.normal(size=11)}
    pairs = [(i, j) for i in range(14) for j in range(11) if rng.random() < 0.7]
    value = [drugs["size"][i] * targets["charge"][j] for i, j in pairs]
    bound = {"drug": [f"d{i}" for i, _ in pairs], "protein": [j for _, j in pairs], "affinity": value}
    options = {"objects": targets, "source": "drug", "target": "protein", "value": "affinity"}
    return TableRanker(ConditionalRanker(rank_by=rank_by)).fit(drugs, bound, **options)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.usefixtures("undrawn")
def test_two_domains(rank_by, tmp_path):
    ranker = two_domains(rank_by)
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4], folds=2).read_text("utf-8")
    data, words = embedded(text), "".join(Reader(text).words)
    assert "there is no similarity across two domains" in words
    assert f"{1 - ranker.score(ranker.graph_):.4f}rank loss of the model" in words
    queries = [data["names"][query[0]] for query in data["queries"]]
    assert queries == [str(one) for one in ranker.query_ids_]
    best = ranker.rank([ranker.query_ids_[2]], top=50).ids[0]
    assert [data["names"][one] for one in data["queries"][2][4]] == [str(one) for one in best]
    assert data["columns"] == (["size"] if rank_by == "outgoing" else ["charge"])


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_rankings_are_those_of_whole_matrices(relation, rank_by):
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 3, size=(17, 3)).astype(float), rng.integers(-1, 2, size=(17, 17)).astype(float)
    Y = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}[relation]
    Y[rng.random(Y.shape) < 0.3] = np.nan
    graph = RelationGraph(X, Y)  # equal rows of X: ties in score
    ranker = TableRanker(ConditionalRanker(relation=relation, rank_by=rank_by)).fit(graph)
    scores = ranker.predict(graph)
    truth = Y if rank_by == "outgoing" else Y.T
    found = rank_sample(ranker.ranker_, encoded_graph(ranker, graph), 5, 100)
    expected = ranker.rank(np.arange(17), top=5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.truth, np.take_along_axis(truth, expected.indices, axis=1))
    np.testing.assert_allclose(found.losses, rank_loss(truth, scores, average=None))
    assert found.pooled_loss == pytest.approx(rank_loss(truth, scores))
    few = rank_rows(ranker.ranker_, graph, np.array([3, 11]), 5)
    np.testing.assert_array_equal(few.indices, expected.indices[[3, 11]])
    worst, best = found.extremes(20)
    assert len(set(worst) | set(best)) == len(worst) + len(best) == np.isfinite(found.losses).sum()


@pytest.mark.usefixtures("undrawn")
def test_kernel_of_a_loaded_model_is_found_by_ids(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    names = [f"k{i}" for i in range(20)]
    np.savez(tmp_path / "kernel.npz", kernel=X @ X.T, ids=names)
    pairs = [(i, j) for i in range(20) for j in range(i)]
    edges = {"source": [names[i] for i, _ in pairs], "target": [names[j] for _, j in pairs]}
    edges["value"] = [float(X[i] @ X[j] > 0) for i, j in pairs]
    asked = {"kernel": tmp_path / "kernel.npz", "mirror": "same"}
    fitted = TableRanker(ConditionalRanker(relation="symmetric", kernel="precomputed")).fit(None, edges, **asked)
    fitted.save(tmp_path / "model")
    loaded, graph = TableRanker.load(tmp_path / "model"), read_graph(None, edges, **asked)
    texts = [
        write_report(one, graph, tmp_path / "r.html", settings=[2], folds=2).read_text("utf-8")
        for one in (fitted, loaded)
    ]
    assert embedded(texts[0]) == embedded(texts[1])
    assert f"{1 - fitted.score(fitted.graph_):.4f}rank loss of the model" in "".join(Reader(texts[1]).words)


@pytest.mark.usefixtures("undrawn")
def test_what_does_not_fit_is_left_out_and_told(ranker, tmp_path, monkeypatch):
    monkeypatch.setattr(explorer, "MOST_BYTES", 4000)
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[], max_queries=30).read_text("utf-8")
    n = len(embedded(text)["queries"])
    assert 1 <= n < 30
    words = "".join(Reader(text).words)
    assert f"Here are {n} of the 40 conditioning nodes, drawn at random" in words
    assert "That loss is over 30 of 40 conditioning nodes, drawn at random" in words


def test_a_large_page_stays_small(tmp_path):
    n = 2500
    rng = np.random.default_rng(0)
    nodes = {"id": [f"a rather long name {i}" for i in range(n)], "x": rng.normal(size=n), "text": ["word " * 40] * n}
    edges = {"source": rng.integers(n, size=20000), "target": rng.integers(n, size=20000)}
    edges = {side: [nodes["id"][i] for i in edges[side]] for side in edges} | {"value": rng.normal(size=20000)}
    ranker = TableRanker(ConditionalRanker()).fit(nodes, edges, drop=["text"])
    path = write_report(ranker, read_graph(nodes, edges), tmp_path / "r.html", settings=[])
    assert path.stat().st_size < 3_000_000


@pytest.mark.usefixtures("undrawn")
def test_sample_of_cross_validation_is_told_and_a_setting_without_enough_is_no_end(ranker, tmp_path):
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[4, 1], folds=9, max_nodes=12)
    words = "".join(Reader(text.read_text("utf-8")).words)
    assert "Measured on 12 of 40 nodes, drawn at random." in words
    assert re.search(r"setting 4: (the test graph of fold|no conditioning node)", words)


@pytest.mark.usefixtures("undrawn")
def test_early_stopping_has_its_curve(tmp_path):
    asked = ConditionalRanker(relation="reciprocal", loss="regression", solver="early_stopping", random_state=0)
    ranker = TableRanker(asked).fit(*make_games())
    text = write_report(ranker, ranker.graph_, tmp_path / "r.html", settings=[]).read_text("utf-8")
    assert "Rank loss against iteration" in text


@pytest.mark.usefixtures("undrawn")
def test_old_page_survives_a_failure(ranker, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")
    monkeypatch.setattr(page.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        write_report(ranker, ranker.graph_, path, settings=[])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranker": ConditionalRanker()}, "ranker must be a fitted TableRanker, got ConditionalRanker"),
        ({"graph": 3}, "graph must be a RelationGraph, got int"),
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"settings": [5]}, "settings must be one of"),
        ({"top": 0}, "top must be"),
        ({"classes": "age"}, "classes must be a column of the nodes, one of .* got 'age'"),
        ({"path": "."}, "path must be a file to write"),
    ],
)
def test_bad_input_is_refused_before_long_work(ranker, tmp_path, change, message):
    given = {"ranker": ranker, "graph": ranker.graph_, "path": tmp_path / "r.html"} | change
    with pytest.raises(ValueError, match=message):
        write_report(**given)
    assert not (tmp_path / "r.html").exists()


def write_csv(path, columns):
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.mark.usefixtures("undrawn")
def test_command_takes_a_saved_model_or_fits_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    players, games = make_games(30, 500)
    players["notes"] = [""] * 30  # not in the model: missing values there are no matter
    write_csv(tmp_path / "players.csv", players)
    write_csv(tmp_path / "games.csv", games)
    asked = ConditionalRanker(relation="reciprocal", loss="regression", alpha=2.0)
    ranker = TableRanker(asked).fit("players.csv", "games.csv", drop=["notes", COLUMN])
    ranker.save("model/")
    tables = ["--nodes", "players.csv", "--edges", "games.csv"]
    some = ["--quick", "--setting", "2"]
    run = CliRunner().invoke(app, ["report", "model/", *tables, *some, "--classes", COLUMN, "--title", "T"])
    assert (run.exit_code, run.stdout) == (0, "Written: report.html\n"), run.output
    words = "".join(Reader((tmp_path / "report.html").read_text("utf-8")).words)
    found = cross_validate(TableRanker(asked), ranker.graph_, 2, cv=2)
    assert f"2{SETTINGS[2]}{found.mean():.4f} ± {found.standard_error():.4f}" in words
    fitted = ["--drop", "notes", "--relation", "reciprocal", "--loss", "regression", "--alpha", "2", "-o", "b.html"]
    run = CliRunner().invoke(app, ["report", *tables, *some, *fitted])
    assert (run.exit_code, run.stdout) == (0, "Written: b.html\n"), run.output
    run = CliRunner().invoke(app, ["report", "nothing/", *tables])
    assert run.exit_code == 1
    assert "nothing" in run.output


# In a browser


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
