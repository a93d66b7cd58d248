"""How sure the places of a ranking are, on the page of a service."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from condrank import ConditionalRanker, TableRanker
from explorer.chromium import View
from service.served import EDGES, NODES, ModelHolder, create_app, running

HEADS = "#ranking thead th:not([hidden])"


@pytest.fixture(scope="module")
def ranker():
    return TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(NODES, EDGES)


@pytest.mark.parametrize("width", [375, 1100])
def test_std_and_probability_are_those_of_the_ranker(chromium, ranker, tmp_path, width):
    ranker.save(tmp_path, training=True)
    view = View(chromium)
    with running(create_app(ModelHolder(tmp_path))) as address:
        view.open(address, width=width)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        assert "std of score" not in view.texts(HEADS)
        view.one("#sure").click()
        view.wait(lambda: view.texts(HEADS)[-2:] == ["std of score", "chance to be best"])
        expected = ranker.rank(["Node 0"], top=20, return_std=True)
        shown = [float(one) for one in view.texts("#ranking tbody td:nth-last-child(2)")]
        np.testing.assert_allclose(shown, expected.std[0], rtol=1e-2)
        chances = view.texts("#ranking tbody td:last-child")
        assert len(chances) == 20
        assert all(one.endswith("%") for one in chances)
        assert view.run("document.documentElement.scrollWidth") <= width
        assert view.messages() == []
        view.one("#sure").click()
        view.wait(lambda: "std of score" not in view.texts(HEADS))


def test_a_model_without_them_is_reported_and_the_ranking_stays(chromium, ranker, tmp_path):
    ranker.save(tmp_path)
    view, holder = View(chromium), ModelHolder(tmp_path)
    refusals = import_module("condrank.service.refusals")  # needs what served looks for

    def refuse(*given):
        raise refusals.Refusal(422, "std: this model has none")

    holder.current._with_std = refuse
    with running(create_app(holder)) as address:
        view.open(address)
        view.wait(lambda: view.texts("#ranking tbody tr"))
        view.one("#sure").click()
        view.wait(lambda: view.text("#problem") == "std: this model has none")
        assert not view.one("#sure").is_selected()
        assert len(view.texts("#ranking tbody tr")) == 20
        assert all("422" in one for one in view.messages())
