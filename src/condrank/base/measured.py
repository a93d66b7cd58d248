"""Constants that were measured, each with its unit in its name and the benchmark that sets it.

"Flops" are floating-point operations of a dense matrix product in double precision: whatever is slower counts as more
of them. ``python -m benchmarks SUITE`` measures again; docs/decisions.md says what was found. Nothing here changes a
result, only which way is taken to it and how its cost is estimated.
"""

from __future__ import annotations

# Eigendecomposition of an n×n matrix: so many n³, and so many n², which count for hundreds of nodes (suite eigh).
EIGH_FLOPS_PER_CUBED_NODE = 13.0
EIGH_FLOPS_PER_SQUARED_NODE = 5000.0
# Up to this size NumPy's LAPACK is faster, as SciPy's threads wait for those of NumPy's products (suite eigh).
NUMPY_EIGH_MOST_NODES = 1000
# Beyond this size the driver with the smaller workspace is taken (suite eigh, memory).
DIVIDE_AND_CONQUER_MOST_NODES = 32_000
# A kernel value or a cosine, beside the products (suite approximate).
KERNEL_VALUE_FLOPS = 40.0

# Sampled products: multiplications of one in multiplications of a dense product, by backend (suite products).
AT_EDGES_FLOPS_PER_MULTIPLICATION = {"numba": 14, "numpy": 50}
TIMES_FLOPS_PER_MULTIPLICATION = {"numba": 16, "numpy": 25}
# An entry of the product between the two, which is transposed for the second (suite products).
TRANSPOSED_FLOPS_PER_ENTRY = 130
# Time of a dense product in single precision, as a share of double (suite products).
SINGLE_TIME_PER_DOUBLE_TIME = 0.6
# Speed of sampled products in an iteration on W, relative to dense ones (suite products).
SAMPLED_SPEED_PER_DENSE_SPEED = 1 / 20
# Share of observed pairs from which on dense products are faster in an iteration on W (suite products).
DENSE_FROM_SHARE_OF_PAIRS = 0.065
# Below so many multiplications importing numba costs more than its loops save; below the second, threads do
# (suite products).
NUMBA_LEAST_MULTIPLICATIONS = 1 << 24
THREADS_LEAST_MULTIPLICATIONS = 1 << 23
# Entries that the NumPy loops gather at a time: 512 KiB in double precision stay in the cache (suite products).
GATHERED_ENTRIES = 1 << 16
# Nodes without an edge are left out of the kernel matrices when they are more than this share (suite grid).
IDLE_NODES_SHARE = 0.1

# An iteration on W: elementwise work for each weight, and a fixed part (suite grid).
ITERATION_FLOPS_PER_WEIGHT = 900.0
ITERATION_FLOPS = 5e7
# Time of an iteration in single precision, refined to double, as a share of double (suite grid).
REFINED_TIME_PER_DOUBLE_TIME = 0.7
# Newton's method: inner iterations in those of one least squares, and steps (suite logistic).
NEWTON_ITERATIONS_PER_ITERATION = 1.5
NEWTON_STEPS = 6
# Its preconditioner over the edges is built so many times, whenever weights differ by more than this share
# (suite logistic).
NEWTON_PRECONDITIONER_BUILDS = 4
NEWTON_STALE_WEIGHTS_SHARE = 0.1
# Conjugate gradients on a cluster, where nothing is known of the graph (suite distributed).
DISTRIBUTED_ITERATIONS = 30.0

# Looking at a sample of the kernel has to be cheap beside the fit (suite grid).
SAMPLE_LEAST_NODES = 200
SAMPLE_LEAST_FLOPS = 5e8
# From so many nodes on the sample also estimates how many eigenvalues are rounding noise (suite memory).
SAMPLE_FOR_MEMORY_LEAST_NODES = 1000

# The dual's preconditioner, per unit: product with the inverse factor, orthogonalisation, an entry of its
# features, and the
# fixed part of a step (suite grid).
PRECONDITIONER_SOLVE_FLOPS_PER_ENTRY = 15
PRECONDITIONER_QR_FLOPS_PER_ENTRY = 10
PRECONDITIONER_BUILD_FLOPS_PER_FEATURE = 250
STEP_FLOPS = 1.5e7
# Numbers of its features that are tried; fewer than the last number take no memory worth counting (suite grid,
# memory).
PRECONDITIONER_RANKS = (64, 128, 256, 512, 1024, 2048)
PRECONDITIONER_FREE_FEATURES = 256
# It is considered from so many edges on, and taken where it promises this share of the plain cost (suite grid).
PRECONDITIONER_LEAST_EDGES = 500
PRECONDITIONER_COST_SHARE = 0.7
# Eigenvectors of the first look, and by how much a plain solve has to exceed the cost of the full look (suite grid).
FIRST_LOOK_EIGENVECTORS = 8
LOOK_LEAST_COST_RATIO = 10
# Fewest and most eigenvectors of a node kernel, and the most as a share of its nodes (suite grid).
EIGENVECTORS_LEAST, EIGENVECTORS_MOST, EIGENVECTORS_SHARE_OF_NODES = 8, 600, 0.2
# Entries of its features held at a time: 8 MiB in double precision (suite memory).
FEATURE_BLOCK_ENTRIES = 1 << 20
# Rounding errors of its Gram matrix, in units of the largest entry and the machine's precision (suite grid).
GRAM_ROUNDING_EPS = 4

# Iterations on W are about this factor times ½ log(2/tol) κ^(power/2) (suite iterations).
PRIMAL_ITERATIONS_FACTOR, PRIMAL_ITERATIONS_CONDITION_POWER = 0.7, 1.25
# Degrees count as uneven from this coefficient of variation on; no node weighs less than this share of the mean
# (suite iterations).
UNEVEN_DEGREES_VARIATION = 0.3
LEAST_NODE_WEIGHT_SHARE = 0.1

# Single precision: relative residual of a round, the share of the last residual above which a round was lost,
# iterations after
# which a round is looked at, and λ in rounding errors of the largest eigenvalue below which it drowns (suite
# iterations).
ROUND_RELATIVE_RESIDUAL = 1e-6
LOST_ROUND_RESIDUAL_SHARE = 0.1
ROUND_MOST_ITERATIONS = 300
DROWNED_ALPHA_EPS = 2
# Edges up to which one factorisation of all of them takes a few seconds at most (suite peers).
EXPLICIT_QUICK_EDGES = 3000
# Up to this size a Cholesky factor costs less than the calls of an iteration (suite path).
CHOLESKY_MOST_ROWS = 400
# Most numbers in double precision that scikit-learn's distances hold beside those in single precision (suite memory).
DISTANCE_UPCAST_ENTRIES = 10 * 2**17
