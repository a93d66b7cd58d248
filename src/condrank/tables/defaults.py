"""One sensible model for a graph of tables: a kernel for each kind of column; relation, loss and λ by the data."""

from __future__ import annotations

from typing import Any

from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.kernels import RBF, Cosine, Kernel, Precomputed, Unit, read_kernel
from condrank.kernels.composed import weighted_sum
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views
from condrank.tables.encoder import NUMBERS_VIEW, TEXT_VIEW, TableEncoder


def default_kernel(nodes: Nodes, gamma: float | str = "median", split: bool = True) -> Kernel:
    """The kernel for nodes that nobody has chosen one for.

    Cosine for texts and sparse features, ``RBF("median")`` for other columns, a matrix as it is. A table with texts
    and other columns gets the sum of both, ``RBF("median", view="numbers") + Cosine(view="text")``, for which a
    `TableEncoder` splits it; views get a sum over them, with matrices scaled to a diagonal of ones.

    Parameters
    ----------
    nodes : Nodes
        Nodes of a graph, encoded or not.
    gamma : float or "median"
        Width of every RBF.
    split : bool
        Whether a table will be split; False for an encoder of the caller's own, which makes one array.
    """
    if not isinstance(nodes.base, Views):
        if nodes.is_kernel:
            return Precomputed()
        if split and is_mixed(nodes):
            return RBF(gamma, view=NUMBERS_VIEW) + Cosine(view=TEXT_VIEW)
        return Cosine() if _has_texts(nodes.base) else RBF(gamma)
    kernels: list[Kernel] = []
    for view, part in nodes.base.parts.items():
        if view in nodes.base.kernels:
            kernels.append(Unit(Precomputed(view=view)))
        else:
            kernels.append(Cosine(view=view) if _has_texts(part) else RBF(gamma, view=view))
    return weighted_sum([(1.0, kernel) for kernel in kernels])


def _has_texts(part: Any) -> bool:
    """Whether some columns are texts, or the features are sparse, as those of texts are."""
    return (isinstance(part, Table) and "text" in part.kinds.values()) or hasattr(part, "indptr")


def is_mixed(nodes: Nodes) -> bool:
    """Whether nodes are a table with texts and other columns."""
    return isinstance(nodes.base, Table) and 0 < list(nodes.base.kinds.values()).count("text") < len(nodes.base.kinds)


def is_split(nodes: Nodes, kernel: Any, encoder: Any) -> bool:
    """Whether a table with texts and other columns becomes two views, because the kernel or the encoder asks for it."""
    if not is_mixed(nodes) or not can_split(encoder):
        return False
    named = read_kernel(kernel).feature_views if isinstance(kernel, str | Kernel) else frozenset[str | None]()
    return bool({NUMBERS_VIEW, TEXT_VIEW} & named) or (encoder is not None and encoder.split)


def can_split(encoder: Any) -> bool:
    """Whether an encoder of tables can make two views of one: the default and any `TableEncoder` can."""
    return encoder is None or isinstance(encoder, TableEncoder)


def default_ranker(graph: RelationGraph, encoders: tuple[Any, Any] = (None, None)) -> Any:
    """One sensible model: relation and loss by the labels, kernels by the columns, λ on held-out data.

    Games get the logistic loss. Nodes get a strength of their own (``constant``), and values a common intercept.
    ``encoders`` are those that the caller gives for nodes and objects.
    """
    from condrank.diagnosis import recommend
    from condrank.model_selection.search import ConditionalRankerCV
    from condrank.objective.losses import get_loss

    found = recommend(graph)
    params: dict[str, Any] = {"relation": found.relation, "loss": found.loss}
    params["kernel"] = default_kernel(graph.nodes, split=can_split(encoders[0]))
    if graph.is_two_domain:
        params["object_kernel"] = default_kernel(graph.objects, split=can_split(encoders[1]))
    if get_loss(found.loss, True).fits_intercept and found.relation != "reciprocal":
        params["fit_intercept"] = True
    return ConditionalRankerCV(**params, cv="holdout", constant=True)
