"""Sections of text and tables."""

import numpy as np

from condrank.metrics import rank_loss
from report.games import Reader


def test_worst_and_best_nodes_are_shown_with_the_truth(ranker, text):
    losses = rank_loss(ranker.graph_.to_dense(), ranker.predict(ranker.graph_), average=None)
    worst = ranker.query_ids_[np.argsort(-losses, kind="stable")[0]]
    words = "".join(Reader(text).words)
    shown = words[words.index("Worst 6") :]
    assert shown.startswith(f"Worst 6{worst}loss {np.max(losses):.4f}")
    scores = ranker.rank([worst], top=1)
    value = ranker.graph_.to_dense()[list(ranker.query_ids_).index(worst), scores.indices[0, 0]]
    assert f"{scores.ids[0, 0]} ({'not observed' if np.isnan(value) else f'{value:.4g}'})" in shown
