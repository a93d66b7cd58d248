"""``condrank info``: what a saved model is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.found import search_lines
from condrank.cli.output import Format, choose_format, write_json, write_rows
from condrank.cli.terminal import fail, show

if TYPE_CHECKING:
    from condrank.tables import TableRanker

EPILOG = "Examples: [bold]condrank info model/[/bold] · [bold]condrank info model/ --json[/bold]"
# How the facts are called on a terminal, where their names are not.
SHOWN = {"alpha": "λ", "file_fingerprint": "fingerprint of the file", "fingerprint": "fingerprint of the model"}


def info(
    model: Annotated[Path, typer.Argument(help="Folder or file of a saved model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show what a saved model is: relation, loss, kernel, λ, solver, sizes, columns, fingerprints and version."""
    form = choose_format(None, as_json, None)
    from condrank.persistence.layout import model_file, read_with_fingerprint
    from condrank.tables.ranker import TableRanker
    from condrank.tables.state import load_with_fingerprint

    manifest, _, seen = read_with_fingerprint(model, mmap=True)
    ranker, file_fingerprint = load_with_fingerprint(TableRanker, model)
    if seen != file_fingerprint:
        fail(f"{model} was replaced while it was read; try again")
    facts = describe(ranker) | {"file_fingerprint": file_fingerprint, "bytes": model_file(model).stat().st_size}
    facts["written_by"] = f"condrank {manifest.get('condrank', 'of an unknown version')}"
    if as_json:
        write_json({"model": str(model)} | facts)
        return
    facts |= {"search": None}
    rows = [{"what": SHOWN.get(name, name.replace("_", " ")), "is": _text(value)} for name, value in facts.items()]
    write_rows([row for row in rows if row["is"] is not None], ["what", "is"], form, None)
    if form is Format.table:
        for line in search_lines(ranker.search_):
            show(line)


def describe(ranker: TableRanker) -> dict[str, Any]:
    """Facts of a loaded model, by name; None for what it has not."""
    from condrank.rankers.base import fitted_of
    from condrank.report.identity import model_fingerprint

    fitted, model = ranker.ranker_, fitted_of(ranker.ranker_).model
    one_domain = ranker.queries_ is ranker.objects_
    found = getattr(ranker, "search_", None)
    return {
        "class": type(fitted).__name__,
        "relation": getattr(fitted, "relation", None),
        "loss": getattr(fitted, "loss", None),
        "rank_by": fitted.rank_by,
        "kernel": repr(model.rows.kernel),
        "object_kernel": None if one_domain else repr(model.cols.kernel),
        "alpha": getattr(fitted, "alpha_", None),
        "solver": getattr(fitted, "solver_", None),
        "iterations": getattr(fitted, "n_iter_", None),
        "coordinates": getattr(getattr(fitted, "plan_", None), "coordinates", None),
        "intercept": getattr(fitted, "intercept_", 0.0) or None,
        "prior_weight": getattr(model, "prior_weight", None) or None,
        "nodes": len(ranker.query_ids_),
        "objects": None if one_domain else len(ranker.object_ids_),
        "features": fitted.n_features_in_,
        "columns": _kinds(ranker.queries_.encoder),
        "object_columns": None if one_domain else _kinds(ranker.objects_.encoder),
        "fingerprint": model_fingerprint(ranker),
        "search": None if found is None else found.to_state(),
    }


def _kinds(encoder: Any) -> dict[str, str] | None:
    """Kind of each column that was encoded; columns of views are named by both."""
    views = getattr(encoder, "encoders_", None)
    if views is not None:
        named = {view: _kinds(one) or {} for view, one in views.items()}
        return {f"{view}.{column}": kind for view, kinds in named.items() for column, kind in kinds.items()} or None
    kinds = getattr(encoder, "kinds_", None)
    return dict(kinds) if kinds else None


def _text(value: Any) -> Any:
    return ", ".join(f"{name} ({kind})" for name, kind in value.items()) if isinstance(value, dict) else value
