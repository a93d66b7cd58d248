"""`write_report`: measure, draw and write the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from condrank._version import __version__
from condrank.base.checks import check_count
from condrank.base.dask import is_dask
from condrank.base.files import atomic_open
from condrank.diagnosis import diagnose
from condrank.explorer import Page, Section, fill_page
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.model_selection.folds import innermost
from condrank.plots.predictions import check_graph, ranks_incoming
from condrank.report import pictures, sections
from condrank.report.calibration import calibration, held_out_games
from condrank.report.card import describe_known, describe_model, known_share, limits, model_facts
from condrank.report.certainty import certainty
from condrank.report.explorer import explorer_data
from condrank.report.extremes import extremes
from condrank.report.first_five import first_five
from condrank.report.headline import hardest, headline
from condrank.report.leaders import best_matches, find_leaders, is_contest, leaderboard
from condrank.report.measured import SETTINGS, measure_settings, similarity_of
from condrank.report.probability import scale_of
from condrank.report.rankings import Rankings, encoded_graph, modelled_graph, rank_sample, shown_table
from condrank.report.relations import relation_figures
from condrank.report.searched import searched
from condrank.report.words import Words, words_of
from condrank.tables.ranker import TableRanker

#: Conditioning nodes that are ranked, and objects of each that are kept.
MAX_QUERIES, TOP = 2000, 50
#: Headings of the sections, and their names in the navigation.
TITLES = {
    "summary": ("", "Summary"),
    "leaders": ("Leaderboard", "Leaderboard"),
    "matches": ("Best matches", "Best matches"),
    "calibration": ("Are the chances true?", "Calibration"),
    "certainty": ("How sure", "How sure"),
    "search": ("What the search tried", "Search"),
    "settings": ("The four settings", "Four settings"),
    "pictures": ("Pictures", "Pictures"),
    "extremes": ("Worst and best", "Worst and best"),
    "card": ("Model card", "Model card"),
    "diagnosis": ("Diagnosis of the relation", "Diagnosis"),
}
#: What comes after the explorer.
AFTER = ("search", "settings", "pictures", "extremes", "card", "diagnosis")


def write_report(
    ranker: TableRanker,
    graph: RelationGraph,
    path: Any,
    *,
    title: str = "Conditional ranking report",
    settings: Iterable[int] = tuple(SETTINGS),
    folds: int = 5,
    max_nodes: int = 2000,
    max_queries: int = MAX_QUERIES,
    top: int = TOP,
    classes: str | None = None,
    step: Callable[[str], None] | None = None,
    max_folds: int | None = None,
    words: Sequence[str | None] = (None, None),
) -> Path:
    """Write one HTML file about a fitted ranker and a graph; it needs no network and no other file.

    One sentence first; then a leaderboard (contests) or the best matches, calibration, how sure, an explorer that
    compares any two objects; then the leaderboard of the search that chose the model, the four settings, pictures,
    worst and best conditioning nodes, model card and diagnosis of the relation. If writing fails, the old file stays.

    Parameters
    ----------
    ranker : TableRanker
        Fitted or loaded. Cross-validation fits new rankers with its settings.
    graph : RelationGraph
        The data of the report: the training graph or another one, as `condrank.tables.read_graph` gives it.
    path : path-like
        The file to write.
    title : str
        Title of the page.
    settings : iterable of {1, 2, 3, 4}
        Settings to cross-validate in; none: no cross-validation.
    folds : int
        Folds of each.
    max_nodes : int
        If the graph has more nodes, cross-validation draws this number of them (of each domain) at random, and measures
        only two folds if the relation is sparse: a sample would have too few edges left.
    max_queries : int
        Conditioning nodes that are ranked for losses and explorer, drawn at random if there are more.
    top : int
        Objects that the explorer has for each of them.
    classes : str, optional
        Column of the nodes by which heat maps are ordered and coordinates coloured.
    step : callable, optional
        Called with the name of each step.
    max_folds : int, optional
        Most folds that are measured in each setting; by default all.
    words : sequence of two str, optional
        Plural nouns for the nodes where edges start and for those where they end, such as ``("players", None)``. By
        default the names of the columns of ids.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> from condrank import ConditionalRanker, TableRanker
    >>> from condrank.report import write_report
    >>> players = {"id": list("abcdef"), "age": [31, 25, 40, 22, 35, 28]}
    >>> games = {"winner": list("abacddeaf"), "loser": list("bccdefffe")}
    >>> ranker = TableRanker(ConditionalRanker("reciprocal", "regression", constant=True)).fit(players, games)
    >>> write_report(ranker, ranker.graph_, "report.html", settings=[]).name
    'report.html'
    """
    check_graph(graph)
    if not isinstance(ranker, TableRanker):
        raise ValueError(f"ranker must be a fitted TableRanker, got {type(ranker).__name__}")
    check_is_fitted(ranker, "ranker_")
    if is_dask(graph.nodes.base):
        raise ValueError("graph must be in memory, got a distributed one: report on a sample of it")
    check_count("max_queries", max_queries)
    check_count("top", top)
    chosen = list(settings)
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"path must be a file to write, got the folder {target}")
    groups = _column(graph, classes)
    target.parent.mkdir(parents=True, exist_ok=True)  # before the long work: it may fail
    report = step or (lambda _: None)

    report("ranking")
    fitted = ranker.ranker_
    nouns = words_of(ranker, graph, words)
    modelled = modelled_graph(ranker, graph)
    encoded = encoded_graph(ranker, modelled)
    rankings = rank_sample(fitted, encoded, top, max_queries)
    share = known_share(ranker, graph)
    known = describe_known(share)
    limited: dict[str, Any] = {"folds": folds, "max_nodes": max_nodes, "max_folds": max_folds}
    measured, part, warned = measure_settings(ranker, modelled, chosen, step=report, **limited)
    scale = scale_of(fitted, graph)
    parts = {"summary": headline(graph, rankings, measured, nouns, known, describe_model(fitted))}
    if is_contest(fitted, encoded):
        parts["leaders"] = leaderboard(find_leaders(fitted, encoded, scale), fitted, encoded, nouns)
    else:
        parts["matches"] = best_matches(rankings, nouns)
    hard = hardest(measured)
    if scale is not None and hard is not None:
        games = held_out_games(ranker, part, hard.setting, folds, scale, report)
        parts["calibration"] = calibration(games)
    parts["certainty"] = certainty(measured, rankings, nouns, known)
    report("diagnosing")
    diagnosed = diagnose(graph)
    report("drawing")
    drawn = [relation_figures(fitted, encoded, groups, nouns, known)] if graph.n_edges else []
    drawn += [pictures.order_and_cycles(diagnosed, nouns)] if "leaders" in parts else []
    drawn += [pictures.loss_curve(fitted)]
    drawn += [pictures.coordinates(fitted, encoded, groups, nouns)] if min(graph.shape) > 1 else []
    report("writing")
    kernel = innermost(similarity_of(ranker)).kernel
    use = join([tag("h3", "Intended use and limits"), limits(ranker, measured, share)])
    relation, loss = (getattr(fitted, name, None) for name in ("relation", "loss"))
    tried = getattr(ranker, "search_", None)
    parts |= {} if tried is None else {"search": searched(tried)}
    parts |= {
        "settings": sections.settings(measured, warned, folds, modelled, part, kernel),
        "pictures": tag("div", *(one for one in drawn if one is not None), class_="figures"),
        "extremes": extremes(fitted, encoded, rankings, measured, nouns),
        "card": join([model_facts(ranker, graph), use]),
        "diagnosis": sections.diagnosis(diagnosed, relation, loss),
    }
    first = graph.objects if ranks_incoming(fitted) else graph.nodes
    sure = first_five(fitted, encoded, rankings)
    data = explorer_data(rankings, first, not graph.is_two_domain, scale, sure)
    page = _fill(title, parts, data, _left_out(rankings, len(data["queries"]), nouns), nouns)
    _write(target, page.html.encode("utf-8", errors="replace"))
    return target


def _column(graph: RelationGraph, name: str | None) -> np.ndarray | None:
    """A column of the nodes of a single domain, as text."""
    if name is None:
        return None
    table = shown_table(graph.nodes)
    known = [] if table is None else list(table.kinds)
    if table is None or name not in known:
        raise ValueError(f"classes must be a column of the nodes, one of {known}, got {name!r}")
    if graph.is_two_domain:
        raise ValueError("classes are for nodes of a single domain, and the graph has two")
    return np.array([str(one) for one in table.columns[name].tolist()])


def _left_out(rankings: Rankings, shown: int, words: Words) -> str:
    """What the explorer has, and what it leaves out."""
    n_objects = len(rankings.object_ids)
    kept = rankings.indices.shape[1]
    nodes = "all" if shown == rankings.n_queries else f"{shown:,} of the"
    objects = "all" if kept >= n_objects - 1 else f"the first {kept} of"
    drawn = "" if shown == rankings.n_queries else ", drawn at random"
    return (
        f"Here are {nodes} {rankings.n_queries:,} {words.queries}{drawn}, with {objects} {n_objects:,} "
        f"{words.objects} each. Tick two of them to compare them."
    )


def _fill(title: str, parts: dict[str, Markup], data: dict[str, Any], left_out: str, words: Words) -> Page:
    written = datetime.now(UTC)
    when = tag("time", f"{written:%Y-%m-%d %H:%M} UTC", datetime=f"{written:%Y-%m-%dT%H:%MZ}")
    made = [Section(name, *TITLES[name], body) for name, body in parts.items()]
    return fill_page(
        title,
        data,
        introduction=left_out,
        about=join([f"condrank {__version__} · written ", when]),
        sections=[one for one in made if one.name not in AFTER],
        after=[one for one in made if one.name in AFTER],
        style=files("condrank.report").joinpath("sections.css").read_text("utf-8"),
        footer="Everything is in this file: it loads nothing.",
        label=f"One of the {words.queries}",
    )


def _write(target: Path, page: bytes) -> None:
    """Write the whole page, or leave the file as it was."""
    with atomic_open(target, "wb") as file:
        file.write(page)
