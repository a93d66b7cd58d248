"""TableEncoder: features of a table, learned from its training rows, with a state of plain arrays."""

from __future__ import annotations

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
from condrank.nodes.views import Views
from condrank.persistence.arrays import Arrays, Held
from condrank.tables.imputing import STRATEGIES, fill_from, fill_to, filled_numbers, filled_words, learn_fill

MOST_DENSE = 1000  # categories
NUMBERS_VIEW, TEXT_VIEW, ALONE = "numbers", "text", ""  # of a table that is split; the last one of any other
LATER = ("split", "impute", "prepare")  # parameters that older versions do not have
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
    split : bool
        Whether a table with texts and other columns becomes two views, "numbers" (numbers, dates and categories) and
        "text", so that a kernel can treat each in its own way: ``RBF("median", view="numbers") +
        Cosine(view="text")``. Other tables are not split.
    impute : {"median", "mean", "most_frequent", "constant"}, optional
        How missing values are filled in, as scikit-learn's ``SimpleImputer`` does, learned from the training rows and
        also used for new ones. Numbers and dates get the median, mean or most frequent value, or 0; categories the
        most frequent one, or a category of their own with "constant"; a missing text is empty. By default missing
        values are an error.
    prepare : {"standard", "quantile", "unit"}, optional
        What is done to the features last, learned from the training rows: standardised, mapped to their quantiles, or
        each row scaled to unit length; a search over models may choose it. By default nothing.

    Attributes
    ----------
    kinds_ : dict of str
        Kind of each column, in order.
    mean_, scale_ : dict of float
        Mean and standard deviation of the numeric and date columns.
    categories_ : dict of ndarray
        Categories of the categorical columns, sorted.
    vectorizers_ : dict of TfidfVectorizer
        Fitted vectorizers of the text columns; a text becomes a vector of length one.
    fill_ : dict
        What is filled in for a missing value of each column; empty without ``impute``.
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
    fill_: dict[str, float | str]
    scalings_: dict[str, Any]
    n_features_out_: int

    def __init__(
        self,
        standardise: bool = True,
        max_words: int | None = None,
        split: bool = False,
        impute: str | None = None,
        prepare: str | None = None,
    ):
        self.standardise = standardise
        self.max_words = max_words
        self.split = split
        self.impute = impute
        self.prepare = prepare

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn means, categories and words of a table; y is ignored."""
        check_choice("standardise", self.standardise, (False, True))
        if self.max_words is not None:
            check_count("max_words", self.max_words)
        check_choice("split", self.split, (False, True))
        check_choice("impute", self.impute, (None, *STRATEGIES))
        check_choice("prepare", self.prepare, (None, "standard", "quantile", "unit"))
        table = self._checked(Table.read(X, allow_missing=self.impute is not None))
        self.kinds_ = dict(table.kinds)
        self.fill_ = {} if self.impute is None else learn_fill(table, self.impute)
        self.mean_, self.scale_, self.categories_, self.vectorizers_ = {}, {}, {}, {}
        for name, kind in table.kinds.items():
            if kind in ("numeric", "date"):
                numbers = filled_numbers(table, name, self.fill_)
                self.mean_[name], self.scale_[name] = _spread(numbers) if self.standardise else (0.0, 1.0)
            elif kind == "categorical":
                found = set(filled_words(table, name, self.fill_).tolist())
                # New rows may have missing values, even if no training row had one.
                own = {str(self.fill_[name])} if self.impute == "constant" else set()
                self.categories_[name] = np.array(sorted(found | own), dtype=object)
            else:
                self.vectorizers_[name] = self._words(name, table.columns[name])
        self._count()
        self.scalings_ = {}
        if self.prepare is not None:
            from condrank.model_selection.preparation import Scaling

            self.scalings_ = {view: Scaling.fit(self.prepare, X) for view, X in self._views(table).items()}
        return self

    def transform(self, X: Any) -> Any:
        """Features (n_rows, n_features) of a table with the columns of training; views of them if it is split."""
        check_is_fitted(self, "kinds_")
        table = self._checked(Table.of_kinds(X, self.kinds_, allow_missing=self.impute is not None))
        views = self._views(table)
        if self.prepare is not None:
            views = {view: self.scalings_[view].apply(X) for view, X in views.items()}
        return Views(views) if self.is_split else views[ALONE]

    def _views(self, table: Table) -> dict[str, Any]:
        """Features by view, before they are prepared."""
        if not self.is_split:
            return {ALONE: self._block(table, list(self.kinds_), bool(self.vectorizers_) or self._has_many)}
        texts = list(self.vectorizers_)
        others = [name for name in self.kinds_ if name not in texts]
        return {NUMBERS_VIEW: self._block(table, others, self._has_many), TEXT_VIEW: self._block(table, texts, True)}

    @property
    def is_split(self) -> bool:
        """Whether the columns become two views."""
        return self.split and 0 < len(self.vectorizers_) < len(self.kinds_)

    def _checked(self, table: Table) -> Table:
        if self.impute is None and table.has_gaps:
            name = next(name for name in table.kinds if table.gaps(name).any())
            raise ValueError(
                f"column {name!r} has {int(table.gaps(name).sum())} missing values: fill them with impute='median'"
            )
        return table

    def _block(self, table: Table, names: list[str], as_sparse: bool) -> Any:
        """Features of some columns."""
        blocks: list[Any] = []
        for name in names:
            kind = self.kinds_[name]
            if kind in ("numeric", "date"):
                numbers = filled_numbers(table, name, self.fill_)
                with np.errstate(over="ignore"):  # reported by the check of the features
                    blocks.append(((numbers - self.mean_[name]) / self.scale_[name])[:, None])
            elif kind == "categorical":
                words = filled_words(table, name, self.fill_)
                blocks.append(_one_hot(words, self.categories_[name], as_sparse))
            else:
                blocks.append(self.vectorizers_[name].transform(table.columns[name]))
        if as_sparse:
            return sparse.csr_array(sparse.hstack(blocks, format="csr", dtype=np.float64))
        return np.hstack(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: the column, column=category, or column:word. Those of split texts come last."""
        check_is_fitted(self, "kinds_")
        names: list[str] = []
        for name, kind in sorted(self.kinds_.items(), key=lambda item: self.is_split and item[1] == "text"):
            if kind == "categorical":
                names += [f"{name}={one}" for one in self.categories_[name]]
            elif kind == "text":
                names += [f"{name}:{word}" for word in self.vectorizers_[name].get_feature_names_out()]
            else:
                names.append(name)
        return np.array(names, dtype=object)

    def feature_columns(self, view: str | None = None) -> list[str]:
        """The column that each feature was made of; of one of the two views if the columns are split."""
        check_is_fitted(self, "kinds_")
        names: list[str] = []
        for name, kind in self.kinds_.items():
            if view is not None and (kind == "text") != (view == TEXT_VIEW):
                continue
            sizes = {"categorical": self.categories_, "text": {n: v.vocabulary_ for n, v in self.vectorizers_.items()}}
            names += [name] * (len(sizes[kind][name]) if kind in sizes else 1)
        return names

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
        if self.impute is not None:
            arrays |= fill_to(self.fill_)
        ways = [
            [view, one.to_state(Arrays(arrays, f"scaling{i}"))] for i, (view, one) in enumerate(self.scalings_.items())
        ]
        # Parameters that came later are written only if they are used, so that older versions read the others.
        later = {name: value for name, value in self.get_params().items() if name in LATER and value}
        params = {"standardise": self.standardise, "max_words": self.max_words} | later
        state = {"params": params, "columns": [list(item) for item in self.kinds_.items()]}
        return state | ({"scalings": ways} if ways else {}), arrays

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> TableEncoder:
        """The fitted encoder of a state; raises ValueError if parts do not fit together."""
        params = state["params"]
        if not {"standardise", "max_words"} <= set(params) <= set(cls().get_params()):
            raise ValueError(f"parameters of the encoder must be {sorted(cls().get_params())}, got {sorted(params)}")
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
        encoder.fill_ = {} if encoder.impute is None else fill_from(kinds, arrays)
        encoder._count()
        encoder.scalings_ = {}
        if encoder.prepare is not None:
            from condrank.model_selection.preparation import Scaling

            sizes = encoder.sizes
            if [view for view, _ in state["scalings"]] != [*sizes]:
                raise ValueError(f"the scalings must be those of {[*sizes]}, got {state['scalings']!r:.60}")
            for number, (view, way) in enumerate(state["scalings"]):
                held = Held(arrays).under(f"scaling{number}")
                encoder.scalings_[view] = Scaling.from_state(way, held, sizes[view])
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
    def _has_many(self) -> bool:
        """Whether there are too many categories for a dense array."""
        return sum(map(len, self.categories_.values())) > MOST_DENSE

    @property
    def sizes(self) -> dict[str, int]:
        """Number of features of each view."""
        if not self.is_split:
            return {ALONE: self.n_features_out_}
        words = sum(len(one.vocabulary_) for one in self.vectorizers_.values())
        return {NUMBERS_VIEW: self.n_features_out_ - words, TEXT_VIEW: words}

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
