"""The command line: what goes where, exit codes, and that importing the library stays cheap."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import __version__, cli, demo
from condrank.demo import stories

runner = CliRunner()


def condrank(*arguments, **options):
    """Run the command as a user would, in a process of its own, through pipes."""
    command = [sys.executable, "-c", "from condrank.cli import app; app()", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **options.pop("env", {})}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, **options)


@pytest.fixture(scope="module")
def result():
    """The demo's result with fewer repetitions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stories, "GAMES_DRAWS", 2)
        patch.setattr(stories, "HOLD_OUTS", 1)
        steps = []
        found = demo.run_demo(seed=3, step=steps.append)
        assert len(steps) == demo.count_steps()
        return found


@pytest.fixture
def ready(monkeypatch, result):
    """``condrank demo`` with that result, at once."""
    monkeypatch.setattr(demo, "run_demo", lambda seed, step: result)


def test_version():
    run = runner.invoke(cli.app, ["--version"])
    assert (run.exit_code, run.stdout) == (0, f"condrank {__version__}\n")


def test_module_is_the_command():
    run = subprocess.run([sys.executable, "-m", "condrank", "--version"], capture_output=True, encoding="utf-8")
    assert (run.returncode, run.stdout) == (0, f"condrank {__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_has_an_example(arguments):
    run = runner.invoke(cli.app, arguments)
    assert run.exit_code == 0
    assert "condrank demo" in run.stdout


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["demo", "--seed", "x"], ["demo", "--seed", "-1"], ["demo", "--no"]]
)
def test_usage_errors_exit_with_2_and_leave_stdout_empty(arguments):
    run = runner.invoke(cli.app, arguments)
    assert run.exit_code == 2
    assert run.stdout == ""


def test_output_that_is_a_file_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("kept")
    run = runner.invoke(cli.app, ["demo", "--output", str(tmp_path / "file")])
    assert run.exit_code == 2
    assert (tmp_path / "file").read_text() == "kept"


def test_output_that_cannot_be_made_fails_in_one_line_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "run_demo", lambda *_, **__: pytest.fail("worked before checking"))
    (tmp_path / "file").write_text("")
    run = runner.invoke(cli.app, ["demo", "--output", str(tmp_path / "file" / "below")])
    assert run.exit_code == 1
    assert run.stdout == ""
    assert run.stderr.startswith("condrank: cannot write")
    assert run.stderr.count("\n") == 1


def test_picture_that_cannot_be_written_fails_in_one_line(tmp_path, ready):
    (tmp_path / cli.demo.PICTURE).mkdir()
    run = runner.invoke(cli.app, ["demo", "--output", str(tmp_path)])
    assert run.exit_code == 1
    assert run.stderr.count("\n") == 1


def test_demo_prints_its_stories_and_writes_the_picture(tmp_path, ready, result):
    run = runner.invoke(cli.app, ["demo", "--output", str(tmp_path / "new")])
    assert run.exit_code == 0, run.output
    assert (tmp_path / "new" / cli.demo.PICTURE).read_bytes().startswith(b"\x89PNG")
    for expected in (
        "Rock-paper-scissors",
        "Handwritten digits",
        cli.demo.PICTURE,
        "random order",
        result.games.ranked.query,
    ):
        assert expected in run.stdout.replace("\n", "") or expected in run.stdout
    assert max(map(len, run.stdout.replace(str(tmp_path / "new" / cli.demo.PICTURE), "").splitlines())) <= 80


def test_demo_code_runs():
    run = subprocess.run([sys.executable, "-c", cli.demo.EXAMPLE], capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("digit")


def test_json_is_all_of_stdout(tmp_path, ready, result):
    run = runner.invoke(cli.app, ["demo", "--json", "--output", str(tmp_path)])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert found["picture"] == str(tmp_path / cli.demo.PICTURE)
    for name, task in (("rock_paper_scissors", result.games), ("digits", result.digits)):
        models = found[name]["models"]
        assert [model["rank_loss"] for model in models] == [model.rank_loss for model in task.models]
        assert {(model["relation"], model["loss"]) for model in models} >= set(stories.SIX_MODELS)
        assert found[name]["baselines"]["random"] == 0.5


def test_the_right_relation_learns_and_the_wrong_one_is_refused(result):
    for task, right, wrong in ((result.games, "reciprocal", "symmetric"), (result.digits, "symmetric", "reciprocal")):
        assert task.diagnosis.recommended_relation == right
        for model in task.models:
            if model.relation == wrong:
                assert (model.alpha, model.rank_loss) == (None, None)
            else:
                assert model.rank_loss < 0.1
        assert min(task.baselines.values()) > 0.2


def test_rankings_are_of_unseen_nodes_best_first(result):
    for task in (result.games, result.digits):
        ranked = task.ranked
        assert sorted([*ranked.indices, ranked.position]) == list(range(task.n_test))
        assert (np.diff(ranked.scores) <= 1e-12).all()
        np.testing.assert_array_equal(ranked.truth, task.truth[ranked.position, ranked.indices])


def test_alpha_is_chosen_without_the_test_nodes():
    # The choice does not depend on the test graph, which is never used.
    train, _ = stories.make_digits_task(90, 1, random_state=0)
    ranker = stories.ConditionalRankerCV(
        stories.DIGITS_ALPHAS, stories.digits_split(train), relation="symmetric", **stories.DIGITS_KERNEL
    )
    held_out = train[60:]
    losses = {}
    for alpha in stories.DIGITS_ALPHAS:
        fitted = stories.ConditionalRanker(relation="symmetric", alpha=alpha, **stories.DIGITS_KERNEL).fit(train[:60])
        losses[alpha] = 1 - fitted.score(held_out)
    assert ranker.fit(train).alpha_ == min(losses, key=losses.__getitem__)


def test_demo_works_through_pipes_in_time(tmp_path):
    # One real run: nothing but text on stdout, nothing at all on stderr, and a pipe that knows ASCII only.
    run = condrank("demo", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"}, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert "\x1b" not in run.stdout
    assert (tmp_path / cli.demo.PICTURE).exists()


@pytest.mark.parametrize(
    ("before", "statement", "unwanted"),
    [
        ("", "import condrank", {"sklearn", "matplotlib", "pandas", "numba", "typer", "rich", "scipy", "numpy"}),
        ("", "from condrank import ConditionalRanker", {"matplotlib", "numba", "typer"}),
        # scikit-learn itself imports pandas and rich where they are installed; condrank adds no reason of its own.
        ("import sklearn.base, sklearn.callback", "from condrank import ConditionalRanker", {"pandas", "rich"}),
        # Nothing of scikit-learn beyond what every fit needs.
        (
            "import sklearn.metrics.pairwise",
            "from condrank import ConditionalRanker",
            {"sklearn.cluster", "sklearn.svm"},
        ),
        ("", "import condrank.cli", {"sklearn", "matplotlib", "pandas", "numba", "scipy"}),
    ],
)
def test_imports_stay_cheap(before, statement, unwanted):
    found = f"print(*{unwanted!r} & set(sys.modules) - loaded)"
    code = f"{before}\nimport sys\nloaded = set(sys.modules)\n{statement}\n{found}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert run.stdout.strip() == ""
