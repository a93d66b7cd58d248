"""Saving a ranker to a file and loading it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank._version import __version__
from condrank.fitting.agreement import agreed_settings
from condrank.fitting.fitted import FittedRanker
from condrank.kernels import Kernel, parse_kernel
from condrank.kernels.shorthand import NAMES
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.damage import damage_named
from condrank.persistence.layout import model_file, read_file, write_file
from condrank.persistence.plain import plain
from condrank.problem.settings import kernel_text
from condrank.rankers.base import Ranker, fitted_of

#: Parameters that came later, with their defaults: a file that does not need them is written as before.
LATER = {"object_kernel": None, "fit_intercept": False}
#: Readers of rankers that rooms above this one save, by the kind that their manifests have.
READERS: dict[str, Callable[[dict[str, Any], Held], Any]] = {}


def refuse_index(manifest: dict[str, Any]) -> None:
    """Refuse the file of an index: it has a ranker, but also objects that would be lost."""
    if "index" in manifest:
        kind = "condrank.tables.TableIndex" if "tables" in manifest else "ObjectIndex"
        raise ValueError(f"it is the file of an index: load it with {kind}.load; its ranker is index.ranker")


def plain_param(name: str, value: Any) -> Any:
    """The value of a parameter as a file has it; kernels as text."""
    return kernel_text(name, value) if isinstance(value, Kernel) else plain(f"parameter {name}", value)


def read_params(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a file, with kernels as expressions."""
    found = dict(given)
    for name in ("kernel", "object_kernel"):
        if isinstance(found.get(name), str) and found[name] not in NAMES:
            found[name] = parse_kernel(found[name])
    return found


class Saved(Ranker):
    """A ranker that can be saved once it is fitted, and loaded without running code."""

    def save(self, path: Any, *, training: bool = False, uncertainty: bool | None = None) -> None:
        """Write the fitted ranker to one file of plain arrays. If that fails, an older file stays as it was.

        A `ConditionalRankerCV` saves the plain ranker that it chose, without the losses of the search.

        Parameters
        ----------
        path : path-like
            The file; or a folder (an existing one, or a path with a trailing slash), for ``model.safetensors`` in it.
            The file has the layout of safetensors. It includes the features of the training nodes, because predictions
            need them.
        training : bool
            Also write the labels that the ranker was fitted to. Predictions do not need them; `explain` does.
        uncertainty : bool, optional
            Whether the file has the observed pairs of an incomplete graph, without which a loaded ranker knows no
            standard deviations. By default it has up to a million of them. Complete graphs and the dual solver need
            only one more number, which the file has unless this is False.
        """
        write_file(path, *self.to_state(training, uncertainty))

    def to_state(
        self, training: bool = False, uncertainty: bool | None = None
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A manifest of plain values, and named arrays; `from_state` makes the ranker from them."""
        fitted, arrays = fitted_of(self), Arrays()
        params = {
            name: plain_param(name, value)
            for name, value in self._saved_params().items()
            if name not in LATER or value != LATER[name]
        }
        two_domains = fitted.model.cols is not fitted.model.rows
        try:
            agreed_settings(params, fitted.settings.to_state(), fitted.n_features, two_domains)
        except ValueError as error:
            raise ValueError(f"the parameters were changed since the fit; fit again before saving: {error}") from None
        state = fitted.to_state(arrays, training, uncertainty)
        return {"condrank": __version__, "params": params} | state, arrays.named

    @classmethod
    def from_state(cls, manifest: dict[str, Any], held: Held) -> Any:
        """The `ConditionalRanker` of a manifest and its arrays, as `to_state` gives them; or another kind of ranker."""
        from condrank.rankers.conditional import ConditionalRanker

        kind = manifest.get("kind")
        if kind is not None:
            if kind not in READERS:
                raise ValueError(
                    f"it is the file of a {kind} ranker: load it with RankerSearch.load or TableRanker.load"
                )
            return READERS[kind](manifest, held)
        ranker = ConditionalRanker(**read_params(manifest["params"]))
        with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
            ranker._keep(FittedRanker.from_state(manifest, held, ranker.get_params(deep=False)))
        return ranker

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> Any:
        """Load a saved ranker, which ranks as before. A truncated, damaged or newer file raises a ValueError.

        With ``kernel="precomputed"`` a loaded ranker takes kernel values against its training nodes, one row per node.
        It cannot look up subgraphs of its training graph, because only the kernel of the training nodes is saved.

        Parameters
        ----------
        path : path-like
            File or folder, as given to `save`.
        mmap : bool
            Read arrays only when they are used. They are then not checked: neither their checksums nor for NaN.
        """
        manifest, arrays = read_file(path, mmap)
        with damage_named(model_file(path), "model"):
            refuse_index(manifest)
            if "tables" in manifest:
                raise ValueError("it is the file of a TableRanker: load it with TableRanker.load")
            held = Held(arrays, mmap)
            ranker = cls.from_state(manifest, held)
            held.check_all_taken("model")
            return ranker

    def _saved_params(self) -> dict[str, Any]:
        """The parameters that are saved: those of the plain ranker."""
        return self.get_params(deep=False)
