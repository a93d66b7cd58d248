"""`write_report`: measure, draw and write the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from condrank.report.card import describe_known, known_share, limits, model_facts
from condrank.report.explorer import explorer_data
from condrank.report.measured import SETTINGS, measure_settings, similarity_of
from condrank.report.rankings import Rankings, encoded_graph, modelled_graph, rank_sample, shown_table
from condrank.tables.ranker import TableRanker

#: Conditioning nodes that are ranked, and objects of each that are kept.
MAX_QUERIES, TOP = 2000, 50
#: Headings of the sections, and their names in the navigation.
TITLES = {
    "summary": ("Summary", "Summary"),
    "card": ("Model card", "Model card"),
    "diagnosis": ("Diagnosis of the relation", "Diagnosis"),
    "settings": ("The four settings", "Four settings"),
    "pictures": ("Pictures", "Pictures"),
    "extremes": ("Worst and best conditioning nodes", "Worst and best"),
}


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
) -> Path:
    """Write one HTML file about a fitted ranker and a graph; it needs no network and no other file.

    Model card, diagnosis of the relation, cross-validated losses in the four settings, pictures, worst and best
    conditioning nodes, and an explorer of rankings. If writing fails, the old file stays.

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
        Cross-validation draws this number of nodes (of each domain) at random if the graph has more.
    max_queries : int
        Conditioning nodes that are ranked for losses and explorer, drawn at random if there are more.
    top : int
        Objects that the explorer has for each of them.
    classes : str, optional
        Column of the nodes by which heat maps are ordered and coordinates coloured.
    step : callable, optional
        Called with the name of each step.

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
    modelled = modelled_graph(ranker, graph)
    encoded = encoded_graph(ranker, modelled)
    rankings = rank_sample(fitted, encoded, top, max_queries)
    share = known_share(ranker, graph)
    known = describe_known(share)
    measured, part, warned = measure_settings(ranker, modelled, chosen, folds=folds, max_nodes=max_nodes, step=report)
    report("diagnosing")
    found = sections.diagnosis(diagnose(graph), getattr(fitted, "relation", None), getattr(fitted, "loss", None))
    report("drawing")
    drawn: list[pictures.Picture | None] = [pictures.heat_maps(fitted, encoded, groups, known)]
    if getattr(fitted, "relation", None) == "reciprocal":
        drawn.append(pictures.hodge(encoded))
    if not np.isnan(rankings.losses).all():
        drawn.append(pictures.loss_histogram(rankings, known))
    drawn.append(pictures.loss_shares(measured))
    if min(graph.shape) > 1:
        drawn.append(pictures.coordinates(fitted, encoded, groups))
    drawn.append(pictures.loss_curve(fitted))
    report("writing")
    kernel = innermost(similarity_of(ranker)).kernel
    use = join([tag("h3", "Intended use and limits"), limits(ranker, measured, share)])
    parts = {
        "summary": sections.summary(graph, rankings, measured, known),
        "card": join([model_facts(ranker, graph), use]),
        "diagnosis": found,
        "settings": sections.settings(measured, warned, folds, modelled, part, kernel),
        "pictures": tag("div", *(one.figure() for one in drawn if one is not None), class_="figures"),
        "extremes": sections.extremes(fitted, encoded, rankings, measured),
    }
    first = graph.objects if ranks_incoming(fitted) else graph.nodes
    data = explorer_data(rankings, first, not graph.is_two_domain)
    page = _fill(title, parts, data, _left_out(rankings, len(data["queries"])))
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


def _left_out(rankings: Rankings, shown: int) -> str:
    """What the explorer has, and what it leaves out."""
    n_objects = len(rankings.object_ids)
    kept = rankings.indices.shape[1]
    nodes = "all" if shown == rankings.n_queries else f"{shown:,} of the"
    objects = "all" if kept >= n_objects - 1 else f"the first {kept} of"
    drawn = "" if shown == rankings.n_queries else ", drawn at random"
    return (
        f"Pick a node to see which objects the model ranks first for it. Here are {nodes} {rankings.n_queries:,} "
        f"conditioning nodes{drawn}, with {objects} {n_objects:,} objects each."
    )


def _fill(title: str, parts: dict[str, Markup], data: dict[str, Any], left_out: str) -> Page:
    written = datetime.now(UTC)
    when = tag("time", f"{written:%Y-%m-%d %H:%M} UTC", datetime=f"{written:%Y-%m-%dT%H:%MZ}")
    return fill_page(
        title,
        data,
        introduction=left_out,
        about=join([f"condrank {__version__} · written ", when]),
        sections=[Section(name, *TITLES[name], body) for name, body in parts.items()],
        style=files("condrank.report").joinpath("sections.css").read_text("utf-8"),
        footer="Everything is in this file: it loads nothing.",
    )


def _write(target: Path, page: bytes) -> None:
    """Write the whole page, or leave the file as it was."""
    with atomic_open(target, "wb") as file:
        file.write(page)
