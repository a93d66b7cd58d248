"""What a ranker of tables knows of its training nodes: ids, columns and encoders; and its file."""

from __future__ import annotations

from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from condrank.tables.known import KnownNodes

T = TypeVar("T")


class KnownTables(BaseEstimator):
    """The fitted part of a `condrank.TableRanker`: a ranker, and the conditioning nodes and objects of its tables."""

    ranker_: Any
    queries_: KnownNodes
    objects_: KnownNodes

    @property
    def query_ids_(self) -> np.ndarray:
        """Ids of the conditioning nodes of training."""
        check_is_fitted(self, "ranker_")
        return self.queries_.names.ids

    @property
    def object_ids_(self) -> np.ndarray:
        """Ids of the objects of training."""
        check_is_fitted(self, "ranker_")
        return self.objects_.names.ids

    @property
    def domains_(self) -> tuple[KnownNodes, KnownNodes]:
        """Known nodes in the order of a graph: of ``graph.nodes`` and of ``graph.objects``."""
        check_is_fitted(self, "ranker_")
        return self._in_order(self.queries_, self.objects_)

    @property
    def encoder_(self) -> Any:
        """Fitted encoder of the nodes."""
        return self.domains_[0].encoder

    @property
    def object_encoder_(self) -> Any:
        """Fitted encoder of the objects."""
        return self.domains_[1].encoder

    def row(self, query: Any) -> dict[str, Any]:
        """Columns of one conditioning node of training, by id, for display; empty if they were not kept."""
        check_is_fitted(self, "ranker_")
        return self.queries_.row(query)

    def object_row(self, one: Any) -> dict[str, Any]:
        """Columns of one object of training, by id, like `row`."""
        check_is_fitted(self, "ranker_")
        return self.objects_.row(one)

    def save(self, path: Any, *, columns: bool = True, training: bool = False, uncertainty: bool | None = None) -> None:
        """Write ranker, encoders and ids to one file of plain arrays, as `ConditionalRanker.save` does.

        Parameters
        ----------
        path : path-like
            The file; or a folder (an existing one, or a path with a trailing slash), for ``model.safetensors`` in it.
        columns : bool
            Keep the columns of the training nodes, as `row` shows them. Their encoded features are always in the file,
            because predictions need them.
        training : bool
            Also write the labels that the ranker was fitted to, as `ConditionalRanker.save` does.
        uncertainty : bool, optional
            Whether the file has the observed pairs, which standard deviations need; as for `ConditionalRanker.save`.
        """
        from condrank.tables.state import save

        check_is_fitted(self, "ranker_")
        save(self, path, columns, training, uncertainty)

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> Self:
        """Load a saved ranker; also one of `ConditionalRanker.save`, which then takes features or kernel values.

        No code is run. A truncated, damaged or newer file raises a ValueError.

        Parameters
        ----------
        path, mmap
            As for `ConditionalRanker.load`.
        """
        from condrank.tables.state import load

        return load(cls, path, mmap)

    @classmethod
    def from_known(cls, ranker: Any, queries: KnownNodes, objects: KnownNodes) -> Self:
        """A fitted ranker of tables from a fitted ranker and its training nodes.

        Parameters
        ----------
        ranker : fitted ranker
            It takes encoded nodes.
        queries, objects : KnownNodes
            Its conditioning nodes and its objects; the same object twice for a single domain.
        """
        make: Any = cls  # a subclass, which takes the ranker
        made = make(ranker)
        made.ranker_, made.queries_, made.objects_ = ranker, queries, objects
        return made

    def _in_order(self, one: T, other: T) -> tuple[T, T]:
        """From nodes and objects of a graph to conditioning nodes and objects that are ranked, or back."""
        return (one, other) if self.ranker_.rank_by == "outgoing" else (other, one)
