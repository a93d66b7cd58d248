"""How sure a ranker of tables is, by ids, after loading, on the command line and in the service."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from condrank import ConditionalRanker, TableRanker, cli

RNG = np.random.default_rng(0)
N = 15
IDS = [f"p{i}" for i in range(N)]
PLAYERS = {"id": IDS, "age": RNG.normal(size=N).tolist(), "hand": ["lr"[i % 2] for i in range(N)]}
WINNERS = RNG.integers(0, N, 60)
LOSERS = (WINNERS + RNG.integers(1, N, 60)) % N
GAMES = {"winner": [IDS[i] for i in WINNERS], "loser": [IDS[i] for i in LOSERS]}


@pytest.fixture(scope="module")
def ranker():
    plain = ConditionalRanker("reciprocal", "logistic", kernel="rbf", constant=True)
    return TableRanker(plain).fit(PLAYERS, GAMES)


@pytest.fixture
def model(ranker, tmp_path):
    ranker.save(tmp_path / "model")
    return str(tmp_path / "model")


def test_by_id_as_by_position(ranker):
    scores, std = ranker.predict(["p3", "p1"], return_std=True)
    inner, inner_std = ranker.ranker_.predict(ranker.ranker_.fitted_.objects.take(np.array([3, 1])), return_std=True)
    np.testing.assert_allclose(scores, inner)
    np.testing.assert_allclose(std, inner_std)
    ranking = ranker.rank(["p3", "p1"], top=4, return_std=True)
    plain = ranker.rank(["p3", "p1"], top=4)
    np.testing.assert_array_equal(ranking.ids, plain.ids)
    for row in range(2):
        places = [IDS.index(one) for one in ranking.ids[row]]
        np.testing.assert_allclose(ranking.std[row], std[row, places])
    whole = ranker.rank(["p3"], top=N, return_std=True)
    assert "p3" not in whole.ids[0]
    assert whole.top_probability.sum() == pytest.approx(1)


def test_probabilities_draws_and_strengths(ranker):
    above = ranker.probability_above(["p0", "p1"], ["p2", "p3"], ["p4", "p5"])
    below = ranker.probability_above(["p0", "p1"], ["p4", "p5"], ["p2", "p3"])
    np.testing.assert_allclose(above + below, 1)
    with pytest.raises(ValueError, match="equally many"):
        ranker.probability_above(["p0"], ["p2", "p3"], ["p4"])
    drawn = ranker.sample(["p0"], n_samples=500, random_state=0)
    assert drawn.shape == (500, 1, N)
    apart = np.arange(N) != 0
    std = ranker.predict(["p0"], return_std=True)[1][0, apart]
    np.testing.assert_allclose(drawn.std(axis=0)[0, apart], std, rtol=0.2)
    strengths, strength_std = ranker.strengths(["p0", "p1"], return_std=True)
    np.testing.assert_array_equal(strengths, ranker.strengths(["p0", "p1"]))
    assert np.all(strength_std > 0)


def test_command_line(ranker, model):
    ran = CliRunner().invoke(cli.app, ["rank", model, "--query", "p0", "--std", "--top", "3", "--format", "csv"])
    assert ran.exit_code == 0, ran.output
    rows = list(csv.DictReader(ran.output.splitlines()))
    ranking = ranker.rank(["p0"], top=3, return_std=True)
    np.testing.assert_allclose([float(row["std"]) for row in rows], ranking.std[0])
    np.testing.assert_allclose([float(row["top_probability"]) for row in rows], ranking.top_probability[0])
    strengths, std = ranker.strengths(IDS, return_std=True)
    for option, by in (([], strengths), (["--cautious"], strengths - 2 * std)):
        ran = CliRunner().invoke(cli.app, ["strengths", model, "--json", *option])
        assert ran.exit_code == 0, ran.output
        found = json.loads(ran.output)["strengths"]
        assert [one["node"] for one in found] == [IDS[place] for place in np.argsort(-by, kind="stable")]
        assert [one["rank"] for one in found] == list(range(1, N + 1))
    first = found[0]
    assert first["lower"] < first["strength"] < first["upper"]


def test_strengths_of_another_relation_are_refused(tmp_path):
    other = TableRanker(ConditionalRanker(loss="regression")).fit(PLAYERS, GAMES)
    other.save(tmp_path / "model")
    ran = CliRunner().invoke(cli.app, ["strengths", str(tmp_path / "model")])
    assert ran.exit_code == 1


def test_service(ranker, model):
    pytest.importorskip("fastapi")
    from condrank.service.model import ServedModel
    from condrank.service.refusals import Refusal

    served = ServedModel.load(model)
    (answer,) = served.rank(["p0"], 3, exclude=["p5"], std=True)
    ranking = ranker.rank(["p0"], top=3, exclude=["p5"], return_std=True)
    assert answer.ids == ranking.ids[0].tolist()
    np.testing.assert_allclose(answer.sure["std"], ranking.std[0])
    np.testing.assert_allclose(answer.sure["top_probability"], ranking.top_probability[0])
    assert served.rank(["p0"], 3)[0].sure == {}
    served.remove(["p5"])
    with pytest.raises(Refusal, match="came or went"):
        served.rank(["p0"], 3, std=True)
