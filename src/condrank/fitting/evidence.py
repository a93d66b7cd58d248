"""The evidence of a fitted ranker, which standard deviations need: from its system, and in its file."""

from __future__ import annotations

from typing import Any

from condrank.models import EdgeModel
from condrank.observations.edges import all_edges
from condrank.persistence.arrays import Arrays, Held
from condrank.uncertainty import Evidence

PAIRS_SAVED_MOST = 1_000_000  # observed pairs that a file has without being asked, at 32 bytes each
NOT_SAVED = (
    "standard deviations need the observed pairs, which this file does not have: save the fitted ranker again with "
    "save(path, uncertainty=True)"
)


def evidence_of(fitted: Any) -> Evidence:
    """What standard deviations need of the labels of a `FittedRanker`; a ValueError says why it is not known."""
    if fitted.settings.alpha <= 0 or fitted.history is not None:
        raise ValueError("standard deviations need a solver for a given λ, not early stopping: it is no posterior mean")
    if fitted.evidence is not None:
        return fitted.evidence
    if fitted.system is None and fitted.observed is None:
        raise ValueError(NOT_SAVED)
    return Evidence.of(fitted.solvable(), fitted.model, fitted.settings)


def evidence_to(fitted: Any, arrays: Arrays, training: bool, asked: bool | None) -> dict[str, Any]:
    """The evidence as an entry of a manifest, or nothing: unless it is asked for, a long list of pairs is left out.

    With the labels of ``training``, and for a model over edges, the list is in the file already.
    """
    if asked is False:
        return {}
    try:
        evidence = evidence_of(fitted)
    except ValueError:
        if asked:
            raise
        return {}
    needed = evidence.edges is not None and not training and not isinstance(fitted.model, EdgeModel)
    if needed and asked is None and evidence.n_pairs > PAIRS_SAVED_MOST:
        return {}
    return {"uncertainty": evidence.to_state(arrays, needed)}


def evidence_from(given: dict[str, Any], held: Held, model: Any, observed: Any) -> Evidence | None:
    """The evidence of a manifest; None if it has none."""
    if "uncertainty" not in given:
        return None
    own = None
    if isinstance(model, EdgeModel):
        own = model.kernel.edges
    elif observed is not None and not given["uncertainty"]["complete"]:
        own = all_edges(observed)
    return Evidence.from_state(given["uncertainty"], held.under("uncertainty"), own)
