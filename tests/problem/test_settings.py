"""Parameters of a ranker are checked before any work, alone and together with the graph."""

import numpy as np
import pytest

from builders import LABELS, N_NODES, NODES, TWELVE_LABELS, TWELVE_NODES, refused
from condrank import ConditionalRanker, RelationGraph
from reference_incomplete import X, fit, holes


@pytest.mark.parametrize("alpha", [0, -1.0, np.nan, np.inf, None, "1", True, 1j])
def test_an_alpha_that_is_no_positive_number_is_refused(alpha):
    message = r"alpha must be a finite number greater than 0.*, got "
    refused(message, ConditionalRanker(alpha=alpha).fit, NODES, LABELS)
    refused(message, ConditionalRanker(alpha=alpha).plan, NODES, LABELS)
    fitted = ConditionalRanker().fit(NODES, LABELS)
    refused("alphas must be a finite number greater than 0", lambda: list(fitted.path([1.0, alpha])))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"relation": "skew"}, r"relation must be one of \['ordinary', 'reciprocal', 'symmetric'\], got 'skew'"),
        ({"relation": None}, "relation must be one of .* got None"),
        ({"relation": ["ordinary"]}, r"relation must be one of .* got \['ordinary'\]"),
        ({"loss": "hinge"}, r"loss must be one of \[.*'ranking'.*\], got 'hinge'"),
        ({"rank_by": "rows"}, r"rank_by must be one of \['outgoing', 'incoming'\], got 'rows'"),
        ({"prior": "kernel"}, r"prior must be one of \[None, 'similarity'\], got 'kernel'"),
        ({"solver": "magic"}, r"solver must be one of \['auto', 'closed_form'.*\], got 'magic'"),
        ({"kernel": "gauss"}, r"kernel must be a callable or one of \['linear', 'rbf'.*\], got 'gauss'"),
        ({"kernel": None}, "kernel must be a callable or one of .* got None"),
        ({"kernel": "rbf", "gamma": "scale"}, "gamma must be a finite number, got 'scale'"),
        ({"kernel": "rbf", "gamma": [0.1]}, r"gamma must be a finite number, got \[0.1\]"),
        ({"kernel": "poly", "degree": "3"}, "degree must be a finite number, got '3'"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number, got nan"),
        (
            {"feature_weights": [1.0, [1.0, 2.0], 1.0]},
            r"feature_weights must be a sequence of numbers, got \[1.0, \[1.0, 2.0\], 1.0\]",
        ),
        (
            {"relation": "reciprocal", "compared": [0, [1, 2]]},
            r"compared must be a sequence of numbers, got \[0, \[1, 2\]\]",
        ),
        ({"prior": "similarity", "prior_weight": np.nan}, "prior_weight must be a finite number, got nan"),
        ({"prior": "similarity", "prior_weight": "1"}, "prior_weight must be a finite number, got '1'"),
        (
            {"prior": "similarity", "relation": "reciprocal"},
            "prior='similarity' is symmetric and cannot be the prior of a reciprocal relation",
        ),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_it_may_be(params, message):
    refused(message, ConditionalRanker(**params).fit, NODES, LABELS)


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
def test_two_domains_need_the_ordinary_relation(relation):
    graph = RelationGraph(NODES, LABELS, objects=NODES + 1)
    refused(
        rf"relation='{relation}' needs conditioning nodes and objects of one domain, but the graph has two",
        ConditionalRanker(relation).fit,
        graph,
    )
    refused("prior='similarity' needs a single domain", ConditionalRanker(prior="similarity").fit, graph)


def test_a_graph_without_observed_edges_is_refused():
    for graph in (
        RelationGraph(NODES, np.full((N_NODES, N_NODES), np.nan)),
        RelationGraph.from_edges(NODES, [], [], []),
    ):
        refused("no observed edge: there is nothing to learn from", ConditionalRanker().fit, graph)
    refused("no observed edge", ConditionalRanker().fit, RelationGraph(NODES, LABELS)[[]])


def test_negative_widths_and_two_domains_are_refused_before_any_work():
    with pytest.raises(ValueError, match="gamma must not be negative"):
        ConditionalRanker(kernel="rbf", gamma=-1.0).fit(TWELVE_NODES, TWELVE_LABELS)
    with pytest.raises(ValueError, match="needs nodes of one domain"):
        ConditionalRanker(pairwise_kernel="mlpk").fit(
            RelationGraph(TWELVE_NODES, TWELVE_LABELS[:, :5], objects=TWELVE_NODES[:5])
        )
    with pytest.raises(ValueError, match="validation must be a RelationGraph"):
        ConditionalRanker(solver="early_stopping").fit(
            TWELVE_NODES, TWELVE_LABELS, validation=(TWELVE_NODES, TWELVE_LABELS)
        )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tol": -1e-3}, r"tol must be a finite number of at least 0, got -0\.001"),
        ({"tol": np.nan}, r"tol must be a finite number of at least 0, got nan"),
        ({"tol": "tight"}, r"tol must be a finite number of at least 0, got 'tight'"),
        ({"max_iter": 0}, r"max_iter must be a whole number of at least 1, got 0"),
        ({"max_iter": 10.5}, r"max_iter must be a whole number of at least 1, got 10\.5"),
        ({"max_iter": True}, r"max_iter must be a whole number of at least 1, got True"),
        ({"alpha": 0.0}, r"alpha must be a finite number greater than 0, got 0\.0"),
        ({"solver": "magic"}, r"solver must be one of \['auto', .*'explicit'\], got 'magic'"),
    ],
)
def test_a_wrong_option_of_the_solver_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        fit(RelationGraph(X, holes(0.5)), **params)
