"""A fitted ranker as a manifest of plain values and named arrays; `condrank.persistence.restoring` is the way back."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np

from condrank._version import __version__
from condrank.base.dask import is_dask
from condrank.persistence.arrays import Arrays
from condrank.persistence.ids import ids_to
from condrank.persistence.plain import plain
from condrank.persistence.settings import FITTED, OPTIONAL, agreed_settings, settings_to


def to_state(ranker: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays of a fitted ranker with these parameters."""
    model = ranker._fitted()
    if is_dask(model.rows.nodes.base):
        from condrank.distributed.rows import gathered

        model = gathered(model)
    arrays, sums = Arrays(), getattr(ranker, "_sums", None)
    params = {name: plain(f"parameter {name}", value) for name, value in params.items()}
    # A ranker of a path has a λ of its own.
    settings = settings_to(dataclasses.replace(ranker._settings, alpha=ranker.alpha_))
    n_features, two_domains = model.rows.nodes.base.shape[1], model.cols is not model.rows
    try:
        agreed_settings(SimpleNamespace(**params), settings, n_features, two_domains)
    except ValueError as error:
        raise ValueError(f"the parameters were changed since the fit, fit again before saving: {error}") from None
    manifest = {
        "condrank": __version__,
        "params": params,
        "settings": settings,
        "plan": dataclasses.asdict(ranker.plan_),
        "fitted": {name: plain(name, getattr(ranker, name)) for name in (*FITTED, *OPTIONAL) if hasattr(ranker, name)},
        "model": model.to_state(arrays),
        "objects": ids_to(ranker._objects.ids, arrays.under("objects")),
        "sums": None if sums is None else sums.to_state(arrays.under("sums")),
    }
    return manifest, arrays.named
