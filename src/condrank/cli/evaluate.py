"""``condrank evaluate``: measures of a ranker, by cross-validation, or of a saved model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrank.cli.beside import has_similarity, legend, of_order, similarity_values, strength_values
from condrank.cli.inputs import check_model, make_ranker, make_search, read_model, read_tables
from condrank.cli.learning import SAID_ALREADY
from condrank.cli.options import TIME_LIMIT, Model, Tables
from condrank.cli.output import SAFE, SAFE_HELP, Format, Records, choose_format, write_json, write_rows
from condrank.cli.terminal import Lines, progress_bar, say, show

if TYPE_CHECKING:
    from condrank.graph import RelationGraph
    from condrank.model_selection import CrossValidation
    from condrank.tables import TableRanker

EPILOG = (
    "Examples: [bold]condrank evaluate --nodes players.csv --edges games.csv --setting 4[/bold] · "
    "[bold]condrank evaluate model/ --nodes new_players.csv --edges new_games.csv[/bold] · "
    "[bold]condrank evaluate model/ --nodes players.csv --edges games.csv --settings all --measure auc[/bold]"
)
INTERRUPTED_SEARCH = "the search was interrupted"  # how its warning begins
SAYS = {1: "new edges", 2: "new queries", 3: "new objects", 4: "both new"}


def evaluate(
    tables: Tables,
    model: Model,
    saved: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL]",
            help="A saved model: scored as it is; with a setting, its parameters are fitted in each fold.",
        ),
    ] = None,
    setting: Annotated[
        list[int] | None, typer.Option(min=1, max=4, help="1 new edges, 2 new queries, 3 new objects, 4 both new.")
    ] = None,
    settings: Annotated[str | None, typer.Option(metavar="all", help="all: all four settings.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    scoring: Annotated[
        list[str] | None,
        typer.Option(
            "--scoring",
            "--measure",
            metavar="MEASURE",
            help="Measure: rank_loss, auc, ndcg, log_loss, … (repeatable); ndcg:k=10 sets an option.",
            show_default="rank_loss; for games with the logistic loss also log_loss, brier_score, accuracy",
        ),
    ] = None,
    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the measures of each conditioning node.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Time of the search in each fold; 0: no search.")
    ] = TIME_LIMIT,
    quick: Annotated[
        bool, typer.Option("--quick", help="Judge one sensible model instead of a search; only λ is chosen.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    safe_csv: Annotated[bool, typer.Option(SAFE, help=SAFE_HELP)] = False,
) -> None:
    """Measure how well a ranker ranks: by cross-validation in the four settings, or a saved model on other tables.

    Without a saved model, what is judged is the search of `condrank fit`, anew in each fold and for the setting that is
    tested. A saved model keeps its own parameters; options of the group Model are ignored.
    """
    if settings is not None and (settings != "all" or setting):
        raise typer.BadParameter(f"must be all, without --setting, got {settings!r}", param_hint="--settings")
    if safe_csv and per_query is None:
        raise typer.BadParameter("is for the file of --per-query, which is missing", param_hint=SAFE)
    form = None if per_query is None else choose_format(None, False, per_query, safe_csv)
    chosen = [1, 2, 3, 4] if settings else sorted(set(setting or ([4] if saved is None else [])))
    from sklearn.base import clone

    from condrank.model_selection.validate import read_scoring
    from condrank.tables.ranker import TableRanker

    check_model(model)
    measures = read_scoring({name: _measure(name) for name in scoring or ["rank_loss"]})
    of_games = read_scoring(["rank_loss", "log_loss", "brier_score", "accuracy"])
    loaded = None if saved is None else TableRanker.load(saved)
    fills = None if loaded is None else getattr(loaded.encoder_, "impute", None)
    graph = read_tables(tables, allow_missing=fills is not None)
    impute = fills if tables.impute is None else tables.impute.value
    if loaded is not None and not chosen:
        if not scoring and getattr(loaded.ranker_, "loss", None) == "logistic":
            measures = of_games
        _show_scores(loaded, graph, measures, saved, as_json, per_query, form, safe_csv)
        return
    if loaded is not None:
        if takes_matrices(loaded) != graph_has_matrices(graph):
            raise ValueError(f"{saved} was fitted with the other kind of nodes: columns, or a --kernel-matrix")
        ranker = clone(loaded.ranker_)
        rankers = dict.fromkeys(chosen, ranker)
    else:
        asked = read_model(model, graph, tables)
        ranker = make_ranker(asked)
        rankers = dict.fromkeys(chosen, ranker)
        searched = asked.is_searched(time_limit, quick)
        if asked.recommended.chosen and (not searched or asked.recommended.loss == "logistic"):
            say(str(asked.recommended))
        if searched:
            rankers = {one: make_search(asked, time_limit, lambda *said: None, one) for one in chosen}
            say(f"a search in every fold, each {time_limit:g} s at most; --quick judges one model without a search")
        elif asked.alpha is None:
            say("λ is chosen in each fold, by what is held out of its training graph")
    if not scoring and getattr(ranker, "loss", None) == "logistic":
        measures = of_games
    encoders = {} if loaded is None else {"encoder": loaded.encoder_, "object_encoder": loaded.object_encoder_}
    fills_in = None if loaded is not None else impute
    judged = {one: TableRanker(found, impute=fills_in, **encoders) for one, found in rankers.items()}
    results = _cross_validate(judged, graph, folds, measures)
    compared = _similarity(ranker, graph, chosen, folds, measures, impute)
    if as_json:
        similarity = {"similarity": {one: _summary(found) for one, found in compared.items()}} if compared else {}
        settings_found = {one: _summary(found) for one, found in results.items()}
        write_json({"folds": folds, "settings": settings_found} | similarity)
    else:
        rows = [
            {"setting": one, "tests": SAYS[one], "measure": name}
            | {"mean": _number(found.mean(name)), "± s.e.": _number(found.standard_error(name))}
            | {"folds": len(found.scores[name])}
            | ({"similarity": _mean(compared[one], name)} if compared else {})
            for one, found in results.items()
            for name in found.scores
        ]
        _write(rows, measures, ("similarity",) if compared else ())
    if per_query is not None and form is not None:
        rows = []
        for one, found in results.items():
            rows += [{"setting": one} | row for row in _by_row(found.queries)]
        write_rows(rows, list(rows[0]), form, per_query, safe=safe_csv)


def _measure(given: str) -> Any:
    """A measure by its name, with options behind a colon: ndcg:k=10,gain=exponential."""
    name, _, options = given.partition(":")
    if not options:
        return name
    from condrank.metrics import make_scorer

    read = {}
    for option in options.split(","):
        key, equals, value = option.partition("=")
        if not equals:
            raise typer.BadParameter(f"options must be like ndcg:k=10, got {given!r}", param_hint="--measure")
        read[key.strip()] = _value(value.strip())
    try:
        return make_scorer(name, **read)
    except TypeError as error:
        raise typer.BadParameter(str(error), param_hint="--measure") from None


def _value(text: str) -> Any:
    """An option's value: an integer, a number, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _cross_validate(
    rankers: Mapping[int, TableRanker], graph: RelationGraph, folds: int, scoring: Mapping[str, Any]
) -> dict[int, CrossValidation]:
    """Measures of the ranker of each setting."""
    from sklearn.exceptions import ConvergenceWarning

    from condrank.exceptions import CondrankWarning

    results = {}
    with progress_bar() as progress, warnings.catch_warnings():
        # Warnings of a fit would come once more for every fold. Those of measures are shown.
        for category in (ConvergenceWarning, CondrankWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", SAID_ALREADY)
        warnings.filterwarnings("error", INTERRUPTED_SEARCH, UserWarning)
        lines = Lines(progress)
        for setting, ranker in rankers.items():
            bar = progress.add_task(f"setting {setting}", total=folds)

            def tell(done: int, total: int | None, setting: int = setting, bar: Any = bar) -> None:
                progress.update(bar, completed=done, total=total)
                lines(f"setting {setting}: {done} of {total} folds")

            try:
                results[setting] = ranker.cross_validate(graph, setting, cv=folds, scoring=scoring, progress=tell)
            except UserWarning:  # the search would end here, and the next fold would begin
                raise KeyboardInterrupt from None
    return results


def _similarity(
    ranker: Any,
    graph: RelationGraph,
    settings: list[int],
    folds: int,
    measures: Mapping[str, Any],
    impute: str | None,
) -> dict[int, CrossValidation]:
    """The same folds, ranked by similarity alone; nothing if no measure or no kernel allows it."""
    from condrank.report.measured import similarity_ranker
    from condrank.tables.ranker import TableRanker

    measures = of_order(measures)
    if not measures or not has_similarity(graph):
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not defined here was not defined for the model, and is said already
        baseline = TableRanker(similarity_ranker(ranker), impute=impute)
        return _cross_validate(dict.fromkeys(settings, baseline), graph, folds, measures)


def _mean(found: CrossValidation, name: str) -> float | None:
    return _number(found.mean(name)) if name in found.scores else None


def _write(rows: Records, measures: Mapping[str, Any], columns: tuple[str, ...]) -> None:
    """Rows on stdout; on a terminal with a legend below them."""
    form = choose_format(None, False, None)
    write_rows(rows, list(rows[0]), form, None)
    if form is Format.table:
        show("\n" + "\n".join(legend(measures, columns)))


def _summary(found: CrossValidation) -> dict[str, Any]:
    return {
        name: {"mean": found.mean(name), "standard_error": found.standard_error(name), "folds": values}
        for name, values in found.scores.items()
    }


def _show_scores(
    ranker: TableRanker,
    graph: RelationGraph,
    measures: Mapping[str, Any],
    saved: Path | None,
    as_json: bool,
    per_query: Path | None,
    form: Format | None,
    safe_csv: bool,
) -> None:
    """Measure a saved model on the nodes and edges of a graph."""
    if takes_matrices(ranker):
        raise ValueError(f"{saved} was fitted to a kernel matrix and cannot score the nodes of a table; use --setting")
    from condrank.model_selection.scoring import judged, of_queries, suited

    queries = graph.objects if ranker.ranker_.rank_by == "incoming" else graph.nodes
    if _all_known(ranker, graph):
        say(
            "note: all of these nodes were in training: on edges of training this measures how well the model fits, "
            "not how well it ranks new nodes; for new nodes add --setting 4 (cross-validation)"
        )
    truth, scores = judged(ranker, graph)
    measures = {name: suited(measure, ranker, truth) for name, measure in measures.items()}
    values = {name: float(measure(truth, scores)) for name, measure in measures.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same as those of the model
        beside = {
            "similarity": similarity_values(ranker, graph, measures),
            "strengths": strength_values(ranker, graph, truth, measures),
        }
    beside = {column: found for column, found in beside.items() if found}
    if as_json:
        write_json({"model": str(saved), "nodes": len(graph.nodes), "edges": graph.n_edges, "scores": values} | beside)
    else:
        rows = [
            {"measure": name, "score": _number(value)}
            | {column: _number(found[name]) if name in found else None for column, found in beside.items()}
            for name, value in values.items()
        ]
        _write(rows, measures, tuple(beside))
    if per_query is not None and form is not None:
        columns = {"query": queries.ids} | {
            name: of_queries(measure, truth, scores) for name, measure in measures.items()
        }
        write_rows(_by_row(columns), list(columns), form, per_query, safe=safe_csv)


def takes_matrices(ranker: TableRanker) -> bool:
    """Whether some nodes of a model are given by kernel values."""
    from condrank.rankers.base import fitted_of

    model = fitted_of(ranker.ranker_).model
    return bool(model.rows.kernel.matrices or model.cols.kernel.matrices)


def graph_has_matrices(graph: RelationGraph) -> bool:
    """Whether some nodes of a graph are a kernel matrix."""
    sides = (graph.nodes, graph.objects)
    return any(nodes.is_kernel or bool(getattr(nodes.base, "kernels", ())) for nodes in sides)


def _all_known(ranker: TableRanker, graph: RelationGraph) -> bool:
    """Whether every edge is between a conditioning node and an object of training."""
    from condrank.model_selection._splitter import listed

    edges = listed(graph)
    sides = ((graph.nodes, edges.sources), (graph.objects, edges.indices))
    for (nodes, used), trained in zip(sides, ranker.domains_, strict=True):
        if nodes.ids is None or trained.nodes.ids is None or (trained.names.places(nodes.ids[used]) < 0).any():
            return False
    return True


def _by_row(columns: Mapping[str, Any]) -> Records:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _number(value: float) -> float:
    return round(float(value), 6)
