"""The tables and the model options of a command, read into a graph and a ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from condrank.cli.named import check_matrices, named_files
from condrank.cli.options import Mirror, Model, Prior, Tables
from condrank.cli.terminal import fail, say

if TYPE_CHECKING:
    from condrank.diagnosis import Recommendation
    from condrank.frames.edge_columns import EdgeColumns
    from condrank.graph import RelationGraph


# Options that fix the model, so that nothing is searched; and options that a search keeps.
FIXING = ("alpha", "kernel", "object_kernel", "gamma", "n_components", "prior", "constant", "intercept")
NARROWING = ("relation", "loss", "rank_by")


def column_options(tables: Tables) -> dict[str, Any]:
    """The options of `condrank.tables.read_graph` that name columns and say what they mean."""
    same = ("id", "object_id", "source", "target", "value", "weight", "winner", "loser", "tie", "wins")
    lists = ("numeric", "categorical", "text", "drop")
    return {
        **{name: getattr(tables, name) for name in same},
        **{name: getattr(tables, name) or () for name in lists},
        "mirror": None if tables.mirror is Mirror.none else tables.mirror.value,
        "probabilities": True if tables.probabilities else None,
        "unstored": tables.unstored.value,
        "zeros": tables.zeros,
        "date": tables.date,
        "half_life": tables.half_life,
        "database": tables.database,
    }


def read_tables(tables: Tables, allow_missing: bool = False) -> RelationGraph:
    """The graph of the tables; a ValueError says what is wrong with them, by file and row.

    ``allow_missing``: the encoder of a saved model fills missing values in.
    """
    return read_described(tables, allow_missing)[0]


def read_described(tables: Tables, allow_missing: bool = False) -> tuple[RelationGraph, EdgeColumns]:
    """The graph of the tables, and the columns of the edges by their role."""
    from condrank.tables.graphs import describe_tables

    if tables.edges is None:
        raise typer.BadParameter("the table of edges is missing", param_hint="--edges")
    if not has_nodes(tables):
        raise typer.BadParameter("the table of nodes is missing, or --view, or --kernel-matrix", param_hint="--nodes")
    sources: dict[str, Any] = {
        "objects": tables.objects,
        "views": named_files(tables.view, "--view") if tables.view else None,
        "object_views": named_files(tables.object_view, "--object-view") if tables.object_view else None,
        "kernel": check_matrices(tables.kernel_matrix, "--kernel-matrix") if tables.kernel_matrix else None,
        "object_kernel": check_matrices(tables.object_kernel_matrix, "--object-kernel-matrix")
        if tables.object_kernel_matrix
        else None,
    }
    given = [tables.nodes, tables.edges]
    for source in sources.values():
        given += source.values() if isinstance(source, dict) else [source]
    if given.count("-") > 1:
        raise typer.BadParameter("only one table can come from standard input", param_hint="-")
    options = column_options(tables) | {"allow_missing": allow_missing or tables.impute is not None}
    return describe_tables(tables.nodes, tables.edges, **options, **sources)


def has_nodes(tables: Tables) -> bool:
    """Whether nodes are given, in any form."""
    return bool(tables.nodes is not None or tables.kernel_matrix or tables.view)


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
    impute : str or None
        How missing values are filled in.
    is_fixed : bool
        Whether the kernel, λ or another part of the model is given, so that there is nothing to search for.
    is_narrowed : bool
        Whether relation, loss or ``rank_by`` is given, which a search then keeps.
    """

    params: dict[str, Any]
    alpha: float | None
    recommended: Recommendation
    impute: str | None = None
    is_fixed: bool = False
    is_narrowed: bool = False

    def is_searched(self, time_limit: float, quick: bool) -> bool:
        """Whether there is something to search for, and time to do it."""
        return not self.is_fixed and not quick and time_limit > 0


def check_model(model: Model) -> None:
    """Refuse wrong values of the options before the tables are read."""
    _alpha(model.alpha)
    _components(model.n_components)
    kernel, _ = _kernel(model.kernel, "--kernel"), _kernel(model.object_kernel, "--object-kernel")
    if kernel is not None and not isinstance(kernel, str) and model.gamma is not None:
        fail("--gamma is for a kernel by name: write it in the expression, as in --kernel 'RBF(gamma=0.1)'", 2)


def read_model(model: Model, graph: RelationGraph, tables: Tables) -> Asked:
    """The model of the options; relation and loss are chosen by the labels of the graph if they are auto."""
    from condrank.diagnosis import recommend
    from condrank.objective.losses import get_loss

    kernels = _kernels(model, graph)
    recommended = recommend(graph, model.relation.value, model.loss.value)
    has_constant = not isinstance(kernels[0], str) and bool(kernels[0].constant)
    params = {
        "relation": recommended.relation,
        "loss": recommended.loss,
        "kernel": kernels[0],
        "gamma": model.gamma if isinstance(kernels[0], str) and kernels[0] != "precomputed" else None,
        "n_components": _components(model.n_components),
        "prior": None if model.prior is Prior.none else model.prior.value,
        "constant": model.constant and not has_constant,
        "rank_by": model.rank_by.value,
        "random_state": model.seed,
        "object_kernel": kernels[1],
    }
    if model.intercept and get_loss(recommended.loss, True).fits_intercept and recommended.relation != "reciprocal":
        params["fit_intercept"] = True
    default = Model()
    fixed = any(getattr(model, name) != getattr(default, name) for name in FIXING)
    narrowed = any(getattr(model, name) != getattr(default, name) for name in NARROWING)
    impute = None if tables.impute is None else tables.impute.value
    return Asked(params, _alpha(model.alpha), recommended, impute, fixed, narrowed)


def _kernels(model: Model, graph: RelationGraph) -> tuple[Any, Any]:
    """Kernels of the nodes and of the objects: as given, or by the form of the nodes."""
    from condrank.nodes.views import Views

    kernel = _kernel(model.kernel, "--kernel")
    takes_matrix = not isinstance(kernel, str | None) and bool(kernel.matrices)
    for option, given in (("--kernel", kernel), ("--gamma", model.gamma)):
        if graph.nodes.is_kernel and given is not None and not takes_matrix:
            raise typer.BadParameter("has no use beside --kernel-matrix: leave one of them out", param_hint=option)
    chosen = _default(graph.nodes, model.gamma) if kernel is None else kernel
    own = _kernel(model.object_kernel, "--object-kernel")
    if own is not None and not graph.is_two_domain:
        fail("--object-kernel is for nodes of a second kind: give them with --objects or --object-view", 2)
    if own is None and graph.is_two_domain:
        as_nodes = isinstance(kernel, str) and kernel != "precomputed" and not isinstance(graph.objects.base, Views)
        own = None if as_nodes and not graph.objects.is_kernel else _default(graph.objects, model.gamma)
    said = [
        f"{word} {one} (one for each view)"
        for word, given, one, nodes in (
            ("kernel", model.kernel, chosen, graph.nodes),
            ("object kernel", model.object_kernel, own, graph.objects),
        )
        if given is None and one is not None and isinstance(nodes.base, Views)
    ]
    if said:
        say("; ".join(said))
    return chosen, own


def _default(nodes: Any, gamma: float | None) -> Any:
    """The kernel for nodes of a form and kind, with a width that is given; a matrix as it is."""
    from condrank.tables import default_kernel

    return "precomputed" if nodes.is_kernel else default_kernel(nodes, "median" if gamma is None else gamma)


def _kernel(text: str | None, option: str) -> Any:
    """A kernel by name, or the expression of a text."""
    from condrank.kernels import parse_kernel
    from condrank.kernels.shorthand import NAMES

    if text is None or text in NAMES:
        return text
    try:
        return parse_kernel(text)
    except ValueError as error:
        fail(f"{option}: {error}", 2)


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


def make_search(asked: Asked, time_limit: float, step: Any, setting: int = 4) -> Any:
    """The search for what is asked; it keeps a given relation and loss, and the logistic loss of games.

    ``step`` is called with what a search does, and with 0 for news of it.
    """
    from condrank.model_selection.ranker_search import RankerSearch
    from condrank.rankers.conditional import ConditionalRanker

    kept = asked.is_narrowed or asked.params["loss"] == "logistic"
    given = ConditionalRanker(**asked.params, alpha=1.0) if kept else None
    step("searching")
    best: list[float] = []

    def tell(row: Any) -> None:
        best.append(row.loss)
        models = f"{len(best)} model{'s' if len(best) > 1 else ''}"
        step(f"searching: {models}, best loss {min(best):.4f}; Ctrl-C ends", 0)  # with a bar, in 80 columns

    seed = asked.params["random_state"]
    return RankerSearch(given, setting=setting, time_limit=time_limit, callback=tell, random_state=seed)


def make_ranker(asked: Asked) -> Any:
    """The ranker that is asked for; one that chooses λ by itself if λ is not given."""
    if asked.alpha is not None:
        from condrank.rankers.conditional import ConditionalRanker

        return ConditionalRanker(**asked.params, alpha=asked.alpha)
    from condrank.model_selection.search import ConditionalRankerCV

    return ConditionalRankerCV(**asked.params, cv="holdout")
