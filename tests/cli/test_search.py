"""``condrank fit`` searches for the model by default: what it shows, what it keeps, and what turns it off."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import TableRanker, cli
from condrank.cli import terminal
from condrank.model_selection import judging
from condrank.model_selection.ranker_search import RankerSearch

N = 30
GAMES = ["--nodes", "players.csv", "--edges", "games.csv"]
ALIKE = ["--nodes", "players.csv", "--edges", "alike.csv"]


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    rows = "".join(f"p{i},{x[0]:.4f},{x[1]:.4f}\n" for i, x in enumerate(X))
    Path("players.csv").write_text("id,speed,reach\n" + rows)
    pairs = [rng.choice(N, 2, replace=False) for _ in range(300)]
    games = [(i, j) if X[i, 0] + 0.5 * rng.normal() > X[j, 0] else (j, i) for i, j in pairs]
    Path("games.csv").write_text("winner,loser\n" + "".join(f"p{i},p{j}\n" for i, j in games))
    near = np.exp(-((X[:, None] - X[None]) ** 2 / X.var(axis=0)).sum(axis=2))
    alike = "".join(f"p{i},p{j},{near[i, j]:.4f}\n" for i in range(N) for j in range(N) if rng.random() < 0.6)
    Path("alike.csv").write_text("source,target,value\n" + alike)


def run(*arguments, code=0):
    done = CliRunner().invoke(cli.app, [str(one) for one in arguments])
    assert done.exit_code == code, done.output
    return done


def test_games_keep_the_logistic_loss_and_the_search_is_shown_and_saved():
    done = run("fit", *GAMES, "-o", "m", "--time-limit", 20)
    assert "rank loss on held-out nodes" in done.stdout
    assert "(baseline)" in done.stdout
    assert "Chosen: " in done.stdout
    assert done.stdout.count("← chosen") == 1
    assert "and 600 edges (each row in both directions): reciprocal relation, logistic loss" in done.stdout
    assert not re.search(r"\d\.\d{5}", done.stdout)  # no number with all of its digits
    loaded = TableRanker.load("m")
    assert loaded.search_.summary_ in done.stdout
    assert loaded.predict_proba(["p0"]).shape == (1, N)
    assert loaded.ranker_.fitted_.settings.kernel.constant
    facts = json.loads(run("info", "m", "--json").stdout)
    assert facts["search"]["summary"] == loaded.search_.summary_
    assert facts["search"]["leaderboard"][0]["loss"] == loaded.search_.leaderboard_[0].loss
    loaded.save("again")
    assert TableRanker.load("again").search_.to_state() == loaded.search_.to_state()


def test_a_baseline_that_nothing_beats_is_saved_ranks_and_is_described():
    found = json.loads(run("fit", *ALIKE, "-o", "m", "--time-limit", 20, "--json").stdout)
    assert found["search"]["learned"] is False
    assert "Learning adds nothing" in found["search"]["summary"]
    assert found["class"] != "ConditionalRanker"
    assert (
        len(json.loads(run("rank", "m", "--query", "p0", "--top", 3, "--json").stdout)["rankings"][0]["objects"]) == 3
    )
    assert json.loads(run("info", "m", "--json").stdout)["class"] == found["class"]
    for asked in (
        ["rank", "m", "--query", "p0", "--std"],
        ["explain", "m", "p0", "p1"],
        ["suggest", "m"],
        ["strengths", "m"],
    ):
        assert "condrank fit --quick" in run(*asked, code=1).stderr  # which gives what a baseline has not
    run("evaluate", "m", *ALIKE)
    run("evaluate", "m", *ALIKE, "--setting", 4, "--folds", 2)
    ranker = TableRanker(time_limit=20).fit("players.csv", "alike.csv")
    np.testing.assert_allclose(TableRanker.load("m").predict(["p3"]), ranker.predict(["p3"]))


@pytest.mark.parametrize(
    "more", [["--quick"], ["--time-limit", 0], ["--kernel", "linear"], ["--alpha", 1], ["--no-constant"]]
)
def test_a_model_that_is_given_is_not_searched_for(monkeypatch, more):
    monkeypatch.setattr(RankerSearch, "fit", None)
    assert json.loads(run("fit", *GAMES, *more, "-o", "m", "--json").stdout)["search"] is None


def test_relation_and_loss_narrow_the_search():
    found = json.loads(run("fit", *GAMES, "--loss", "regression", "-o", "m", "--time-limit", 20, "--json").stdout)
    learned = [row["name"] for row in found["search"]["leaderboard"] if not row["is_baseline"]]
    assert learned
    assert all(name.startswith(("regression", "the default model")) for name in learned)


def test_an_interrupted_search_keeps_the_best_so_far(monkeypatch):
    judged = []

    def interrupted(self, candidate, *given, **more):
        if len(judged) == 4:
            raise KeyboardInterrupt
        judged.append(candidate)
        return judge(self, candidate, *given, **more)

    judge = judging.Judge.judge
    monkeypatch.setattr(judging.Judge, "judge", interrupted)
    done = run("fit", *GAMES, "-o", "m", "--json")
    assert len(json.loads(done.stdout)["search"]["leaderboard"]) == 4
    assert "interrupted" in done.stderr
    assert TableRanker.load("m").rank("p0", top=2).ids.shape == (1, 2)


@pytest.fixture
def searches(monkeypatch):
    """The searches that a command makes, in order."""
    made, fit = [], RankerSearch.fit

    def watched(self, *given, **more):
        made.append(self)
        return fit(self, *given, **more)

    monkeypatch.setattr(RankerSearch, "fit", watched)
    return made


def test_evaluate_searches_in_every_fold_for_its_setting(searches):
    asked = ["--setting", 2, "--setting", 4, "--folds", 2, "--time-limit", 20]
    done = run("evaluate", *ALIKE, *asked, "--json")
    found = json.loads(done.stdout)["settings"]
    assert [one.setting for one in searches] == [2, 2, 4, 4]
    assert all(one.time_limit == 20 for one in searches)
    assert done.stderr.startswith("condrank: a search in every fold, each 20 s at most; --quick judges one model")
    assert "loss ranking" not in done.stderr
    assert all(len(found[one]["rank_loss"]["folds"]) == 2 for one in ("2", "4"))


def test_evaluate_and_report_do_not_search_if_asked(monkeypatch):
    def refused(*given, **more):
        raise ValueError("a search")

    monkeypatch.setattr(RankerSearch, "fit", refused)
    for command, more in (("evaluate", ["--folds", 2]), ("report", ["--setting", 4])):
        assert run(command, *GAMES, *more, code=1).stderr.endswith("a search\n")
        run(command, *GAMES, *more, "--quick")
    run("evaluate", *GAMES, "--folds", 2, "--time-limit", 0)
    assert "λ is chosen in each fold" in run("evaluate", *GAMES, "--folds", 2, "--quick").stderr


def test_an_interrupt_ends_an_evaluation_with_searches(monkeypatch):
    judged = []

    def interrupted(*given, **more):
        judged.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(judging.Judge, "judge", interrupted)
    assert run("evaluate", *GAMES, "--folds", 2, code=130).stderr.endswith("condrank: interrupted\n")
    assert len(judged) == 1


def test_fit_holds_out_what_will_be_new(searches):
    done = run("fit", *ALIKE, "-o", "m", "--setting", 3, "--time-limit", 20)
    assert [one.setting for one in searches] == [3]
    assert "rank loss on held-out objects" in done.stdout


def test_a_loss_that_is_searched_is_not_said_to_follow_from_the_labels():
    done = run("fit", *ALIKE, "-o", "m", "--time-limit", 20, "--json")
    (said,) = done.stderr.splitlines()
    assert said.startswith("condrank: relation symmetric, by the labels: Both directions of a pair")
    assert "loss" not in said
    assert len(json.loads(done.stdout)["reasons"]) == 1
    assert "and loss logistic, by the labels" in run("fit", *GAMES, "-o", "m", "--time-limit", 20).stderr


def test_progress_in_a_log_is_whole_lines(monkeypatch):
    monkeypatch.setattr(terminal, "SECONDS_A_LINE", 0.0)
    done = run("fit", *GAMES, "-o", "m", "--time-limit", 20)
    told = [line for line in done.stderr.splitlines() if "best loss" in line]
    assert told[0].startswith("condrank: searching: 1 model, best loss 0.")
    assert told[1].startswith("condrank: searching: 2 models, best loss 0.")
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", done.stderr)
    monkeypatch.setattr(terminal, "SECONDS_A_LINE", 1000.0)
    assert "best loss" not in run("fit", *GAMES, "-o", "m", "--time-limit", 20).stderr


def test_both_kernels_of_two_domains_are_shown():
    Path("films.csv").write_text("film,length\n" + "".join(f"f{i},{80 + i % 7}\n" for i in range(12)))
    rows = "".join(f"p{i},f{j},{(i + j) % 5}\n" for i in range(N) for j in range(12))
    Path("seen.csv").write_text("player,film,rating\n" + rows)
    given = ["--nodes", "players.csv", "--objects", "films.csv", "--edges", "seen.csv", "-o", "m"]
    done = run("fit", *given, "--kernel", "linear", "--object-kernel", "RBF(0.5)", "--alpha", 1)
    assert "linear × RBF(gamma=0.5) kernel and constant, λ = 1" in done.stdout


def test_too_few_games_get_one_sensible_model():
    Path("few.csv").write_text("winner,loser\np1,p2\np2,p3\np1,p3\n")
    done = run("fit", "--nodes", "players.csv", "--edges", "few.csv", "-o", "m", "--json")
    found = json.loads(done.stdout)
    assert (found["search"], found["loss"]) == (None, "logistic")
    assert "too few nodes and edges to hold some out for a search" in done.stderr
