"""``save`` and ``load`` of a ranker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from condrank.persistence.layout import model_file, read_file, write_file

# What reading a manifest of other contents than expected may raise.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def whole(file: Path, what: str) -> Iterator[None]:
    """Whatever contents other than expected raise becomes a ValueError that names the file."""
    try:
        yield
    except MALFORMED as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise ValueError(f"{file} is not a whole {what} of condrank: {why}") from None


def refuse_index(manifest: dict[str, Any]) -> None:
    """An index holds a ranker, but also objects that would be lost."""
    if "index" in manifest:
        raise ValueError("it is that of an index, load it with ObjectIndex.load, whose ranker is index.ranker")


class Saved:
    """What can be saved once it is fitted, and loaded without running code."""

    get_params: Callable[..., dict[str, Any]]

    def save(self, path: Any) -> None:
        """Write the fitted ranker to one file of plain arrays; the old file or the new one is there, whatever happens.

        Of a `ConditionalRankerCV` the plain ranker that was chosen is saved, without the losses of the others.

        Parameters
        ----------
        path : path-like
            The file; in a folder (one that exists, or with a trailing slash) ``model.safetensors``. The file has the
            layout of safetensors. Features of the training nodes are part of it, as predictions need them.
        """
        write_file(path, *self.to_state())

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Manifest of plain values and named arrays, from which `from_state` makes the ranker again."""
        from condrank.persistence.state import to_state

        return to_state(self, self._saved_params())

    @classmethod
    def from_state(cls, manifest: dict[str, Any], arrays: dict[str, np.ndarray], mmap: bool = False) -> Any:
        """The `ConditionalRanker` of a manifest and arrays, which are checked against each other."""
        from condrank.persistence.restoring import from_state
        from condrank.rankers.conditional import ConditionalRanker

        ranker = ConditionalRanker(**manifest["params"])
        with np.errstate(over="ignore", invalid="ignore"):  # reported as what is not finite
            ranker._keep(from_state(ranker, manifest, arrays, mmap))
        return ranker

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> Any:
        """The ranker that was saved: it ranks as before. A ValueError tells of truncated, damaged and newer files.

        With ``kernel="precomputed"`` it takes kernel values against its training nodes, one row a node; subgraphs of
        the graph that it was trained in cannot be looked up, as only the training nodes' kernel is saved.

        Parameters
        ----------
        path : path-like
            File or folder, as given to `save`.
        mmap : bool
            Read arrays only when they are used; their checksums are then not compared, nor are they known to be finite.
        """
        manifest, arrays = read_file(path, mmap)
        with whole(model_file(path), "model"):
            refuse_index(manifest)
            if "tables" in manifest:
                raise ValueError("it is that of a TableRanker, load it with TableRanker.load")
            return cls.from_state(manifest, arrays, mmap)

    def _saved_params(self) -> dict[str, Any]:
        """Parameters of the plain ranker that is saved."""
        return self.get_params(deep=False)
