"""Why a ranker of tables ranks as it does, with the ids and columns of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from condrank.explanations import Explanation
from condrank.explanations.features import Columns
from condrank.nodes import Nodes
from condrank.rankers.explained import NEW, explanation
from condrank.tables.encoder import TableEncoder
from condrank.tables.known import KnownNodes, is_table
from condrank.tables.known_tables import KnownTables
from condrank.tables.known_views import KnownViews


class TableExplained(KnownTables):
    """The explanations of a `condrank.TableRanker`."""

    def explain(self, query: Any, object: Any, other: Any = None) -> Explanation:
        """Why ``object`` has its score for ``query``; or why it is ranked above, or below, ``other``.

        As `ConditionalRanker.explain`, with contributions of features summed to the columns that they were made of:
        categories and words to their column.

        Parameters
        ----------
        query, object, other : id, or one new node
            A training node by its id; or a new one as a dict of its columns, or as a table of one row, given as for
            `rank`.
        """
        check_is_fitted(self, "ranker_")
        given = ((query, self.queries_, "query"), (object, self.objects_, "object"), (other, self.objects_, "other"))
        read = [_read_one(*one) for one in given if one[0] is not None or one[2] != "other"]
        names = [*(name for _, name, _ in read), None][:3]
        values = [found for _, _, found in read]
        return explanation(self.ranker_, [nodes for nodes, _, _ in read], names, self._columns(values))

    def _columns(self, values: list[dict[str, Any]]) -> tuple[Columns, Columns]:
        """The columns of both sides, with the values of the nodes."""
        return columns_of(self.queries_, values[:1]), columns_of(self.objects_, values[1:])


def _read_one(given: Any, side: KnownNodes, name: str) -> tuple[Nodes, Any, dict[str, Any]]:
    """One node, its name, and its columns as they are known."""
    if isinstance(given, Mapping) and not any(_is_column(value) for value in given.values()):
        given = [dict(given)]  # one row
    is_new = is_table(given) or getattr(given, "ndim", 0) == 2
    nodes, ids = side.read(given if is_new else [given], name)
    if len(nodes) != 1:
        raise ValueError(f"{name} must be one node, got {len(nodes)}; explain each of them by itself")
    if not is_new:
        return nodes, ids[0] if ids is not None else given, flat_row(side.row(given))
    found: dict[str, Any] = {}
    if is_table(given) and not isinstance(side, KnownViews):
        columns = side.columns(given, name)
        found = {column: columns.values[column].tolist()[0] for column in columns.names}
    return nodes, NEW[name] if ids is None else ids[0], found


def _is_column(value: Any) -> bool:
    """Whether the value of a dict is a column, or a view, and not a single value."""
    return isinstance(value, Mapping) or (hasattr(value, "__len__") and not isinstance(value, str | bytes))


def columns_of(side: KnownNodes, values: Sequence[dict[str, Any]]) -> Columns:
    """The columns that the features of one side were made of; columns of a view are view.column."""

    def of_feature(view: str | None, n: int) -> Sequence[str]:
        if isinstance(side, KnownViews):
            if view is None and len(side.views) == 1:
                (view,) = side.views
            return [f"{view}.{name}" for name in _names(side.views[str(view)], None, n)]
        return _names(side, view, n)

    return Columns(of_feature, values)


def _names(side: KnownNodes, view: str | None, n: int) -> Sequence[str]:
    encoder = side.encoder
    names: Sequence[str] | None = None
    if isinstance(encoder, TableEncoder):
        names = encoder.feature_columns(view)
    elif hasattr(encoder, "get_feature_names_out"):
        names = [str(name) for name in encoder.get_feature_names_out()]
    elif side.table is not None:
        names = list(side.table.kinds)
    names = names or side.nodes.view(view).columns.get(None)
    return names if names is not None and len(names) == n else [f"feature {j}" for j in range(n)]


def flat_row(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a node; those of a view as view.column."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        found |= (
            {f"{name}.{column}": one for column, one in value.items()} if isinstance(value, dict) else {name: value}
        )
    return found
