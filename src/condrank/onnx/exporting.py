"""Write a fitted ranker as an ONNX file."""

from __future__ import annotations

from typing import Any

from condrank._version import __version__
from condrank.base.checks import check_choice
from condrank.base.files import atomic_open
from condrank.models.model import Model
from condrank.onnx.graph import GraphBuilder
from condrank.onnx.sides import sides_of
from condrank.rankers.base import fitted_of


def export(ranker: Any, path: Any, *, dtype: str = "float32") -> None:
    """Write the scores of a ranker as an ONNX model, which computes what ``ranker.predict`` does.

    Inputs are ``queries`` (n_queries, n_features) and ``objects`` (n_objects, n_features), the output is ``scores``
    (n_queries, n_objects), all of one floating type. The file holds O((m + d) r) numbers for d features, m landmarks
    (or training nodes, for an exact rbf kernel) and r coordinates.

    Parameters
    ----------
    ranker : ConditionalRanker
        Fitted, with a linear or rbf kernel (exact, or approximated by Nyström landmarks), feature weights, a constant
        or a similarity prior, and dense features. For ``loss="logistic"`` scores are log-odds.
    path : path-like
        The file, usually ``model.onnx``. If writing fails, an older file stays as it was.
    dtype : {"float32", "float64"}
        Type of inputs, outputs and all numbers between. Scores in "float32" agree with double precision to about
        10⁻⁴ of their largest value if the model is well conditioned. Weak regularisation of a smooth rbf kernel is
        not: "float64" then agrees to about 10⁻⁹.

    Raises
    ------
    ValueError
        For models that cannot be exported, with what to use instead.
    ImportError
        Without the package onnx.
    """
    check_choice("dtype", dtype, ("float32", "float64"))
    if not hasattr(ranker, "fitted_") and hasattr(ranker, "ranker_"):
        raise ValueError(
            f"ranker must be a ConditionalRanker, got {type(ranker).__name__}: export its ranker_, whose inputs are "
            "the encoded columns"
        )
    model = fitted_of(ranker).model
    if not isinstance(model, Model):
        raise ValueError(
            f"only bilinear models can be exported, got {type(model).__name__}: leave compared and pairwise_kernel "
            "out; if the solver works over the edges, take another, or approximate the kernel by n_components"
        )
    queries, objects = sides_of(model)
    try:
        builder = GraphBuilder(dtype)
    except ImportError:
        raise ImportError("condrank.onnx needs onnx: pip install 'condrank[onnx]'") from None
    facts = {"relation": ranker.relation, "loss": ranker.loss, "rank_by": ranker.rank_by}
    offset = 0.0 if model.logistic else model.offset
    made = builder.model(queries, objects, offset, facts, __version__)
    with atomic_open(path, "wb") as file:
        file.write(made.SerializeToString())
