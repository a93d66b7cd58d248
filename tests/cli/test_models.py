"""Commands that fit, rank, judge, plan and diagnose tables: their answers, their messages, and what they refuse."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker, cli, metrics
from condrank.model_selection.holdout import ALPHAS
from condrank.solvers import SOLVERS
from condrank.tables import read_graph

runner = CliRunner()
PAGE = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
NAMES = [f"player {i}" for i in range(30)]
FILES = ["--nodes", "players.csv", "--edges", "games.csv"]
QUICK = ["--kernel", "linear", "--alpha", "1"]


def run(*arguments, code=0, **options):
    done = runner.invoke(cli.app, list(map(str, arguments)), **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done


def write_tables(seed=0, n=30, n_games=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    hands = ["left", "right"]
    Path("players.csv").write_text(
        "id,speed,reach,hand\n" + "".join(f"{NAMES[i]},{X[i, 0]:.4f},{X[i, 1]:.4f},{hands[i % 2]}\n" for i in range(n))
    )
    rows = []
    for _ in range(n_games):
        i, j = rng.choice(n, 2, replace=False)
        rows.append((i, j) if rng.random() < 1 / (1 + np.exp(-3 * (X[i, 0] - X[j, 0]))) else (j, i))
    Path("games.csv").write_text("winner,loser\n" + "".join(f"{NAMES[i]},{NAMES[j]}\n" for i, j in rows))
    Path("new.csv").write_text("id,speed,reach,hand\ngus,2.0,0,left\nhal,-2.0,0,right\nian,0,0,left\n")
    Path("new_games.csv").write_text("winner,loser\ngus,hal\nian,hal\ngus,ian\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables and a model of them, which no test changes."""
    path = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        write_tables()
        run("fit", *FILES, *QUICK, "-o", "model/")
    return path


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_fit_saves_what_the_library_would_fit():
    graph = read_graph("players.csv", "games.csv")
    params = {"relation": "reciprocal", "loss": "logistic", "kernel": "linear", "alpha": 1.0, "constant": True}
    twin = TableRanker(ConditionalRanker(**params)).fit(graph)
    loaded = TableRanker.load("model/")
    np.testing.assert_allclose(loaded.predict(NAMES[:3]), twin.predict(NAMES[:3]), rtol=1e-6, atol=1e-8)


def test_fit_chooses_relation_loss_and_alpha_and_says_so(tmp_path):
    done = run("fit", *FILES, "--quick", "-o", f"{tmp_path}/new/", "--json")
    found = json.loads(done.stdout)
    assert (found["relation"], found["loss"], found["kernel"]) == ("reciprocal", "logistic", "RBF(gamma='median')")
    assert (found["nodes"], found["edges"]) == (30, 600)
    assert found["alpha"] in ALPHAS
    assert "relation reciprocal and loss logistic" in done.stderr
    assert f"λ = {found['alpha']:g}" in done.stderr
    ranker = TableRanker.load(tmp_path / "new").ranker_
    assert ranker.alpha_ == found["alpha"]
    assert ranker.tol == ConditionalRanker().tol  # the search is rough, the model is not


def test_alpha_of_a_complete_graph_is_that_of_leaving_one_out(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    K = X @ X.T
    nodes = "id,a,b\n" + "".join(f"{i},{x[0]},{x[1]}\n" for i, x in enumerate(X))
    edges = "source,target,value\n" + "".join(f"{i},{j},{K[i, j]}\n" for i in range(12) for j in range(12))
    (tmp_path / "n.csv").write_text(nodes)
    (tmp_path / "e.csv").write_text(edges)
    tables = ["--nodes", tmp_path / "n.csv", "--edges", tmp_path / "e.csv"]
    done = run("fit", *tables, "--quick", "--loss", "ranking", "-o", tmp_path / "m", "--json")
    found = json.loads(done.stdout)
    assert (found["relation"], found["solver"]) == ("symmetric", "closed_form")
    assert found["alpha_by"] == "leaving out one node at a time"
    assert (tmp_path / "m").is_file()  # without a slash a file


def test_too_few_edges_to_hold_out_leave_alpha_alone(tmp_path):
    Path(tmp_path / "e.csv").write_text("winner,loser\nplayer 1,player 2\n")
    done = run("fit", "--nodes", "players.csv", "--edges", tmp_path / "e.csv", "-o", tmp_path / "m", "--json")
    assert json.loads(done.stdout)["alpha"] == 1.0
    assert "nothing to choose it by" in done.stderr


def test_alpha_at_an_end_of_those_tried_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("condrank.model_selection.search.ALPHAS", (1e4, 1e5))
    done = run("fit", *FILES, "--kernel", "linear", "-o", tmp_path / "m")
    assert "of those tried" in done.stderr


def test_ranker_of_plain_features_is_ranked_by_position(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 2))
    ConditionalRanker().fit(X, X @ X.T).save(tmp_path / "plain")
    found = json.loads(run("rank", tmp_path / "plain", "--query", "3", "--top", 2, "--json").stdout)["rankings"][0]
    want = TableRanker.load(tmp_path / "plain").rank([3], top=2).ids[0]
    assert (found["query"], [place["object"] for place in found["objects"]]) == (3, list(want))


def test_two_kinds_of_nodes_and_a_kernel_matrix(tmp_path):
    (tmp_path / "drugs.csv").write_text("id,size\n" + "".join(f"d{i},{i}\n" for i in range(8)))
    (tmp_path / "targets.csv").write_text("id,mass\n" + "".join(f"t{i},{i * i}\n" for i in range(6)))
    bound = [f"d{i},t{j},{(i - j) ** 2}\n" for i in range(8) for j in range(6) if (i + j) % 3]
    (tmp_path / "bound.csv").write_text("drug,protein,affinity\n" + "".join(bound))
    tables = [
        "--nodes",
        tmp_path / "drugs.csv",
        "--objects",
        tmp_path / "targets.csv",
        "--edges",
        tmp_path / "bound.csv",
    ]
    run("fit", *tables, "--value", "affinity", "-o", tmp_path / "two")
    done = run("rank", tmp_path / "two", "--query", "d0", "--top", 2)
    assert [row["object"][0] for row in csv.DictReader(io.StringIO(done.stdout))] == ["t", "t"]

    K = np.eye(4) + 0.5
    np.savez(tmp_path / "K.npz", kernel=K, ids=["a", "b", "c", "d"])
    (tmp_path / "pairs.csv").write_text("source,target,value\na,b,1\na,c,0\nb,c,0.5\nc,d,1\n")
    given = ["--kernel-matrix", tmp_path / "K.npz", "--edges", tmp_path / "pairs.csv", "--mirror", "same"]
    done = run("fit", *given, "-o", tmp_path / "kernel/", "--json")
    assert json.loads(done.stdout)["kernel"] == "Precomputed()"
    assert len(run("rank", tmp_path / "kernel", "-q", "a").stdout.splitlines()) == 4


def test_output_that_is_no_model_is_kept_unless_forced(tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    done = run("fit", *FILES, *QUICK, "-o", tmp_path / "notes.txt", code=1)
    assert "not a model" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "kept"
    run("fit", *FILES, *QUICK, "-o", tmp_path / "notes.txt", "--force")
    run("fit", *FILES, *QUICK, "-o", tmp_path / "notes.txt")  # a model is replaced
    assert TableRanker.load(tmp_path / "notes.txt").ranker_.alpha_ == 1.0


def test_memory_is_checked_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: 10)
    for solver in {type(one) for one in SOLVERS.values()}:
        monkeypatch.setattr(solver, "build", lambda *_: pytest.fail("worked before checking"))
    for more in ([], ["--alpha", "1"]):
        done = run("fit", *FILES, *more, "-o", tmp_path / "m", code=1)
        assert "10 B are available" in done.stderr
        assert "--n-components auto" in done.stderr
        assert "--kernel linear" in done.stderr
        assert done.stderr.count("\n") == 1
    done = run("plan", *FILES, "--json")
    assert json.loads(done.stdout)["fits"] is False


@pytest.mark.parametrize("more", [[], ["--include-self"], ["--exclude", "player 7", "--exclude", "player 8"]])
def test_ranking_is_that_of_the_library(more):
    loaded = TableRanker.load("model/")
    left_out = {one for one in more if one.startswith("player")}
    want = loaded.rank(["player 3"], top=30, exclude_self="--include-self" not in more)
    names = [one for one in want.ids[0] if one not in left_out]
    done = run("rank", "model", "--query", "player 3", "--top", 30, *more)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["object"] for row in rows] == names
    assert [row["rank"] for row in rows] == [str(place + 1) for place in range(len(names))]
    chances = loaded.ranker_.predict_proba(loaded.queries_.nodes.rows[[3]])[0]
    want = [chances[NAMES.index(one)] for one in names]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], want, rtol=1e-9)


def test_ranking_leaves_out_files_of_ids_or_ranks_only_these(tmp_path):
    (tmp_path / "out.txt").write_text("player 7\n\nplayer 8\nnobody\n")
    (tmp_path / "among.txt").write_text("player 2\nplayer 7\nplayer 9\nplayer 3\n")
    loaded, among = TableRanker.load("model/"), [f"player {i}" for i in (2, 7, 9, 3)]
    for more, limits in (
        (["--exclude-file", tmp_path / "out.txt"], {"exclude": ["player 7", "player 8"]}),
        (
            ["--candidates-file", tmp_path / "among.txt"],
            {"candidates": among},
        ),
        (
            ["--candidates-file", tmp_path / "among.txt", "--exclude", "player 2", "--worst"],
            {"candidates": among[1:], "order": "worst"},
        ),
        (["--worst"], {"order": "worst", "top": 3}),
    ):
        done = run("rank", "model", "--query", "player 3", "--top", limits.get("top", 30), *more)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        want = loaded.rank(["player 3"], **{"top": 30, **limits})
        assert [row["object"] for row in rows] == want.ids[0].tolist()
        np.testing.assert_allclose([float(row["score"]) for row in rows], want.scores[0], rtol=1e-6)
    (tmp_path / "empty.txt").write_text("\n")
    assert "no ids" in run("rank", "model", "-q", "player 3", "--exclude-file", tmp_path / "empty.txt", code=1).stderr
    (tmp_path / "wrong.txt").write_text("playr 7\n")
    asked = ["rank", "model", "-q", "player 3", "--candidates-file", tmp_path / "wrong.txt"]
    assert "'player 7'" in run(*asked, code=1).stderr
    asked[-1] = tmp_path / "missing.txt"
    assert "cannot be read" in run(*asked, code=1).stderr


def test_ranking_as_json_parquet_table_and_file(tmp_path):
    asked = ["rank", "model", "--query", "player 3", "--query", "player 4", "--query-file", "new.csv", "--top", 2]
    plain = list(csv.DictReader(io.StringIO(run(*asked).stdout)))
    assert [row["query"] for row in plain] == [
        one for one in ("player 3", "player 4", "gus", "hal", "ian") for _ in "12"
    ]
    nested = json.loads(run(*asked, "--json").stdout)["rankings"]
    flat = [(one["query"], place["object"]) for one in nested for place in one["objects"]]
    assert flat == [(row["query"], row["object"]) for row in plain]
    assert "player 3" in run(*asked, "--format", "table").stdout
    run(*asked, "-o", tmp_path / "ranking.csv")
    assert list(csv.DictReader((tmp_path / "ranking.csv").open())) == plain
    parquet = pytest.importorskip("pyarrow.parquet")
    run(*asked, "-o", tmp_path / "ranking.parquet")
    assert parquet.read_table(tmp_path / "ranking.parquet").column("object").to_pylist() == [o for _, o in flat]
    assert "must end in" in " ".join(run(*asked, "-o", tmp_path / "ranking.xyz", code=2).stderr.split())


def test_new_objects_and_standard_input():
    done = run("rank", "model", "--query-file", "-", "--objects", "new.csv", input=Path("new.csv").read_text())
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["object"] for row in rows} == {"gus", "hal", "ian"}
    run("rank", "model", "--query-file", "-", "--objects", "-", code=2)


def test_unknown_id_comes_with_those_spelled_alike():
    done = run("rank", "model", "--query", "Player 3", code=1)
    assert "'player 3'" in done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "'player 7'" in run("rank", "model", "-q", "player 3", "--exclude", "playr 7", code=1).stderr


def test_evaluate_is_the_librarys_cross_validation(tmp_path):
    graph = read_graph("players.csv", "games.csv")
    params = {"relation": "reciprocal", "loss": "logistic", "kernel": "linear", "alpha": 1.0, "constant": True}
    want = TableRanker(ConditionalRanker(**params, random_state=0)).cross_validate(graph, 2, cv=3, scoring=["auc"])
    asked = ["--setting", 2, "--folds", 3, "--scoring", "auc", "--json"]
    for given in ([*FILES, *QUICK], ["model", *FILES]):
        found = json.loads(run("evaluate", *given, *asked, "--per-query", tmp_path / "q.csv").stdout)
        np.testing.assert_allclose(found["settings"]["2"]["auc"]["folds"], want.scores["auc"], rtol=1e-6)
        rows = list(csv.DictReader((tmp_path / "q.csv").open()))
        assert [row["query"] for row in rows] == list(want.queries["query"])


def test_evaluate_all_settings_chooses_alpha_in_each_fold():
    done = run("evaluate", *FILES, "--settings", "all", "--folds", 2, "--kernel", "linear", "--measure", "rank_loss")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["setting"] for row in rows] == ["1", "2", "3", "4"]
    assert all(float(row["mean"]) < 0.4 for row in rows)
    assert "λ is chosen in each fold" in done.stderr


def test_evaluate_a_saved_model_on_new_nodes(tmp_path):
    tables = ["--nodes", "new.csv", "--edges", "new_games.csv"]
    done = run("evaluate", "model", *tables, "--json", "--per-query", tmp_path / "q.csv")
    want = 1 - TableRanker.load("model").score("new.csv", "new_games.csv")
    assert json.loads(done.stdout)["scores"]["rank_loss"] == pytest.approx(want, abs=1e-12)
    assert [row["query"] for row in csv.DictReader((tmp_path / "q.csv").open())] == ["gus", "hal", "ian"]


def test_evaluate_measures_games_and_takes_options_of_measures(tmp_path):
    tables = ["--nodes", "new.csv", "--edges", "new_games.csv"]
    names = ["log_loss", "accuracy", "precision_at_k:k=1,relevant=0.5", "pooled_concordance_index"]
    asked = [word for name in names for word in ("--measure", name)]
    found = json.loads(run("evaluate", "model", *tables, *asked, "--json", "--per-query", tmp_path / "q.csv").stdout)
    ranker, graph = TableRanker.load("model"), read_graph("new.csv", "new_games.csv")
    truth, scores = graph.to_dense(), ranker.predict(graph)
    scale = "log-odds" if ranker.ranker_.loss == "logistic" else "outcome"
    want = [metrics.log_loss(truth, scores, scale=scale), metrics.accuracy(truth, scores, scale=scale)]
    want += [metrics.precision_at_k(truth, scores, k=1, relevant=0.5), metrics.pooled_concordance_index(truth, scores)]
    assert [found["scores"][name] for name in names] == pytest.approx(want, abs=1e-12)
    rows = list(csv.DictReader((tmp_path / "q.csv").open()))
    assert float(rows[0]["log_loss"]) > 0
    assert json.loads(run("evaluate", *FILES, *QUICK, *asked, "--folds", 2, "--json").stdout)["settings"]["4"]


@pytest.mark.parametrize(("measure", "code"), [("ndcg:10", 2), ("ndcg:l=10", 2), ("f1", 1), ("f1:k=3", 1)])
def test_evaluate_refuses_measures_and_options_that_do_not_exist(measure, code):
    done = run("evaluate", *FILES, *QUICK, "--measure", measure, code=code)
    assert measure.partition(":")[0] in done.stderr


def test_diagnose_says_the_same_of_edges_alone():
    whole = json.loads(run("diagnose", *FILES, "--json").stdout)
    alone = json.loads(run("diagnose", "--edges", "games.csv", "--json").stdout)
    for name in ("recommended_relation", "recommended_loss", "n_nodes", "n_edges", "density"):
        assert alone[name] == whole[name]
    assert "Recommended: relation" in run("diagnose", "--edges", "-", input=Path("games.csv").read_text()).stdout


def test_diagnose_takes_disjoint_ends_for_two_kinds(tmp_path):
    (tmp_path / "e.csv").write_text("source,target,value\na,x,1\nb,x,2\na,y,3\n")
    done = run("diagnose", "--edges", tmp_path / "e.csv", "--json")
    assert json.loads(done.stdout)["two_domain"] is True
    assert "two kinds" in done.stderr


def test_plan_shows_the_plan_of_the_library():
    found = json.loads(run("plan", *FILES, *QUICK, "--json").stdout)
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", kernel="linear", constant=True))
    want = ranker.plan("players.csv", "games.csv")
    assert (found["solver"], found["memory"], found["search"]) == (want.solver, want.memory, None)
    searched = json.loads(run("plan", *FILES, "--json").stdout)
    assert searched["search"] == {"n_alphas": len(ALPHAS), "by": "holding out 30% of the edges, 5 times"}
    assert searched.keys() == found.keys()
    assert "holding out" in run("plan", *FILES).stdout


@pytest.mark.parametrize("command", ["fit", "rank", "evaluate", "diagnose", "plan"])
def test_help_has_examples(command):
    shown = " ".join(run(command, "--help").stdout.split())
    assert f"condrank {command}" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", *FILES],
        ["fit", "--edges", "games.csv", "-o", "m"],
        ["fit", *FILES, "-o", "m", "--alpha", "x"],
        ["fit", *FILES, "-o", "m", "--n-components", "x"],
        ["fit", *FILES, "-o", "m", "--relation", "x"],
        ["fit", "--nodes", "-", "--edges", "-", "-o", "m"],
        ["rank", "model"],
        ["rank", "model", "-q", "player 3", "--top", "0"],
        ["rank", "model", "-q", "player 3", "--json", "--format", "csv"],
        ["evaluate", *FILES, "--settings", "some"],
        ["evaluate", *FILES, "--setting", "5"],
        ["diagnose"],
    ],
)
def test_called_wrongly(arguments):
    done = run(*arguments, code=2)
    assert done.stdout == ""


def test_shell_completion_is_offered():
    environment = {"_CONDRANK_COMPLETE": "complete_bash", "COMP_WORDS": "condrank ra", "COMP_CWORD": "1"}
    done = runner.invoke(cli.app, [], prog_name="condrank", env=environment)
    assert done.stdout.split() == ["rank"]


def test_a_pipe_that_closes_is_no_error():
    script = f"{shlex.quote(sys.executable)} -m condrank rank model -q 'player 3' --include-self"
    # A ranking beyond what a pipe holds, to a reader that goes at once.
    many = " ".join(f"-q 'player {i}'" for i in range(30) for _ in range(30))
    done = subprocess.run(
        ["bash", "-c", f"{script} {many} -k 30 | head -n 1; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["query,rank,object,score,probability", "141"]
    assert done.stderr == ""


def test_interrupt_is_one_line_and_130(tmp_path):
    os.mkfifo(tmp_path / "slow.csv")  # reading it waits for a writer
    command = [sys.executable, "-m", "condrank", "diagnose", "--edges", str(tmp_path / "slow.csv")]
    heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731  # jobs in the background ignore it
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    writer = os.open(tmp_path / "slow.csv", os.O_WRONLY)  # returns once the command reads
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)
    os.close(writer)
    assert (process.returncode, said) == (130, ("", "condrank: interrupted\n"))


def test_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    (setup,) = re.findall(r"^<!-- setup\n(.*?)^-->$", text, flags=re.MULTILINE | re.DOTALL)
    exec(setup, {})
    blocks = re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    commands = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) > 10
    for command in commands:
        # The shell's part is done here: one process for all commands is quicker than one each.
        command, _, reader = command.partition(" | ")
        command, _, source = command.partition(" < ")
        assert reader in ("", "head -n 1")
        name, *arguments = shlex.split(command)
        assert name == "condrank"
        assert run(*arguments, input=Path(source).read_text() if source else None).stdout or "-o" in arguments
    assert (tmp_path / "ranking.csv").exists()
