"""A ranker of tables found by a search: what to search among, what was found, and what of it is kept with the model."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from condrank.base.warn import warn
from condrank.graph import RelationGraph
from condrank.graph.transformer import NodeTransformer
from condrank.model_selection.leaderboard import Leaderboard, LeaderboardRow
from condrank.model_selection.preparation import RAW
from condrank.model_selection.prepared import PreparedRanker
from condrank.model_selection.ranker_search import RankerSearch
from condrank.rankers.conditional import ConditionalRanker
from condrank.tables.defaults import default_ranker
from condrank.tables.encoder import TableEncoder

ROW = ("name", "loss", "standard_error", "seconds", "is_baseline", "chosen")
GIVEN, DEFAULT = "the given ranker", "the default model"
TOO_SMALL = "too few nodes and edges to hold some out for a search: one sensible model was fitted without it"


@dataclass(frozen=True)
class Searched:
    """What a search has found, as plain values, with the names of `RankerSearch`.

    Attributes
    ----------
    leaderboard_ : Leaderboard
        All candidates, the best first; their parameters are not kept in a file.
    summary_ : str
        One sentence: what was chosen, and what it gains over the best baseline.
    loss_, loss_error_ : float
        Rank loss on nodes that no choice has seen, and its standard error.
    learned_ : bool
        False if a baseline was chosen.
    """

    leaderboard_: Leaderboard
    summary_: str
    loss_: float
    loss_error_: float
    learned_: bool

    @classmethod
    def of(cls, search: Any, features: Any = ()) -> Searched:
        """What a fitted `RankerSearch` has found, with names of the encoded features instead of their numbers.

        The ranker that it was given is the default model of the tables.
        """
        rows = [
            replace(row, name=DEFAULT if row.name == GIVEN else _named(row.name, features))
            for row in search.leaderboard_
        ]
        summary = _named(search.summary_.replace(f": {GIVEN} (", f": {DEFAULT} ("), features)
        return cls(Leaderboard(rows), summary, search.loss_, search.loss_error_, search.learned_)

    def to_state(self) -> dict[str, Any]:
        """Plain values for a manifest; NaN as None."""
        rows = [{name: _known(getattr(row, name)) for name in ROW} for row in self.leaderboard_]
        losses = {"loss": _known(self.loss_), "loss_error": _known(self.loss_error_)}
        return {"summary": self.summary_, "learned": self.learned_, "leaderboard": rows} | losses

    @classmethod
    def from_state(cls, given: Any) -> Searched:
        """What was stored, after checks."""
        if not isinstance(given, dict) or not isinstance(given["summary"], str):
            raise ValueError(f"what a search has found must be plain values by name, got {given!r:.60}")
        rows = []
        for row in given["leaderboard"]:
            if set(row) != set(ROW) or not isinstance(row["name"], str):
                raise ValueError(f"rows of a leaderboard must have {list(ROW)}, got {row!r:.80}")
            numbers = {name: _number(row[name]) for name in ("loss", "standard_error", "seconds")}
            flags = {name: bool(row[name]) for name in ("is_baseline", "chosen")}
            rows.append(LeaderboardRow(name=row["name"], **numbers, **flags, params={}))
        losses = _number(given["loss"]), _number(given["loss_error"])
        return cls(Leaderboard(rows), given["summary"], *losses, bool(given["learned"]))


def _named(text: str, features: Any) -> str:
    """A text in which compared features have their names, as in ``compared speed`` for ``compared [0]``."""

    def names(found: re.Match[str]) -> str:
        places = [int(one) for one in found[1].split(",")]
        return found[0] if max(places) >= len(features) else "compared " + ", ".join(features[one] for one in places)

    return re.sub(r"compared \[([\d, ]+)\]", names, text)


def _feature_names(transformer: NodeTransformer | None) -> list[str]:
    """Names of the features that one encoder of tables makes; empty for several views, and for what has no names."""
    encoder = None if transformer is None else transformer.transformer_
    if not isinstance(encoder, TableEncoder) or encoder.is_split:
        return []
    return [str(name) for name in encoder.get_feature_names_out()]


def _known(value: Any) -> Any:
    return None if value != value else value


def _number(value: Any) -> float:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"numbers of a leaderboard must be numbers, got {value!r:.40}")
    return float("nan") if value is None else float(value)


def is_search(ranker: Any) -> bool:
    """Whether a ranker is a search, whose choice is then kept instead of it."""
    return isinstance(ranker, RankerSearch)


def default_search(graph: RelationGraph, time_limit: float | None, encoders: tuple[Any, Any] = (None, None)) -> Any:
    """The search for a graph of tables. Games keep the logistic loss and a constant; other losses are searched, too."""
    quick = default_ranker(graph, encoders)
    return RankerSearch(narrowed(quick) if quick.loss == "logistic" else None, time_limit=time_limit, random_state=0)


def narrowed(quick: Any) -> ConditionalRanker:
    """The model of a `ConditionalRankerCV` as the ranker whose relation and loss a search keeps."""
    names = ConditionalRanker().get_params(deep=False)
    own: dict[str, Any] = {name: getattr(quick, name) for name in names if hasattr(quick, name)}
    own["alpha"] = 1.0
    return ConditionalRanker(**own)


def run_search(
    search: Any, graph: RelationGraph, transformer: NodeTransformer | None, encoders: tuple[Any, Any]
) -> tuple[Any, RelationGraph, NodeTransformer | None, Searched | None]:
    """The chosen ranker, the encoded graph, its transformer, and what was found; None if there was too little data.

    If the search prepares features, the encoders of tables do it from then on, and the ranker is a plain one.
    """
    encoded = graph if transformer is None else transformer.fit(graph).transform(graph)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "too little can be held out")
        search.fit(encoded)
    if all(row.loss != row.loss for row in search.leaderboard_):
        warn(TOO_SMALL, UserWarning)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "λ = ")  # said already
            return default_ranker(graph, encoders).fit(encoded), encoded, transformer, None
    best, found = search.best_ranker_, Searched.of(search, _feature_names(transformer))
    if not search.learned_ and search.ranker is not None and search.ranker.loss == "logistic":
        best, found = _with_probabilities(found, encoded) or (best, found)
    if isinstance(best, PreparedRanker) and transformer is not None and _can_prepare(transformer):
        transformer = _preparing(transformer, best.preparation)
        return best.ranker_, transformer.fit(graph).transform(graph), transformer, found
    return best, encoded, transformer, found


def _with_probabilities(found: Searched, encoded: RelationGraph) -> tuple[Any, Searched] | None:
    """The best logistic model, if it is not worse than the chosen baseline by more than the standard errors.

    A baseline has neither probabilities nor strengths, which games are asked for.
    """
    rows = [*found.leaderboard_]
    baseline = next(row for row in rows if row.chosen)
    learned = [row for row in rows if not row.is_baseline and row.params.get("preparation") == RAW]
    if not learned or learned[0].loss > baseline.loss + np.hypot(learned[0].standard_error, baseline.standard_error):
        return None
    row = learned[0]
    params = {name: value for name, value in row.params.items() if name != "preparation"}
    board = Leaderboard([replace(one, chosen=one is row) for one in rows])
    summary = (
        f"Chosen: {row.name} (rank loss {row.loss:.4f} ± {row.standard_error:.4f}), about as good as the best "
        f"baseline, {baseline.name} ({baseline.loss:.4f}), which has no probabilities."
    )
    nan = float("nan")
    return ConditionalRanker(**params).fit(encoded), Searched(board, summary, nan, nan, True)


def _can_prepare(transformer: NodeTransformer) -> bool:
    given = (transformer.transformer, transformer.object_transformer)
    return all(one is None or isinstance(one, TableEncoder) for one in given)


def _preparing(transformer: NodeTransformer, way: str) -> NodeTransformer:
    sides = (transformer.transformer, transformer.object_transformer)
    fresh: list[Any] = [None if one is None else clone(one) for one in sides]
    return NodeTransformer(*(None if one is None else one.set_params(prepare=way) for one in fresh))
