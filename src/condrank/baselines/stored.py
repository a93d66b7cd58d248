"""A baseline in a file: its parameters and what it was fitted to, from which it is fitted again when it is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank import baselines
from condrank._version import __version__
from condrank.base.checks import check_choice
from condrank.graph import RelationGraph
from condrank.kernels import Kernel, parse_kernel, read_kernel
from condrank.kernels.shorthand import NAMES
from condrank.nodes.store import Nodes
from condrank.observations import observations_from, observations_to
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.plain import plain
from condrank.problem.settings import kernel_text

PART = "baseline"  # of a manifest, and before its arrays
SIDES = ("nodes", "objects")
# Baselines that a search may return. They learn little, so learning it again takes about as long as reading it.
STORED = ("NearestNeighbours", "PopularityRanker", "SimilarityRanker", "StrengthRanker", "TwoStepRidge")


def baseline_to(ranker: Any, graph: RelationGraph) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A manifest of plain values, and named arrays; `baseline_from` reads them.

    Parameters
    ----------
    ranker : Baseline
        One of those that can be stored.
    graph : RelationGraph
        What it was fitted to.
    """
    name = type(ranker).__name__
    if name not in STORED:
        raise ValueError(f"a {name} cannot be saved; a ConditionalRanker, {', '.join(STORED)} can")
    arrays = Arrays({}, PART)
    given = ranker.get_params(deep=False)
    params = {key: kernel_text(key, one) if isinstance(one, Kernel) else plain(key, one) for key, one in given.items()}
    own: dict[str, Any] = {"class": name, "params": params, "probabilities": graph.probabilities}
    for side, nodes in zip(SIDES, (graph.nodes, graph.objects)[: 1 + graph.is_two_domain], strict=False):
        kernel = ranker.kernel if side == "nodes" or ranker.object_kernel is None else ranker.object_kernel
        own[side] = nodes.to_state(arrays.under(side), read_kernel(kernel).matrices)
    own["relation"] = observations_to(graph.relation, arrays.under("relation"))
    return {"condrank": __version__, PART: own}, arrays.named


def baseline_from(manifest: dict[str, Any], held: Held) -> tuple[Any, RelationGraph]:
    """The baseline of a manifest and its arrays, fitted again, and what it was fitted to."""
    given, own = manifest[PART], held.under(PART)
    check_choice("class of a baseline", given["class"], STORED)
    params = dict(given["params"])
    for name in ("kernel", "object_kernel"):
        if isinstance(params.get(name), str) and params[name] not in NAMES:
            params[name] = parse_kernel(params[name])
    nodes = Nodes.from_state(given["nodes"], own.under("nodes"))
    objects = Nodes.from_state(given["objects"], own.under("objects")) if "objects" in given else nodes
    relation = observations_from(given["relation"], own.under("relation"))
    if relation.shape != (len(nodes), len(objects)):
        raise ValueError(f"the relation must be of {len(nodes)} × {len(objects)} nodes, got {relation.shape}")
    graph = RelationGraph.of_parts(nodes, objects, relation, given["probabilities"])
    return getattr(baselines, given["class"])(**params).fit(graph), graph
