"""Tables and settings that a command was given, read into a graph and a ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from condrank.cli.options import Kernel, Loss, Mirror, Model, Prior, Relation, Tables
from condrank.cli.terminal import say

if TYPE_CHECKING:
    from condrank.graph import RelationGraph

# λ to try where each of them is a fit of its own, and how exactly: enough to tell which of them ranks best.
ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
SEARCH = {"alphas": ALPHAS, "tol": 1e-2, "max_iter": 100}
# Up to so many edges: how often to hold out, and which share of the nodes (or edges). Of many edges half is enough to
# learn λ from, which does not grow with their number, and once is enough to tell.
HOLDOUTS = ((5_000, 5, 0.3), (20_000, 3, 0.3), (float("inf"), 1, 0.5))
# The least of edges among held-out nodes.
FEW_EDGES = 100


def column_options(tables: Tables) -> dict[str, Any]:
    """What `condrank.tables.read_graph` takes beside the tables of nodes and edges."""
    same = ("id", "object_id", "source", "target", "value", "weight", "winner", "loser", "tie", "wins")
    lists = ("numeric", "categorical", "text", "drop")
    return {
        **{name: getattr(tables, name) for name in same},
        **{name: getattr(tables, name) or () for name in lists},
        "mirror": None if tables.mirror is Mirror.none else tables.mirror.value,
        "probabilities": True if tables.probabilities else None,
    }


def read_tables(tables: Tables) -> RelationGraph:
    """The graph of the tables; a ValueError tells what is wrong with them, by file and row."""
    from condrank.tables import read_graph

    if tables.edges is None:
        raise typer.BadParameter("the table of edges is missing", param_hint="--edges")
    if tables.nodes is None and tables.kernel_matrix is None:
        raise typer.BadParameter("the table of nodes is missing, or --kernel-matrix", param_hint="--nodes")
    given = (tables.nodes, tables.edges, tables.objects, tables.kernel_matrix)
    if given.count("-") > 1:
        raise typer.BadParameter("standard input can be one table only", param_hint="-")
    options: dict[str, Any] = column_options(tables) | {"objects": tables.objects, "kernel": tables.kernel_matrix}
    return read_graph(tables.nodes, tables.edges, **options)


@dataclass(frozen=True)
class Asked:
    """A ranker's parameters, and λ, or None where it is to be chosen."""

    params: dict[str, Any]
    alpha: float | None


def read_model(model: Model, graph: RelationGraph, is_kernel: bool) -> Asked:
    """Parameters of the ranker; a relation and a loss that are left to the labels are told on stderr."""
    for option, given in (("--kernel", model.kernel), ("--gamma", model.gamma)):
        if is_kernel and given is not None:
            raise typer.BadParameter("has no use beside --kernel-matrix: leave one of them out", param_hint=option)
    relation, loss = model.relation.value, model.loss.value
    if Relation.auto in (relation, loss):
        relation, loss = _recommended(relation, loss, graph)
    params = {
        "relation": relation,
        "loss": loss,
        "kernel": "precomputed" if is_kernel else (model.kernel or Kernel.rbf).value,
        "gamma": model.gamma,
        "n_components": _components(model.n_components),
        "prior": None if model.prior is Prior.none else model.prior.value,
        "constant": model.constant,
        "rank_by": model.rank_by.value,
        "random_state": model.seed,
    }
    return Asked(params, _alpha(model.alpha))


def _recommended(relation: str, loss: str, graph: RelationGraph) -> tuple[str, str]:
    from condrank.diagnosis import diagnose

    found = diagnose(graph)
    told, reasons = [], []
    if relation == Relation.auto:
        relation = found.recommended_relation
        told.append(f"relation {relation}")
        reasons.append(found.reasons[0])
    if loss == Loss.auto:
        loss, reason = found.recommended_loss, next(iter(found.loss_reasons), "There is nothing against it.")
        if loss == "logistic" and relation != "reciprocal":
            loss = "ranking"
            reason = f"The logistic loss, for wins and losses, needs a reciprocal relation, not a {relation} one."
        told.append(f"loss {loss}")
        reasons.append(reason)
    say(f"{' and '.join(told)}, by the labels: {' '.join(reasons)}")
    return relation, loss


def _alpha(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"must be a number or auto, got {text!r}", param_hint="--alpha") from None


def _components(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"must be a number or auto, got {text!r}", param_hint="--n-components") from None


def make_ranker(asked: Asked, graph: RelationGraph) -> tuple[Any, str]:
    """A ranker for these parameters, and what λ is chosen by: one that searches where λ is to be chosen.

    On complete graphs leaving each row or node out is exact and cheap. Otherwise nodes are held out, or, where too few
    edges are among those, edges; and λ is 1 where nothing that could be held out tells.
    """
    from condrank.model_selection.search import ConditionalRankerCV
    from condrank.rankers.conditional import ConditionalRanker

    if asked.alpha is not None:
        return ConditionalRanker(**asked.params, alpha=asked.alpha), "as given"
    ranker = ConditionalRanker(**asked.params)
    if plan_of(ranker, graph).solver == "closed_form":
        left_out = "row" if asked.params["relation"] == "ordinary" else "node"
        return ConditionalRankerCV(**asked.params), f"leaving out one {left_out} at a time"
    cv, what = _hold_out(graph, asked)
    return (ranker, what) if cv is None else (ConditionalRankerCV(**asked.params, **SEARCH, cv=cv), what)


def plan_of(ranker: Any, graph: RelationGraph) -> Any:
    """The plan of a fit; a ValueError where it does not fit into memory."""
    from condrank.base.memory import available_memory, readable
    from condrank.tables.ranker import TableRanker

    plan, free = TableRanker(ranker).plan(graph), available_memory()
    if free is not None and plan.memory > free:
        raise ValueError(
            f"this fit needs about {readable(plan.memory)} ({plan.coordinates}), but {readable(free)} are available; "
            "--n-components auto or --kernel linear needs less"
        )
    return plan


def _hold_out(graph: RelationGraph, asked: Asked) -> tuple[Any, str]:
    from condrank.model_selection import SettingShuffleSplit

    rank_by, seed = asked.params["rank_by"], asked.params["random_state"]
    _, times, share = next(one for one in HOLDOUTS if graph.n_edges <= one[0])
    together = True if asked.params["relation"] != "ordinary" else None
    for setting, least, what in ((4, FEW_EDGES, "nodes"), (1, 1, "edges")):
        cv = SettingShuffleSplit(
            setting,
            times,
            test_size=share,
            rank_by=rank_by,
            random_state=seed,
            both_directions=together if setting == 1 else None,
        )
        if _tells(cv, graph, rank_by, least):
            return cv, f"holding out {share:.0%} of the {what}" + (f", {times} times" if times > 1 else "")
    return None, "nothing to choose it by: too few edges to hold some out"


def _tells(cv: Any, graph: RelationGraph, rank_by: str, least: int) -> bool:
    """Whether every holdout has edges to learn from and, in all, something to rank."""
    import numpy as np

    from condrank.model_selection._splitter import listed

    something = False
    try:
        for _, test in cv.split(graph):
            edges = listed(test)
            queries, n = (edges.sources, test.shape[0]) if rank_by == "outgoing" else (edges.indices, test.shape[1])
            low, high = np.full(n, np.inf), np.full(n, -np.inf)
            np.minimum.at(low, queries, edges.values)
            np.maximum.at(high, queries, edges.values)
            something |= bool((high > low).any())
            if test.n_edges < least:
                return False
    except ValueError:  # a splitter's word for too few nodes, or for a holdout without edges
        return False
    return something
