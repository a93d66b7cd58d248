"""``condrank rank``: a saved model ranks objects for known or new nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.named import named_files
from condrank.cli.output import (
    FormatOption,
    JsonOption,
    OutputOption,
    Records,
    SafeOption,
    choose_format,
    plain,
    write_rows,
)
from condrank.cli.terminal import fail

if TYPE_CHECKING:
    import numpy as np

    from condrank.rankers.ranking import Ranking
    from condrank.tables import TableRanker

EPILOG = (
    "Examples: [bold]condrank rank model/ --query ann --top 10[/bold] · "
    "[bold]condrank rank model/ --query-file new_players.csv --json[/bold] · "
    '[bold]condrank rank model/ --query "bob smith" --exclude ann -o ranking.csv[/bold]'
)


def rank(
    model: Annotated[Path, typer.Argument(help="Folder or file of a saved model.")],
    query: Annotated[
        list[str] | None, typer.Option("--query", "-q", metavar="ID", help="A known node to rank for (repeatable).")
    ] = None,
    query_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New nodes to rank for, with the columns of training; -: stdin.")
    ] = None,
    query_view: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A view of new nodes to rank for; all views of training (repeatable)."),
    ] = None,
    object_view: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="A view of new objects to rank (repeatable).")
    ] = None,
    objects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New objects to rank; by default those of training.")
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Length of a ranking.")] = 10,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An object to leave out (repeatable).")
    ] = None,
    exclude_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of objects to leave out, one in a line.")
    ] = None,
    exclude_known: Annotated[
        Path | None,
        typer.Option(metavar="EDGES", help="Table of edges: what a node has an edge with there is left out for it."),
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="COLUMN", help="Where edges of --exclude-known start.")] = None,
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="Where edges of --exclude-known end.")] = None,
    winner: Annotated[str | None, typer.Option(metavar="COLUMN", help="Winners of games of --exclude-known.")] = None,
    loser: Annotated[str | None, typer.Option(metavar="COLUMN", help="Losers of games of --exclude-known.")] = None,
    exclude_trained: Annotated[
        bool, typer.Option("--exclude-trained", help="Leave out what a node has an edge with in the training tables.")
    ] = False,
    candidates_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of the only objects to rank, one in a line.")
    ] = None,
    worst: Annotated[bool, typer.Option("--worst", help="The worst objects, worst first.")] = False,
    include_self: Annotated[bool, typer.Option("--include-self", help="Keep a node in its own ranking.")] = False,
    std: Annotated[
        bool,
        typer.Option("--std", help="Add columns std and top_probability: how sure a score and the first place are."),
    ] = False,
    form: FormatOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    safe_csv: SafeOption = False,
) -> None:
    """Rank objects for nodes, best first. Columns: query, rank, object, score; probability with the logistic loss."""
    if not query and query_file is None and not query_view:
        raise typer.BadParameter(
            "give the id of a node, or a file of new nodes with --query-file", param_hint="--query"
        )
    if [query_file, objects, exclude_file, exclude_known, candidates_file].count(Path("-")) > 1:
        raise typer.BadParameter("only one file can come from standard input", param_hint="-")
    form = choose_format(form, as_json, output, safe_csv)
    views, object_views = named_files(query_view, "--query-view"), named_files(object_view, "--object-view")
    if object_views and objects is not None:
        raise typer.BadParameter("give the objects once, as a table or by views", param_hint="--object-view")
    ends = {"source": source, "target": target, "winner": winner, "loser": loser}
    if exclude_known is None and any(ends.values()):
        raise typer.BadParameter("names a column of the edges of --exclude-known", param_hint=_first_given(ends))
    from condrank.tables.ranker import TableRanker

    ranker = TableRanker.load(model)
    left_out = [*(exclude or []), *([] if exclude_file is None else _ids_of(exclude_file, "--exclude-file"))]
    among = None if candidates_file is None else _ids_of(candidates_file, "--candidates-file")
    if objects is None and object_views is None:
        find_known(exclude or [], ranker.object_ids_, "--exclude")
        find_known(among or [], ranker.object_ids_, "--candidates-file")
    known = None if exclude_known is None else _known_objects(exclude_known, ranker.ranker_.rank_by, ends)
    limits: dict[str, Any] = {"candidates": among, "order": "worst" if worst else "best"}
    given: Any = object_views or objects
    if objects is not None:
        given = ranker.objects_.columns(objects, "objects")
    asked: list[Any] = []
    if query:
        find_known(query, ranker.query_ids_, "--query")
        asked.append(query)
    if query_file is not None:
        asked.append(query_file)
    if views is not None:
        asked.append(views)
    rows: Records = []
    for queries in asked:
        limits["exclude"] = left_out or None
        if known is not None or exclude_trained:
            if isinstance(queries, Path):
                queries = ranker.queries_.columns(queries, "queries")  # read once; standard input cannot be read again
            nodes, ids = ranker.queries_.read(queries, "queries")
            named = [None] * len(nodes) if ids is None else [str(plain(one)) for one in ids]
            seen = [[] for _ in named] if known is None else [known.get(name, []) for name in named]
            own = ranker.known_objects(queries) if exclude_trained else [[] for _ in named]
            limits["exclude"] = [[*left_out, *one, *other] for one, other in zip(seen, own, strict=True)]
        found = ranker.rank(queries, given, top, exclude_self=not include_self, return_std=std, **limits)
        rows += _rows(found, ranker)
    names = ["query", "rank", "object", "score"]
    names += ["probability"] if ranker.ranker_.loss == "logistic" else []
    names += ["std", "top_probability"] if std else []
    write_rows(rows, names, form, output, {"model": str(model), "rankings": _nested(rows)}, safe_csv)


def find_known(given: list[str], ids: np.ndarray, option: str) -> None:
    """Refuse an id that the model does not know, and suggest ids that are spelled alike."""
    from condrank.frames.ids import Ids, as_id_array

    if not given:
        return
    names, asked = Ids(ids), as_id_array(given)
    places = names.places(asked)
    if (places < 0).any():
        row = int((places < 0).argmax())
        fail(f"{option}: the model does not know {given[row]!r}; {names.advice(asked, row)}")


def _first_given(ends: dict[str, Any]) -> str:
    return next(f"--{name}" for name, column in ends.items() if column)


def _known_objects(file: Path, rank_by: str, ends_of: dict[str, Any]) -> dict[str | None, list[str]]:
    """The objects of each conditioning node in a table of edges, by id; both players of a game know each other."""
    from condrank.frames.edge_columns import find_columns
    from condrank.tables import read_table

    columns = read_table(file, "edges")
    used = find_columns(columns, **ends_of)
    ends = []
    for name in (used.source, used.target):
        columns.refuse_missing(name)
        ends.append([str(plain(one)) for one in columns.values[name].tolist()])
    starts, others = ends if rank_by == "outgoing" else ends[::-1]
    found: dict[str | None, list[str]] = {}
    for one, other in zip(starts, others, strict=True):
        found.setdefault(one, []).append(other)
        if used.is_game:
            found.setdefault(other, []).append(one)
    return found


def _ids_of(file: Path, option: str) -> list[str]:
    """Ids of a text file (or of standard input), one in a line; empty lines are skipped."""
    try:
        text = sys.stdin.read() if file == Path("-") else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{option}: {file} cannot be read: {error}")
    ids = [line.strip() for line in text.splitlines() if line.strip()]
    if not ids:
        fail(f"{option}: {file} has no ids; write one in each line")
    return ids


def _rows(found: Ranking, ranker: TableRanker) -> Records:
    """One row per place, with a probability beside the score for the logistic loss."""
    from scipy.special import expit

    rows: Records = []
    assert found.ids is not None
    for position in range(len(found)):
        query = position if found.query_ids is None else found.query_ids[position]
        there = found.indices[position] >= 0
        ranked = zip(found.ids[position][there], found.scores[position][there], strict=True)
        for place, (one, score) in enumerate(ranked, start=1):
            row = {"query": query, "rank": place, "object": one, "score": float(score)}
            if ranker.ranker_.loss == "logistic":
                row["probability"] = float(expit(score))
            row |= {name: float(values[position][there][place - 1]) for name, values in found.sure().items()}
            rows.append(row)
    return rows


def _nested(rows: Records) -> list[dict[str, Any]]:
    """The rows, grouped by query."""
    rankings: list[dict[str, Any]] = []
    for row in rows:
        own = {name: value for name, value in row.items() if name != "query"}
        if row["rank"] == 1:
            rankings.append({"query": row["query"], "objects": []})
        rankings[-1]["objects"].append(own)
    return rankings
