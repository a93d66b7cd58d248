"""Which transformer the nodes of a graph get, for which kernels: an encoder for tables, one for each view, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.graph.transformer import UNCHANGED, NodeTransformer, check_transformer
from condrank.kernels import Kernel, read_kernel
from condrank.nodes.similarity import check_kernel
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views
from condrank.tables.defaults import can_split, is_mixed, is_split
from condrank.tables.encoder import TableEncoder


def make_transformer(
    graph: RelationGraph,
    encoder: Any,
    object_encoder: Any,
    split: tuple[bool, bool] = (False, False),
    impute: str | None = None,
) -> NodeTransformer | None:
    """Transformer of a graph's nodes: a `ViewEncoder` for views, the given encoder or a `TableEncoder` for tables.

    Plain features and texts are encoded only if an encoder is given, kernel matrices never. None if nothing is.
    """
    encoder = _imputing(encoder, impute, "encoder")
    object_encoder = object_encoder if object_encoder is None else _imputing(object_encoder, impute, "object_encoder")
    made = [_side_encoder(graph.nodes, encoder, "encoder", split[0]), None]
    if graph.is_two_domain:
        given, name = (encoder, "encoder") if object_encoder is None else (object_encoder, "object_encoder")
        made[1] = _side_encoder(graph.objects, given, name, split[1])
    elif object_encoder is not None:
        check_transformer("object_encoder", object_encoder)
        made[1] = object_encoder
    if all(one is None or one is UNCHANGED for one in made):
        return None
    return NodeTransformer(*made)


def _imputing(encoder: Any, impute: str | None, name: str) -> Any:
    """The encoder with ``impute``, if it is given."""
    if impute is None:
        return encoder
    if encoder is None:
        return TableEncoder(impute=impute)
    if not isinstance(encoder, TableEncoder):
        raise ValueError(f"impute={impute!r} is for a TableEncoder, got {name}={encoder!r}, which has to impute itself")
    fresh: Any = clone(encoder)
    return fresh.set_params(impute=impute)


def imputes(encoder: Any) -> bool:
    """Whether an encoder, or one of those of views, fills missing values in."""
    if isinstance(encoder, Mapping):
        return any(imputes(one) for one in encoder.values())
    of_views = getattr(encoder, "encoders_", None) or getattr(encoder, "encoder", {})
    return getattr(encoder, "impute", None) is not None or imputes(of_views)


def _side_encoder(nodes: Nodes, given: Any, name: str, split: bool) -> Any:
    if isinstance(given, str) and given != UNCHANGED:
        raise ValueError(f"{name} must be a transformer, 'passthrough' or None, got {given!r}")
    if isinstance(nodes.base, Views):
        from condrank.tables.view_encoder import ViewEncoder

        given = given.encoder if isinstance(given, ViewEncoder) else given
        return ViewEncoder(given) if nodes.is_raw else UNCHANGED
    if isinstance(given, Mapping):
        raise ValueError(f"{name} must be a transformer, 'passthrough' or None, got a dict, which is for views")
    if isinstance(nodes.base, Table):
        if given == UNCHANGED:
            nodes.base.refuse_others()
            return TableEncoder(standardise=False)
        given = TableEncoder() if given is None else given
        if split:
            fresh: Any = clone(given)
            given = fresh.set_params(split=True)
    elif given is None or isinstance(given, TableEncoder) or given == UNCHANGED or nodes.is_kernel:
        return UNCHANGED
    check_transformer(name, given)
    return given


def fitted_transformer(encoder: Any, object_encoder: Any) -> NodeTransformer:
    """A transformer of graphs from fitted encoders."""
    made = NodeTransformer(encoder, object_encoder)
    made.transformer_, made.object_transformer_ = encoder, object_encoder
    return made


def takes_matrix(kernel: Any) -> bool:
    """Whether a kernel parameter has a part that is given as a matrix."""
    if not isinstance(kernel, str | Kernel):
        return False
    return bool(read_kernel(kernel).matrices)


def check_matrices(ranker: Any, options: dict[str, Any]) -> None:
    """Refuse a kernel matrix for a ranker that takes none, before anything is read."""
    if ranker is None:
        return
    kernel = getattr(ranker, "kernel", "precomputed")
    given = {"kernel": kernel, "object_kernel": getattr(ranker, "object_kernel", None) or kernel}
    for option, one in given.items():
        if options.get(option) is not None and not takes_matrix(one):
            raise ValueError(
                f"a {option}= of the nodes needs a ranker with {option}='precomputed', or an expression with "
                f"Precomputed(), got {one!r}: TableRanker(ConditionalRanker({option}='precomputed'))"
            )


def check_kernels(ranker: Any, graph: RelationGraph, encoders: tuple[Any, Any]) -> tuple[bool, bool]:
    """Whether the tables of nodes and objects are split into views for the ranker's kernels.

    Raises if other nodes lack a view of the kernel, or have it in the wrong form, before they are encoded.
    """
    if hasattr(ranker, "n_holdouts"):  # a search suits its kernels to the views
        sides = zip((graph.nodes, graph.objects), encoders, strict=True)
        first, second = (is_mixed(nodes) and can_split(encoder) for nodes, encoder in sides)
        return first, second
    given = getattr(ranker, "kernel", None)
    objects = getattr(ranker, "object_kernel", None)
    kernels = (given, given if objects is None else objects)
    split = []
    for kernel, nodes, encoder in zip(kernels, (graph.nodes, graph.objects), encoders, strict=True):
        split.append(is_split(nodes, kernel, encoder))
        if not split[-1] and isinstance(kernel, str | Kernel):
            check_kernel(read_kernel(kernel), nodes)
    return split[0], split[1]
