"""Ways to make a graph: from edges, classes, factors, tables and networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from condrank.base.arrays import check_features
from condrank.base.checks import check_ids
from condrank.base.dask import is_dask
from condrank.nodes.checking import check_edges, check_labels
from condrank.nodes.reading import graph_nodes
from condrank.nodes.store import Nodes
from condrank.observations import Complete, Edges, Factored, Observations

if TYPE_CHECKING:
    from condrank.graph import RelationGraph


class GraphConstructors(ABC):
    """Ways to make a `condrank.RelationGraph` from input other than a matrix."""

    @classmethod
    @abstractmethod
    def of_parts(cls, nodes: Nodes, others: Nodes, relation: Observations, probabilities: bool | None) -> RelationGraph:
        """A graph of parts that are already checked."""

    @classmethod
    def from_edges(
        cls,
        X: Any,
        sources: Any,
        targets: Any,
        values: Any,
        weights: Any = None,
        *,
        objects: Any = None,
        ids: Any = None,
        object_ids: Any = None,
        probabilities: bool | None = None,
    ) -> RelationGraph:
        """Graph from a list of edges. A pair may occur more than once.

        Parameters
        ----------
        X, objects, ids, object_ids, probabilities
            As for `RelationGraph`.
        sources, targets : array-like of shape (n_edges,)
            Node where each edge starts and where it ends: ids if the nodes have ids, otherwise positions.
        values : array-like of shape (n_edges,)
            Relation value of each edge.
        weights : array-like of shape (n_edges,), optional
            Weight ≥ 0 of each edge; 0 means not observed.
        """
        columns = sources, targets, values, weights
        distributed = any(map(is_dask, columns))
        nodes, others = check_domains(X, objects, ids, object_ids, distributed)
        if is_dask(nodes.base):
            from condrank.distributed.edges import DistributedEdges

            return cls.of_parts(nodes, others, DistributedEdges.of(nodes, others, *columns), probabilities)
        edges = Edges(*check_edges(nodes, others, *columns), (len(nodes), len(others)))
        return cls.of_parts(nodes, others, edges, probabilities)

    @classmethod
    def from_classes(
        cls, X: Any, labels: Any, similarity: Any = None, *, classes: Any = None, ids: Any = None
    ) -> RelationGraph:
        """Complete graph whose relation depends on the classes of the nodes. The n×n matrix is never made.

        Parameters
        ----------
        X, ids
            As for `RelationGraph`.
        labels : array-like of shape (n_nodes,) or (n_nodes, n_levels)
            Class of each node; for a taxonomy, its class on every level from the root down.
        similarity : array-like, optional
            The relation between two classes, (n_classes, n_classes) in sorted order of the classes. By default 1 for
            the same class and 0 otherwise. For a taxonomy (n_levels + 1,): the value for 0, 1, … shared leading levels;
            by default this number.
        classes : array-like of shape (n_classes,), optional
            Names of the rows and columns of ``similarity``, if they are not the sorted classes of the labels. They may
            have another order, and include classes without nodes, as a fit block by block may need.
        """
        nodes, _ = check_domains(X, None, ids, None)
        labels = np.asarray(labels)
        if labels.ndim not in (1, 2) or len(labels) != len(nodes):
            raise ValueError(
                f"labels must have shape ({len(nodes)},) for classes or ({len(nodes)}, n_levels) for a taxonomy, "
                f"got {labels.shape}"
            )
        if labels.ndim == 1:
            named = None if classes is None else np.asarray(classes)
            relation = Factored.from_classes(labels, similarity, nodes.dtype, named)
        elif classes is None:
            relation = Factored.from_taxonomy(labels, similarity, nodes.dtype)
        else:
            raise ValueError("classes is for classes of one level; classes of a taxonomy are named by their paths")
        return cls.of_parts(nodes, nodes, relation, None)

    @classmethod
    def from_factors(
        cls,
        X: Any,
        A: Any,
        S: Any,
        B: Any = None,
        *,
        objects: Any = None,
        ids: Any = None,
        object_ids: Any = None,
    ) -> RelationGraph:
        """Complete graph with the relation Y = A S Bᵀ, which is never made as a matrix.

        Parameters
        ----------
        X, objects, ids, object_ids
            As for `RelationGraph`.
        A, B : array-like or scipy sparse array of shapes (n_nodes, k) and (n_objects, l)
            Factors of the conditioning nodes and of the objects; B is A by default.
        S : array-like of shape (k, l)
            Relation between the factors.
        """
        nodes, others = check_domains(X, objects, ids, object_ids)
        A = check_features(A, "A")
        B = A if B is None else check_features(B, "B")
        for name, factors, ends in (("A", A, nodes), ("B", B, others)):
            if factors.shape[0] != len(ends):
                what = "node" if ends is nodes else "object"
                hint = "; if B is not given, B is A" if factors is A and name == "B" else ""
                raise ValueError(
                    f"{name} must have a row for each of the {len(ends)} {what}s, got {factors.shape[0]}{hint}"
                )
        S = check_features(S.toarray() if sparse.issparse(S) else S, "S")
        if S.shape != (A.shape[1], B.shape[1]):
            raise ValueError(f"S must have shape {(A.shape[1], B.shape[1])} to fit A and B, got {S.shape}")
        return cls.of_parts(nodes, others, Factored(A, S, B), None)

    @classmethod
    def from_frame(cls, nodes: Any = None, edges: Any = None, **options: Any) -> RelationGraph:
        """Graph from a table of nodes and a table of edges; the ids of the tables stay the ids of the nodes.

        A table is a data frame of any library that narwhals reads (pandas, polars, pyarrow, Modin, DuckDB, …), a CSV,
        TSV, JSON lines or Parquet file, a dict of columns or a list of dicts. Errors for duplicate or unknown ids,
        missing values and values that are not numbers name the row.

        Parameters
        ----------
        nodes : path-like or frame
            One row for each node: its id and its features. If all columns are numbers or dates, they are the features,
            unchanged (dates as days since 1970). Otherwise the nodes are a `condrank.tables.Table`, which a
            `condrank.tables.TableEncoder` must encode before a ranker takes it; `condrank.TableRanker` does so.
        edges : path-like or frame
            One row for each edge, in one of these forms:

            - source, target, value: the relation value of a pair;
            - winner, loser: a game, +1 from the winner to the loser and -1 back; 0 both ways for a tie;
            - source, target and ``wins``, the numbers of games that each of them won: (won - lost)/played and its
              opposite, with the number of games as weight.
        **options
            Keywords, listed below.

        Other Parameters
        ----------------
        objects : path-like or frame, optional
            Nodes of a second domain, at which edges end.
        kernel : path-like, ndarray or frame, optional
            Kernel matrix of the nodes instead of features, for a ranker with ``kernel="precomputed"``; see
            `condrank.tables.read_kernel`. The ids are those of the kernel, or those of ``nodes``. A dict of matrices
            makes views of them.
        views : dict, optional
            Several views of the nodes by name, for kernels with ``view=``: tables with ids, kernel matrices (files or
            frames with the same ids on both sides), or arrays in the order of the other views. They are aligned by id.
            Columns of ``nodes`` are then the view "nodes", and a ``kernel`` without a name is the view "kernel".
        object_views, object_kernel : optional
            The same for the objects of a second domain.
        id, object_id : str, optional
            Column of the ids; by default "id", "node", "name" or the first column.
        source, target, value, weight, winner, loser, tie : str, optional
            Columns of the edges; by default columns with usual names (winner and loser, source and target, from and to,
            a and b, …, value, score, …, weight, tie), or for the ends the first two columns.
        wins : (str, str), optional
            Columns with the numbers of games that the source and the target won; by default wins_a and wins_b, or wins
            and losses.
        mirror : {"auto", None, "same", "opposite"}
            Whether a row also gives the other direction of its pair, with the same or the opposite value. By default
            games and counts give the opposite, values nothing.
        numeric, categorical, text, drop : sequence of str
            Columns of the nodes (and objects) to read as this kind or to leave out; other kinds follow from the values.
        probabilities : bool, optional
            As for `RelationGraph`.
        unstored : {"missing", "zero"}
            What pairs without a row are: not known, or zeros. With "zero" rows may be positives without a value, such
            as clicks, whose value is 1; only columns with usual names, or ``value``, are values.
        zeros : int, optional
            With ``unstored="zero"``: draw so many zeros for each positive of a node, weighted to stand for all. By
            default all other pairs are zeros, without being stored; with weights they are stored, and must fit.
        random_state : int
            Seed of the zeros.
        date, half_life : str and float, optional
            Column of dates (or of days, seconds or milliseconds since 1970), and days after which an edge counts half:
            weights are multiplied by 2^(-age/half_life), with ages from the newest edge.
        database : str, optional
            ``sqlite:///file.db`` or ``postgresql://user:password@host/name`` (extra ``sql``). ``nodes``, ``edges`` and
            ``objects`` may then be queries, ``"sql:SELECT …"``, or names of tables, ``"sql:players"``.

        Examples
        --------
        >>> from condrank import RelationGraph
        >>> players = {"id": ["ann", "bob", "cyd"], "age": [31, 25, 40], "height": [1.70, 1.83, 1.65]}
        >>> games = {"winner": ["ann", "bob", "ann"], "loser": ["bob", "cyd", "cyd"]}
        >>> RelationGraph.from_frame(players, games)
        RelationGraph(3 nodes, 6 edges, density 0.667, reciprocal)
        """
        from condrank.tables.graphs import from_frame

        return from_frame(nodes, edges, **options)

    @classmethod
    def from_networkx(cls, G: Any, features: Any = None, value: str | None = "weight") -> RelationGraph:
        """Graph from a networkx graph, with its nodes as ids. An undirected edge is known in both directions.

        Parameters
        ----------
        G : networkx graph
            Directed or undirected; all edges between the same two nodes of a multigraph count.
        features : sequence of str, or array-like of shape (n_nodes, n_features), optional
            Names of the node attributes to read as the columns of a table, by default all; or an array of features in
            the order of ``G.nodes``.
        value : str or None
            Edge attribute with the relation values. With None, every edge has 1 and every other pair a known 0.
        """
        from condrank.tables.graphs import from_networkx

        return from_networkx(G, features, value)


def check_domains(X: Any, objects: Any, ids: Any, object_ids: Any, distributed: bool = False) -> tuple[Nodes, Nodes]:
    """Nodes of one domain or of two. If one of them, or their relation, is in Dask, both are put in Dask."""
    distributed |= is_dask(X) or is_dask(objects)
    nodes = check_nodes(X, ids, "X", "ids", distributed)
    if objects is None:
        if object_ids is not None:
            raise ValueError("object_ids needs objects: in a graph of one domain, ids are the ids of all nodes")
        return nodes, nodes
    return nodes, check_nodes(objects, object_ids, "objects", "object_ids", distributed)


def check_nodes(X: Any, ids: Any, name: str, ids_name: str, distributed: bool) -> Nodes:
    """Checked node data of a graph, with unique ids."""
    if distributed:
        from condrank.distributed.rows import check_rows

        base = check_rows(X, name)
        return Nodes(base, None, None if ids is None else check_ids(ids, base.shape[0], ids_name))
    return graph_nodes(X, ids, name, ids_name)


def observe(Y: Any, unstored: str, nodes: Nodes) -> Observations:
    """Observations from a label matrix, in the form that fits it."""
    dtype = nodes.dtype
    if is_dask(nodes.base):
        if sparse.issparse(Y) or unstored != "unobserved":
            raise ValueError("a sparse Y cannot be distributed: give the edges as columns, RelationGraph.from_edges")
        from condrank.distributed.complete import DistributedComplete

        return DistributedComplete.of(Y, dtype)
    if sparse.issparse(Y):
        Y = sparse.csr_array(Y)
        if not Y.has_canonical_format:
            Y = Y.copy()  # the arrays may belong to the caller
            Y.sum_duplicates()
        data = check_labels(Y.data, "Y", dtype)
        if np.isnan(data).any():
            raise ValueError("a sparse Y must not store NaN: leave out entries that are not observed")
        Y = sparse.csr_array((data, Y.indices, Y.indptr), shape=Y.shape)
        return Complete(Y) if unstored == "zero" else Edges.from_stored(Y)
    if unstored != "unobserved":
        raise ValueError("unstored='zero' is for a sparse Y; in a dense Y, NaN means unobserved and 0 means zero")
    Y = np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(f"Y must be two-dimensional (nodes × objects), got {Y.ndim} dimension(s)")
    Y = check_labels(Y, "Y", dtype)
    return Edges.from_holes(Y) if np.isnan(Y.sum()) and np.isnan(Y).any() else Complete(Y)
