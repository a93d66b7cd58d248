"""The tables and the model options of a command, read into a graph and a ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from condrank.cli.options import Kernel, Mirror, Model, Prior, Tables

if TYPE_CHECKING:
    from condrank.diagnosis import Recommendation
    from condrank.graph import RelationGraph


def column_options(tables: Tables) -> dict[str, Any]:
    """The options of `condrank.tables.read_graph` that name columns and say what they mean."""
    same = ("id", "object_id", "source", "target", "value", "weight", "winner", "loser", "tie", "wins")
    lists = ("numeric", "categorical", "text", "drop")
    return {
        **{name: getattr(tables, name) for name in same},
        **{name: getattr(tables, name) or () for name in lists},
        "mirror": None if tables.mirror is Mirror.none else tables.mirror.value,
        "probabilities": True if tables.probabilities else None,
    }


def read_tables(tables: Tables) -> RelationGraph:
    """The graph of the tables; a ValueError says what is wrong with them, by file and row."""
    from condrank.tables import read_graph

    if tables.edges is None:
        raise typer.BadParameter("the table of edges is missing", param_hint="--edges")
    if tables.nodes is None and tables.kernel_matrix is None:
        raise typer.BadParameter("the table of nodes is missing, or --kernel-matrix", param_hint="--nodes")
    given = (tables.nodes, tables.edges, tables.objects, tables.kernel_matrix)
    if given.count("-") > 1:
        raise typer.BadParameter("only one table can come from standard input", param_hint="-")
    options: dict[str, Any] = column_options(tables) | {"objects": tables.objects, "kernel": tables.kernel_matrix}
    return read_graph(tables.nodes, tables.edges, **options)


@dataclass(frozen=True)
class Asked:
    """The model that is asked for.

    Attributes
    ----------
    params : dict
        Parameters of the ranker.
    alpha : float or None
        λ; None if it is to be chosen.
    recommended : Recommendation
        Which of relation and loss were chosen by the labels, and why.
    """

    params: dict[str, Any]
    alpha: float | None
    recommended: Recommendation


def read_model(model: Model, graph: RelationGraph, is_kernel: bool) -> Asked:
    """The model of the options; relation and loss are chosen by the labels of the graph if they are auto."""
    from condrank.diagnosis import recommend
    from condrank.objective.losses import get_loss

    for option, given in (("--kernel", model.kernel), ("--gamma", model.gamma)):
        if is_kernel and given is not None:
            raise typer.BadParameter("has no use beside --kernel-matrix: leave one of them out", param_hint=option)
    recommended = recommend(graph, model.relation.value, model.loss.value)
    params = {
        "relation": recommended.relation,
        "loss": recommended.loss,
        "kernel": "precomputed" if is_kernel else (model.kernel or Kernel.rbf).value,
        "gamma": model.gamma,
        "n_components": _components(model.n_components),
        "prior": None if model.prior is Prior.none else model.prior.value,
        "constant": model.constant,
        "rank_by": model.rank_by.value,
        "random_state": model.seed,
    }
    if model.intercept and get_loss(recommended.loss, True).fits_intercept and recommended.relation != "reciprocal":
        params["fit_intercept"] = True
    return Asked(params, _alpha(model.alpha), recommended)


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


def make_ranker(asked: Asked) -> Any:
    """The ranker that is asked for; one that chooses λ by itself if λ is not given."""
    if asked.alpha is not None:
        from condrank.rankers.conditional import ConditionalRanker

        return ConditionalRanker(**asked.params, alpha=asked.alpha)
    from condrank.model_selection.search import ConditionalRankerCV

    return ConditionalRankerCV(**asked.params, cv="holdout")
