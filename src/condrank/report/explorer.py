"""The rankings of a report as the explorer of the page takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condrank.explorer import RankedNode, embedded_data
from condrank.explorer.embedded import Reason
from condrank.nodes import Nodes
from condrank.report.rankings import Rankings, shown_table

#: Columns of a node that are shown.
MOST_COLUMNS = 12


def explorer_data(
    rankings: Rankings,
    nodes: Nodes,
    one_domain: bool,
    scale: str | None = None,
    sure: Mapping[int, Sequence[Reason]] | None = None,
) -> dict[str, Any]:
    """Names, columns and rankings of the conditioning nodes, as many as fit into the page.

    Parameters
    ----------
    rankings : Rankings
        What was ranked.
    nodes : Nodes
        The conditioning nodes as they were given; their columns are shown.
    one_domain : bool
        Whether conditioning nodes and objects are the same nodes, with the same names.
    scale : str or None
        What scores say about who wins, see `condrank.report.probability`; None if they say nothing.
    sure : mapping of int to sequence of (int, int, float, str), optional
        What `condrank.report.first_five` found, by row of the rankings.
    """
    table = shown_table(nodes)
    columns = [] if table is None else list(table.kinds)[:MOST_COLUMNS]

    def ranked(place: int) -> RankedNode:
        position, objects = int(rankings.queries[place]), rankings.indices[place]
        row = {} if table is None else table.row(position)
        return RankedNode(
            position=position,
            name=rankings.query_ids[position],
            loss=float(rankings.losses[place]),
            observed=int(rankings.observed[place]),
            cells=[row[name] for name in columns],
            objects=objects.tolist(),
            object_names=[rankings.object_ids[one] for one in objects],
            scores=rankings.scores[place].tolist(),
            truth=rankings.truth[place].tolist(),
            reasons=() if sure is None else sure.get(place, ()),
        )

    return embedded_data(len(rankings), ranked, columns, one_domain) | {"scale": scale, "incoming": rankings.incoming}
