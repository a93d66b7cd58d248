"""Views and kernel expressions on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from condrank import TableRanker
from condrank.cli import app
from condrank.kernels import RBF, Constant, Identity, Precomputed, Unit

N = 12
NAMES = [f"n{i}" for i in range(N)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    pd.DataFrame({"id": NAMES, "dose": rng.normal(size=N), "kind": list("abc" * 4)}).to_csv(
        path / "assay.csv", index=False
    )
    F = rng.normal(size=(N, 4))
    pd.DataFrame(F @ F.T + np.eye(N), index=NAMES, columns=NAMES).to_csv(path / "seq.csv")
    pairs = [(a, b, rng.normal()) for a in NAMES for b in NAMES if rng.random() < 0.8]
    pd.DataFrame(pairs, columns=["source", "target", "value"]).to_csv(path / "pairs.csv", index=False)
    pd.DataFrame({"id": ["t0", "t1"], "size": [1.0, 2.0]}).to_csv(path / "targets.csv", index=False)
    pairs = [(a, b, rng.normal()) for a in NAMES for b in ("t0", "t1")]
    pd.DataFrame(pairs, columns=["source", "target", "value"]).to_csv(path / "bound.csv", index=False)
    return path


def run(folder, monkeypatch, *args):
    monkeypatch.chdir(folder)
    return CliRunner().invoke(app, [*args])


VIEWS = ("--view", "assay=assay.csv", "--view", "seq=seq.csv", "--edges", "pairs.csv")
KERNEL = "Unit(Precomputed(view='seq')) ** 4 + RBF('median', view='assay') + 0.5 * Identity() + 0.1 * Constant()"


def test_views_with_an_expression_are_fitted_ranked_and_evaluated(folder, monkeypatch, tmp_path):
    model = str(tmp_path / "model.safetensors")
    found = run(folder, monkeypatch, "fit", *VIEWS, "--kernel", KERNEL, "--alpha", "1", "--json", "-o", model)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["kernel"].startswith("Unit(Precomputed(view='seq')) ** 4")
    loaded = TableRanker.load(model)
    want = Unit(Precomputed(view="seq")) ** 4 + RBF("median", view="assay") + 0.5 * Identity() + 0.1 * Constant()
    assert loaded.ranker_.kernel == want
    assert loaded.ranker_.constant is False  # the expression has its own
    ranked = run(folder, monkeypatch, "rank", model, "-q", "n3", "--top", "2", "--json")
    assert [one["object"] for one in json.loads(ranked.stdout)["rankings"][0]["objects"]] == loaded.rank(
        ["n3"], top=2
    ).ids[0].tolist()
    assert run(folder, monkeypatch, "evaluate", model, *VIEWS, "--setting", "4", "--folds", "2").exit_code == 0
    assert run(folder, monkeypatch, "plan", *VIEWS, "--kernel", KERNEL).exit_code == 0
    assert run(folder, monkeypatch, "diagnose", *VIEWS).exit_code == 0
    page = str(tmp_path / "r.html")
    assert run(folder, monkeypatch, "report", model, *VIEWS, "--quick", "--setting", "4", "-o", page).exit_code == 0


def test_a_kernel_for_views_is_chosen_and_said(folder, monkeypatch, tmp_path):
    model = str(tmp_path / "model.safetensors")
    given = ("--nodes", "assay.csv", "--kernel-matrix", "seq=seq.csv", "--edges", "pairs.csv")
    found = run(folder, monkeypatch, "fit", *given, "--alpha", "1", "-o", model)
    assert found.exit_code == 0, found.output
    assert "kernel RBF(gamma='median', view='nodes') + Unit(Precomputed(view='seq')) (one for each" in found.stderr
    assert TableRanker.load(model).ranker_.constant is True


def test_new_nodes_are_given_by_view(folder, monkeypatch, tmp_path):
    model, kernel = str(tmp_path / "model.safetensors"), "Precomputed(view='seq') + RBF(0.1, view='assay') + Identity()"
    assert run(folder, monkeypatch, "fit", *VIEWS, "--kernel", kernel, "--alpha", "1", "-o", model).exit_code == 0
    given = ("--query-view", "assay=assay.csv", "--query-view", "seq=seq.csv", "--top", "3", "--json")
    found = run(folder, monkeypatch, "rank", model, *given)
    assert found.exit_code == 0, found.output
    known = TableRanker.load(model).rank(NAMES, top=3)
    for place, one in enumerate(json.loads(found.stdout)["rankings"]):
        assert one["query"] == NAMES[place]
        np.testing.assert_allclose([o["score"] for o in one["objects"]], known.scores[place], rtol=1e-6)
    found = run(folder, monkeypatch, "rank", model, "--query-view", "assay=assay.csv")
    assert "lack the view 'seq'" in found.stderr


def test_two_kinds_of_nodes_each_with_a_kernel(folder, monkeypatch, tmp_path):
    model = str(tmp_path / "model.safetensors")
    for more, kernels in (
        (("--kernel-matrix", "seq.csv", "--objects", "targets.csv"), ("precomputed", RBF("median"))),
        (("--nodes", "assay.csv", "--object-view", "t=targets.csv", "--object-kernel", "Linear(view='t')"), None),
    ):
        found = run(folder, monkeypatch, "fit", *more, "--edges", "bound.csv", "--alpha", "1", "-o", model)
        assert found.exit_code == 0, found.output
        ranker = TableRanker.load(model).ranker_
        if kernels:
            assert (ranker.kernel, ranker.object_kernel) == kernels


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--kernel", "RBFF()"), 2, "--kernel: the kernel 'RBFF()' has the unknown word 'RBFF'; did you mean RBF()?"),
        (("--kernel", "RBF(view='assay'"), 2, "cannot be read"),
        (("--kernel", "RBF(0.1, view='assay')", "--gamma", "1"), 2, "--gamma is for a kernel by name"),
        (("--kernel", "RBF(view='asay')"), 1, "uses the view 'asay', which the nodes do not have"),
        (("--object-kernel", "rbf"), 2, "--object-kernel is for nodes of a second kind"),
        (("--view", "assay=seq.csv"), 2, "the name 'assay' was given twice"),
        (("--view", "words.csv"), 2, "write NAME=FILE"),
        (("--view", "t=targets.csv"), 1, "targets.csv must have the labels of assay.csv, in any order: it lacks 'n0'"),
        (("--kernel-matrix", "seq.csv", "--kernel-matrix", "seq.csv"), 2, "give every matrix a name"),
        (("--view", "gone=gone.csv"), 1, "gone.csv"),
        (("--seed", "1", "--seed", "2"), 2, "was given 2 times"),
        (("--alpha", "1", "--alpha", "1"), 2, "was given 2 times"),
        (("--edges", "pairs.csv"), 2, "was given 2 times"),
        (("--constant", "--no-constant"), 2, "was given 2 times"),
    ],
)
def test_wrong_options_are_refused_before_any_work(folder, monkeypatch, tmp_path, args, code, message):
    found = run(folder, monkeypatch, "fit", *VIEWS, *args, "-o", str(tmp_path / "model.safetensors"))
    assert found.exit_code == code
    assert message in " ".join(found.stderr.replace("│", " ").split())
    assert not (tmp_path / "model.safetensors").exists()
    assert "Traceback" not in found.output
