"""Which ranker a search or a pipeline wraps."""

from __future__ import annotations

import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from builders import noisy_graph
from condrank import ConditionalRanker
from condrank.model_selection import SettingSplit, SimilaritySearch, cross_validate
from condrank.model_selection.folds import innermost


def test_the_ranker_within_searches_is_found():
    ranker = ConditionalRanker("symmetric", rank_by="incoming")
    for wrapped in (SimilaritySearch(ranker), GridSearchCV(SimilaritySearch(ranker), {"margin": [1.0]})):
        assert innermost(make_pipeline(wrapped)) is ranker
        with pytest.raises(ValueError, match="cv has rank_by='outgoing', but the ranker 'incoming'"):
            cross_validate(wrapped, noisy_graph(), cv=SettingSplit(2))
