"""TableEncoder: features of a table, learned from its training rows, with a state of plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from condrank.base.checks import check_choice, check_count
from condrank.frames.packing import check_kinds, pack, unpack
from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.graph.transformer import UNCHANGED, NodeTransformer, check_transformer
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views

MOST_DENSE = 1000  # categories
State = tuple[dict[str, Any], dict[str, np.ndarray]]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Standardised numbers, one-hot categories and tf-idf of texts.

    It learns means, categories and words only from the rows that it is fitted on. Used as the transformer of a
    `NodeTransformer` in a pipeline, it sees no held-out nodes of a fold. A new category or word is encoded as zeros.

    Parameters
    ----------
    standardise : bool
        Whether to subtract the mean of numbers and dates (as days) and divide by their standard deviation.
    max_words : int, optional
        Largest number of words for a text column, the most frequent ones; by default all words.

    Attributes
    ----------
    kinds_ : dict of str
        Kind of each column, in order.
    mean_, scale_ : dict of float
        Mean and standard deviation of the numeric and date columns.
    categories_ : dict of ndarray
        Categories of the categorical columns, sorted.
    vectorizers_ : dict of TfidfVectorizer
        Fitted vectorizers of the text columns.
    n_features_out_ : int
        Number of features.

    Notes
    -----
    Features are dense; they are sparse (CSR) if a column is text or there are more than 1,000 categories. Frames, files
    and arrays of numbers are accepted as well. `transform` needs the columns and kinds of `fit`.

    Examples
    --------
    >>> from condrank.tables import Table, TableEncoder
    >>> encoder = TableEncoder().fit(Table.read({"age": [31, 25, 40], "country": ["BE", "FI", "BE"]}))
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'country=BE', 'country=FI']
    >>> encoder.transform({"age": [32], "country": ["SE"]})
    array([[0., 0., 0.]])
    """

    kinds_: dict[str, str]
    mean_: dict[str, float]
    scale_: dict[str, float]
    categories_: dict[str, np.ndarray]
    vectorizers_: dict[str, TfidfVectorizer]
    n_features_out_: int

    def __init__(self, standardise: bool = True, max_words: int | None = None):
        self.standardise = standardise
        self.max_words = max_words

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn means, categories and words of a table; y is ignored."""
        check_choice("standardise", self.standardise, (False, True))
        if self.max_words is not None:
            check_count("max_words", self.max_words)
        table = Table.read(X)
        self.kinds_ = dict(table.kinds)
        self.mean_, self.scale_, self.categories_, self.vectorizers_ = {}, {}, {}, {}
        for name, kind in table.kinds.items():
            if kind in ("numeric", "date"):
                self.mean_[name], self.scale_[name] = _spread(table.numbers(name)) if self.standardise else (0.0, 1.0)
            elif kind == "categorical":
                self.categories_[name] = np.array(sorted(set(table.columns[name].tolist())), dtype=object)
            else:
                self.vectorizers_[name] = self._words(name, table.columns[name])
        self._count()
        return self

    def transform(self, X: Any) -> Any:
        """Features (n_rows, n_features) of a table with the columns of training."""
        check_is_fitted(self, "kinds_")
        table = Table.of_kinds(X, self.kinds_)
        blocks: list[Any] = []
        for name, kind in self.kinds_.items():
            if kind in ("numeric", "date"):
                with np.errstate(over="ignore"):  # reported by the check of the features
                    blocks.append(((table.numbers(name) - self.mean_[name]) / self.scale_[name])[:, None])
            elif kind == "categorical":
                blocks.append(_one_hot(table.columns[name], self.categories_[name], self._is_sparse))
            else:
                blocks.append(self.vectorizers_[name].transform(table.columns[name]))
        if self._is_sparse:
            return sparse.csr_array(sparse.hstack(blocks, format="csr", dtype=np.float64))
        return np.hstack(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: the column, column=category, or column:word."""
        check_is_fitted(self, "kinds_")
        names: list[str] = []
        for name, kind in self.kinds_.items():
            if kind == "categorical":
                names += [f"{name}={one}" for one in self.categories_[name]]
            elif kind == "text":
                names += [f"{name}:{word}" for word in self.vectorizers_[name].get_feature_names_out()]
            else:
                names.append(name)
        return np.array(names, dtype=object)

    def to_state(self) -> State:
        """Everything that was fitted, as plain values (for JSON) and arrays; `from_state` reads it."""
        check_is_fitted(self, "kinds_")
        numeric = list(self.mean_)
        arrays = {
            "mean": np.array([self.mean_[name] for name in numeric], dtype=np.float64),
            "scale": np.array([self.scale_[name] for name in numeric], dtype=np.float64),
        }
        for number, (name, kind) in enumerate(self.kinds_.items()):
            if kind == "categorical":
                arrays[f"{number}.bytes"], arrays[f"{number}.ends"] = pack(self.categories_[name])
            elif kind == "text":
                vectorizer = self.vectorizers_[name]
                arrays[f"{number}.bytes"], arrays[f"{number}.ends"] = pack(vectorizer.get_feature_names_out())
                arrays[f"{number}.idf"] = np.asarray(vectorizer.idf_, dtype=np.float64)
        return {"params": self.get_params(), "columns": [list(item) for item in self.kinds_.items()]}, arrays

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> TableEncoder:
        """The fitted encoder of a state; raises ValueError if parts do not fit together."""
        params = state["params"]
        if set(params) != {"standardise", "max_words"}:
            raise ValueError(f"parameters of the encoder must be standardise and max_words, got {sorted(params)}")
        encoder = cls(**params)
        kinds = encoder.kinds_ = check_kinds(state["columns"])
        numeric = [name for name, kind in kinds.items() if kind in ("numeric", "date")]
        mean, scale = (_floats(arrays[name], len(numeric), name) for name in ("mean", "scale"))
        if not (scale > 0).all():
            raise ValueError("scale must be greater than zero")
        encoder.mean_ = dict(zip(numeric, mean.tolist(), strict=True))
        encoder.scale_ = dict(zip(numeric, scale.tolist(), strict=True))
        encoder.categories_, encoder.vectorizers_ = {}, {}
        for number, (name, kind) in enumerate(kinds.items()):
            if kind in ("numeric", "date"):
                continue
            words = unpack(arrays[f"{number}.bytes"], arrays[f"{number}.ends"])
            if len(words) == 0 or any(one >= other for one, other in pairwise(words)):
                raise ValueError(f"categories and words of {name!r} must be different and sorted")
            if kind == "categorical":
                encoder.categories_[name] = words
            else:
                vectorizer = encoder._vectorizer()
                vectorizer.vocabulary_ = {word: position for position, word in enumerate(words.tolist())}
                vectorizer.idf_ = _floats(arrays[f"{number}.idf"], len(words), "idf")
                encoder.vectorizers_[name] = vectorizer
        encoder._count()
        return encoder

    def _words(self, name: str, texts: np.ndarray) -> TfidfVectorizer:
        try:
            return self._vectorizer().fit(texts)
        except ValueError as error:
            if "vocabulary" not in str(error):
                raise
            raise ValueError(
                f"column {name!r} is text without any word; list it in categorical=, or leave it out with drop="
            ) from None

    def _vectorizer(self) -> TfidfVectorizer:
        # Words of one character count too: a size, a grade, a note.
        return TfidfVectorizer(max_features=self.max_words, sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")

    @property
    def _is_sparse(self) -> bool:
        return bool(self.vectorizers_) or sum(map(len, self.categories_.values())) > MOST_DENSE

    def _count(self) -> None:
        sizes = [len(one) for one in self.categories_.values()] + [
            len(v.vocabulary_) for v in self.vectorizers_.values()
        ]
        self.n_features_out_ = len(self.mean_) + sum(sizes)
        self.n_features_in_ = len(self.kinds_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _spread(numbers: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation; the latter is 1 for numbers that vary only by rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = float(numbers.mean()), float(numbers.std())
    if not np.isfinite(mean) or not np.isfinite(scale):
        raise ValueError("numbers of a column are too large to be standardised; scale them down")
    return mean, scale if scale > 10 * np.finfo(np.float64).eps * abs(mean) else 1.0


def _one_hot(values: np.ndarray, categories: np.ndarray, as_sparse: bool) -> Any:
    """One column for each category; any other value has zeros."""
    place = {one: position for position, one in enumerate(categories.tolist())}
    found = np.fromiter((place.get(one, -1) for one in values.tolist()), dtype=np.int64, count=len(values))
    rows = np.flatnonzero(found >= 0)
    if as_sparse:
        ones = np.ones(len(rows))
        return sparse.csr_array((ones, (rows, found[rows])), shape=(len(values), len(categories)))
    out = np.zeros((len(values), len(categories)))
    out[rows, found[rows]] = 1.0
    return out


def _floats(array: np.ndarray, length: int, name: str) -> np.ndarray:
    if array.dtype != np.float64 or array.shape != (length,) or not np.isfinite(array).all():
        raise ValueError(f"{name} must be {length} finite numbers, got {array.dtype} of shape {array.shape}")
    return array


def make_transformer(graph: RelationGraph, encoder: Any, object_encoder: Any) -> NodeTransformer | None:
    """Transformer of a graph's nodes: a `ViewEncoder` for views, the given encoder or a `TableEncoder` for tables.

    Plain features and texts are encoded only if an encoder is given, kernel matrices never. None if nothing is.
    """
    made = [_side_encoder(graph.nodes, encoder, "encoder"), None]
    if graph.is_two_domain:
        given, name = (encoder, "encoder") if object_encoder is None else (object_encoder, "object_encoder")
        made[1] = _side_encoder(graph.objects, given, name)
    elif object_encoder is not None:
        check_transformer("object_encoder", object_encoder)
        made[1] = object_encoder
    if all(one is None or one is UNCHANGED for one in made):
        return None
    return NodeTransformer(*made)


def _side_encoder(nodes: Nodes, given: Any, name: str) -> Any:
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
    elif given is None or given == UNCHANGED or nodes.is_kernel:
        return UNCHANGED
    check_transformer(name, given)
    return given
