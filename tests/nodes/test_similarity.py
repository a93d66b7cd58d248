"""Kernel values between nodes: precomputed matrices and callables, and kernels whose nodes have ids."""

from scipy import sparse

from builders import KERNEL, LABELS, NODES, refused, with_entry
from condrank import ConditionalRanker


def test_a_kernel_matrix_that_is_not_symmetric_is_refused():
    bad = with_entry(KERNEL, 1, 2, KERNEL[1, 2] + 0.25)
    refused(
        r"the precomputed kernel matrix is not symmetric: K and its transpose differ by up to 0\.25 "
        r"\(largest entry 1\); symmetrise it with \(K \+ K\.T\) / 2",
        ConditionalRanker(kernel="precomputed").fit,
        bad,
        LABELS,
    )
    ConditionalRanker(kernel="precomputed").fit(with_entry(KERNEL, 1, 2, KERNEL[1, 2] + 1e-15), LABELS)


def test_a_kernel_matrix_of_a_wrong_form_is_refused():
    ranker = ConditionalRanker(kernel="precomputed")
    refused(r"kernel='precomputed' needs a square kernel matrix as X, got shape \(6, 3\)", ranker.fit, NODES, LABELS)
    refused(
        "needs a dense kernel matrix as X, got a sparse one; use X.toarray",
        ranker.fit,
        sparse.csr_array(KERNEL),
        LABELS,
    )
    ranker.fit(KERNEL, LABELS)
    message = "the given nodes must have 6 columns, kernel values against the training nodes, got 4"
    refused(message, ranker.predict, KERNEL[:, :4])
    refused(message, ranker.predict, KERNEL, KERNEL[:, :4])
    refused(message, ranker.predict_edges, KERNEL[:, :4], KERNEL[:, :4])


def test_a_similarity_prior_without_the_kernel_between_new_nodes_is_refused():
    ranker = ConditionalRanker(kernel="precomputed", prior="similarity").fit(KERNEL, LABELS)
    rows = KERNEL[:2].copy()
    refused("has only their rows against the training nodes; pass subgraphs", ranker.predict, rows, KERNEL[3:].copy())
    refused("has only their rows against the training nodes; pass subgraphs", ranker.predict_edges, rows, rows)


def test_callable_kernels_that_are_asymmetric_or_not_finite_are_refused():
    def order(x, y):
        return float(x[0])

    def broken(x, y):
        return float("nan")

    refused("the order kernel matrix is not symmetric", ConditionalRanker(kernel=order).fit, NODES, LABELS)
    refused(
        "the broken kernel gave values that are NaN or infinite", ConditionalRanker(kernel=broken).fit, NODES, LABELS
    )
