"""A ranker of tables in one file: what the file of its ranker has, and encoders, ids and columns."""

from __future__ import annotations

from typing import Any

import condrank.baselines
import condrank.model_selection.prepared  # noqa: F401  both register how their rankers are read
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.damage import damage_named
from condrank.persistence.layout import model_file, read_with_fingerprint, write_file
from condrank.rankers.base import fitted_of
from condrank.rankers.saving import Saved, refuse_index
from condrank.tables.known import KnownNodes, known_side
from condrank.tables.known_views import KnownViews

NAME = "tables"  # of their part of the manifest, and before their arrays
SEARCH = "search"  # what a search has found, in the manifest
SIDES = ("queries", "objects")


def save(ranker: Any, path: Any, columns: bool, training: bool = False, uncertainty: bool | None = None) -> None:
    """Write a fitted `TableRanker`, with or without the columns and the labels of its training nodes."""
    write_file(path, *ranker_state(ranker, columns, training, uncertainty))


def ranker_state(
    ranker: Any, columns: bool, training: bool = False, uncertainty: bool | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A manifest of plain values and named arrays of a fitted `TableRanker`; `ranker_from` reads them."""
    fitted = ranker.ranker_
    if not isinstance(fitted, Saved):
        raise ValueError(f"a {type(fitted).__name__} cannot be saved; a ConditionalRanker can")
    manifest, named = fitted.to_state(training, uncertainty)
    if getattr(ranker, "search_", None) is not None:
        manifest = manifest | {SEARCH: ranker.search_.to_state()}
    model, arrays = fitted_of(ranker.ranker_).model, Arrays(named, NAME)
    known = (ranker.queries_, ranker.objects_)
    sides = known[: 1 if known[0] is known[1] else 2]
    parts: dict[str, Any] = {}
    for side, one, trained in zip(SIDES, sides, (model.rows.nodes, model.cols.nodes), strict=False):
        parts[side] = one.to_state(arrays.under(side), len(trained), columns)
    return manifest | {NAME: parts}, named


def load(cls: Any, path: Any, mmap: bool) -> Any:
    """The `TableRanker` of a file; one without encoders from the file of a plain ranker."""
    return load_with_fingerprint(cls, path, mmap)[0]


def load_with_fingerprint(cls: Any, path: Any, mmap: bool = False) -> tuple[Any, str]:
    """What `load` returns, and the fingerprint of the file that was read, even if its name is replaced meanwhile."""
    manifest, arrays, fingerprint = read_with_fingerprint(path, mmap)
    with damage_named(model_file(path), "model"):
        refuse_index(manifest)
        held = Held(arrays, mmap)
        ranker = ranker_from(cls, manifest, held)
        held.check_all_taken("tables" if manifest.get(NAME) else "model")
        return ranker, fingerprint


def ranker_from(cls: Any, manifest: dict[str, Any], held: Held) -> Any:
    """The `TableRanker` of a manifest and its arrays."""
    if "kind" in manifest:
        import condrank.model_selection  # noqa: F401  it knows how to read what a search returns

    ranker = Saved.from_state(manifest, held)
    model, parts = fitted_of(ranker).model, manifest.get(NAME, {})
    trained = [model.rows.nodes, model.cols.nodes][: 1 if model.cols is model.rows else 2]
    sides = SIDES[: len(trained)]
    if parts and set(parts) != set(sides):
        raise ValueError(f"its tables must be those of {list(sides)}, got {sorted(parts)}")
    known: list[KnownNodes] = []
    for side, one, nodes in zip(sides, (model.rows, model.cols), trained, strict=False):
        matrices, under = one.kernel.matrices, held.under(NAME).under(side)
        if not parts:
            known.append(known_side(nodes, None, nodes, matrices))
        elif "views" in parts[side]:
            known.append(KnownViews.from_views(parts[side], under, nodes, matrices))
        else:
            known.append(KnownNodes.from_state(parts[side], under, nodes, None in matrices))
    made = cls.from_known(ranker, known[0], known[-1])
    made.search_ = None
    if SEARCH in manifest:
        from condrank.tables.searched import Searched

        made.search_ = Searched.from_state(manifest[SEARCH])
    return made
