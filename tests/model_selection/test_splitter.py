"""What all splitters share: indices for scikit-learn, and folds as small as can be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score

from builders import ALPHAS, mean_scores, noisy_graph
from condrank import ConditionalRanker
from condrank.model_selection import SettingShuffleSplit, SettingSplit


def test_the_indices_of_a_splitter_are_folds_for_scikit_learn():
    graph, groups = noisy_graph(), np.arange(40) // 4
    folds = SettingSplit(4, 5, groups=groups, random_state=0).indices(graph)
    search = GridSearchCV(ConditionalRanker(), ALPHAS, cv=folds, error_score="raise").fit(graph)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], mean_scores(ConditionalRanker(), graph, folds))


@pytest.mark.parametrize(
    "cv", [SettingSplit(4, random_state=0), SettingSplit(2, 3, random_state=0), SettingShuffleSplit(random_state=0)]
)
def test_a_splitter_itself_is_refused_with_advice(cv):
    graph, ranker = noisy_graph(), ConditionalRanker()
    calls = [
        lambda: GridSearchCV(ranker, ALPHAS, cv=cv).fit(graph),
        lambda: HalvingGridSearchCV(ranker, ALPHAS, cv=cv, min_resources=12).fit(graph),
        lambda: cross_val_score(ranker, graph, cv=cv),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"as scikit-learn does, .* the splitter's .indices\(graph\)"):
            call()
