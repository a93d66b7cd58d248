"""``save`` and ``load`` of a ranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.persistence.arrays import Held
from condrank.persistence.damage import whole
from condrank.persistence.layout import model_file, read_file, write_file


def refuse_index(manifest: dict[str, Any]) -> None:
    """Refuse the file of an index: it holds a ranker, but also objects that would be lost."""
    if "index" in manifest:
        raise ValueError("it is the file of an index: load it with ObjectIndex.load, and take its ranker, index.ranker")


def restored_ranker(manifest: dict[str, Any], held: Held) -> Any:
    """A ranker from the manifest of a file and those of its arrays that belong to the ranker."""
    from condrank.persistence.restoring import from_state
    from condrank.rankers.conditional import ConditionalRanker

    ranker = ConditionalRanker(**manifest["params"])
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        from_state(ranker, manifest, held)
    return ranker


class Saved:
    """What can be saved once it is fitted, and loaded without running code."""

    get_params: Callable[..., dict[str, Any]]

    def save(self, path: Any) -> None:
        """Write the fitted ranker to one file of plain arrays. If that fails, the old file stays as it was.

        A `ConditionalRankerCV` saves the plain ranker that was chosen, without the losses of the others.

        Parameters
        ----------
        path : path-like
            The file; in a folder (one that exists, or with a trailing slash) ``model.safetensors``. The file has the
            layout of safetensors. Features of the training nodes are part of it, as predictions need them.
        """
        from condrank.persistence.state import to_state

        write_file(path, *to_state(self, self._saved_params()))

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> Any:
        """The ranker that was saved: it ranks as before. A ValueError reports a truncated, damaged or newer file.

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
                raise ValueError("it is the file of a TableRanker: load it with TableRanker.load")
            held = Held(arrays, mmap)
            ranker = restored_ranker(manifest, held)
            held.check_all_taken("model")
            return ranker

    def _saved_params(self) -> dict[str, Any]:
        """Parameters of the plain ranker that is saved."""
        return self.get_params(deep=False)
