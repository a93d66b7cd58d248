"""``save`` and ``load`` of a ranker."""

from __future__ import annotations

from typing import Any

from condrank.persistence.layout import read_file, write_file


class Saved:
    """What can be saved once it is fitted, and loaded without running code."""

    def save(self, path: Any) -> None:
        """Write the fitted ranker to one file of plain arrays; the old file or the new one is there, whatever happens.

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
        """The ranker that was saved: it ranks as before. A ValueError tells of truncated, damaged and newer files.

        Parameters
        ----------
        path : path-like
            File or folder, as given to `save`.
        mmap : bool
            Read arrays only when they are used; their checksums are then not compared.
        """
        from condrank.estimators import ConditionalRanker
        from condrank.persistence.state import from_state

        manifest, arrays = read_file(path, mmap)
        try:
            ranker = ConditionalRanker(**manifest["params"])
            from_state(ranker, manifest, arrays)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"{path} is not a whole model of condrank: {type(error).__name__} {error}") from None
        return ranker

    def _saved_params(self) -> dict[str, Any]:
        """Parameters of the plain ranker that is saved."""
        raise NotImplementedError
