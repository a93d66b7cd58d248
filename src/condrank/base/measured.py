"""Constants that were measured, each with its unit in its name and the benchmark suite that sets it in a comment.

"Flops" are floating-point operations of a dense matrix product in double precision. Slower operations count as more
of them. ``python -m benchmarks SUITE`` measures again; docs/decisions.md says what was found. A constant here changes
the speed or the memory of a computation and the estimate of its cost. Only those under "Approximations" also change a
result.
"""

from __future__ import annotations

# Blocks

# Entries of a block of rows: 32 MiB in double precision (suite memory).
BLOCK_ENTRIES = 1 << 22
# Entries of a block whose temporary arrays should stay in the processor's cache: 1 MiB in double precision (suite fit).
CACHED_ENTRIES = 1 << 17
# Rows of a square that is read in one order and written in another, and should stay in the cache (suite fit).
CACHED_SQUARE_ROWS = 256
# Entries of a block of dense node features: 2 MiB in single precision stay in the cache (suite million).
DENSE_FEATURES_BLOCK_ENTRIES = 1 << 19
# Rows of a block of sparse node features (suite classes).
SPARSE_FEATURES_BLOCK_ROWS = 1 << 16
# Most entries of node features that are copied at a time: 64 MiB in double precision (suite search_memory).
COPIED_FEATURES_ENTRIES = 1 << 23

# Node kernels

# Eigendecomposition of an n×n matrix: flops per n³, and per n², which matter for hundreds of nodes (suite eigh).
EIGH_FLOPS_PER_CUBED_NODE = 13.0
EIGH_FLOPS_PER_SQUARED_NODE = 5000.0
# Up to this size NumPy's LAPACK is faster, because SciPy's threads wait for those of NumPy's products (suite eigh).
NUMPY_EIGH_MOST_NODES = 1000
# Above it, the threads of NumPy's products delay SciPy's eigendecomposition by some 50 ms, as they wait for more work
# for 100 ms. Products of at most so many flops take less than that longer by one thread (suite fit).
ONE_THREAD_BEFORE_EIGH_MOST_FLOPS = 5e9
# Above this size the driver with the smaller workspace is used (suites eigh and memory).
DIVIDE_AND_CONQUER_MOST_NODES = 32_000
# A kernel value or a cosine, in addition to the products (suite approximate).
KERNEL_VALUE_FLOPS = 40.0
# Most numbers in double precision that scikit-learn's distances hold in addition to those in single precision (suite
# memory).
DISTANCE_UPCAST_ENTRIES = 10 * 2**17

# Sample of the node kernel, from which a plan estimates the eigenvalues

# A sample must be cheap compared with the fit: it is taken from this many nodes and flops on (suite grid).
SAMPLE_LEAST_NODES = 200
# The smaller of two domains is sampled from this many nodes on: up to 64 of them are all taken.
SAMPLE_LEAST_OBJECTS = 20
SAMPLE_LEAST_FLOPS = 1.5e9
# From this many nodes on the sample also estimates how many eigenvalues are rounding noise (suite memory).
SAMPLE_FOR_MEMORY_LEAST_NODES = 1000
# Nodes of the sample: a share of all nodes, and the least and the most (suite grid).
SAMPLED_NODES_SHARE, SAMPLED_NODES_LEAST, SAMPLED_NODES_MOST = 0.25, 64, 300

# Sampled products

# Multiplications of a dense product of the same precision that take as long as one of a sampled product, by backend
# (suite products).
AT_EDGES_FLOPS_PER_MULTIPLICATION = {"numba": 7, "numpy": 50}
TIMES_FLOPS_PER_MULTIPLICATION = {"numba": 8, "numpy": 25}
# An entry of the result of the first product, which is transposed for the second (suite products).
TRANSPOSED_FLOPS_PER_ENTRY = 60
# Time of a dense product in single precision, as a share of double (suite products).
SINGLE_TIME_PER_DOUBLE_TIME = 0.6
# Speed of sampled products in an iteration on W, relative to dense ones (suite products).
SAMPLED_SPEED_PER_DENSE_SPEED = 1 / 20
# Share of observed pairs from which on dense products are faster in an iteration on W (suite products).
DENSE_FROM_SHARE_OF_PAIRS = 0.065
# With fewer multiplications, importing numba takes longer than its loops save, and starting threads does (suite
# products).
NUMBA_LEAST_MULTIPLICATIONS = 1 << 24
THREADS_LEAST_MULTIPLICATIONS = 1 << 23
# Entries that the NumPy loops gather at a time: 512 KiB in double precision stay in the cache (suite products).
GATHERED_ENTRIES = 1 << 16
# A kernel matrix in single precision beyond this size is copied into panels of columns; entries of a panel, 6 MiB; and
# its least columns (suite logistic).
PANELS_LEAST_BYTES = 24 * 2**20
PANEL_ENTRIES = 3 << 19
PANEL_LEAST_COLUMNS = 512
# Nodes without an edge are left out of the kernel matrices if they are more than this share of all (suite grid).
IDLE_NODES_SHARE = 0.1

# Iterations

# An iteration on W: elementwise work for each weight, and a fixed part (suite grid).
ITERATION_FLOPS_PER_WEIGHT = 900.0
ITERATION_FLOPS = 5e7
# Time of an iteration in single precision, refined to double, as a share of double (suite grid).
REFINED_TIME_PER_DOUBLE_TIME = 0.7
# Many λ (suite lambdas): iterations on W from the solutions for other λ are one and this factor times the logarithm of
# those from zero. The cost of judging them over the edges, in products for each λ.
STARTED_ITERATIONS_PER_LOG = 0.8
JUDGED_PRODUCTS_PER_ALPHA = 1.5
# Newton's method: its inner iterations per iteration of one least-squares solve, and its steps (suite logistic).
NEWTON_ITERATIONS_PER_ITERATION = 1.5
NEWTON_STEPS = 6
# Its preconditioner over the edges is built this many times, whenever weights differ by more than this share (suite
# logistic).
NEWTON_PRECONDITIONER_BUILDS = 5
NEWTON_STALE_WEIGHTS_SHARE = 0.01
# Conjugate gradients on a cluster, where nothing is known of the graph (suite distributed).
DISTRIBUTED_ITERATIONS = 30.0
# Iterations on W are about this factor times ½ log(2/tol) κ^(power/2) (suite iterations).
PRIMAL_ITERATIONS_FACTOR, PRIMAL_ITERATIONS_CONDITION_POWER = 0.7, 1.25
# Degrees count as uneven from this coefficient of variation on. No node weighs less than this share of the mean (suite
# iterations).
UNEVEN_DEGREES_VARIATION = 0.3
LEAST_NODE_WEIGHT_SHARE = 0.1
# Known pairs among sampled nodes (suite grid): as many directions as give the density of a random sample this variance,
# the least number of them, and Lanczos steps for the extremes.
KNOWN_NOISE_VARIANCE = 0.1
KNOWN_DIRECTIONS_LEAST = 16
KNOWN_LANCZOS_STEPS = 15
# With more nodes these extremes are taken to grow as this power of the logarithm of the number of directions: ½ for
# normal numbers, 1 for exponential ones.
KNOWN_GROWTH_POWER = 0.75
# Iterations over the edges of such a graph, relative to those of a random sample of the pairs: expected by eigenvalues,
# and by mean squares (suites uneven and grid).
UNEVEN_ITERATIONS_FACTOR = 1.4
UNEVEN_MEAN_SQUARES_FACTOR = 1.5
# Single precision (suite iterations): the relative residual of a round; the share of the last residual above which a
# round was lost; iterations after which a round is checked; and the λ, in rounding errors of the largest eigenvalue,
# below which λ is lost in rounding.
ROUND_RELATIVE_RESIDUAL = 1e-6
LOST_ROUND_RESIDUAL_SHARE = 0.1
ROUND_MOST_ITERATIONS = 300
DROWNED_ALPHA_EPS = 2
# Up to this number of edges one factorisation of all of them takes at most a few seconds (suite peers).
EXPLICIT_QUICK_EDGES = 3000

# The dual's preconditioner

# Flops per entry of the product with the inverse factor and of the orthogonalisation, per entry of its features, and
# the fixed part of a step (suite grid).
PRECONDITIONER_SOLVE_FLOPS_PER_ENTRY = 15
PRECONDITIONER_QR_FLOPS_PER_ENTRY = 10
PRECONDITIONER_BUILD_FLOPS_PER_FEATURE = 250
STEP_FLOPS = 1.5e7
# Numbers of features that are tried. Up to the last number they take no memory worth counting (suites grid and memory).
PRECONDITIONER_RANKS = (64, 128, 256, 512, 1024, 2048)
PRECONDITIONER_FREE_FEATURES = 256
# It is considered from this many edges on, and used if it promises at most this share of the plain cost (suite grid).
PRECONDITIONER_LEAST_EDGES = 500
PRECONDITIONER_COST_SHARE = 0.7
# Eigenvectors of the first look, and how many times the cost of the full look a plain solve has to cost, and at least
# (suite grid).
FIRST_LOOK_EIGENVECTORS = 8
LOOK_LEAST_COST_RATIO = 10
LOOK_LEAST_FLOPS = 1.5e9
# Least and most eigenvectors of a node kernel, and the most as a share of its nodes (suite grid).
EIGENVECTORS_LEAST, EIGENVECTORS_MOST, EIGENVECTORS_SHARE_OF_NODES = 8, 600, 0.2
# It is judged after this many iterations, and dropped if the logarithm of the residual has fallen by less than this
# share of what was expected. A first choice, not tuned.
TRIAL_ITERATIONS = 15
TRIAL_LEAST_PROGRESS_SHARE = 0.2
# Main effects (suite constants): nodes of the sample that shows the constant in a kernel, and what is added to its
# diagonal, as a share.
CONSTANT_SAMPLE_NODES = 400
CONSTANT_RIDGE_SHARE = 0.01
# Rounding errors of its factor, in units of the strongest effect and the machine's precision, that must stay below μ:
# with a hundredth of it, single precision took three times the iterations of double on Metz with a constant.
EFFECTS_ROUNDING_EPS = 300
# Up to this number of effects one thread factorises sooner than the threads of SciPy, for which those of the products
# wait.
ONE_THREAD_MOST_EFFECTS = 3000
# An entry of its factor, and of the kernel of the effects, in an iteration.
SOLVED_FLOPS_PER_ENTRY = 8
# Entries of its features held at a time: 8 MiB in double precision (suite memory).
FEATURE_BLOCK_ENTRIES = 1 << 20
# Rounding errors of its Gram matrix, in units of the largest entry and the machine's precision (suite grid).
GRAM_ROUNDING_EPS = 4

# Clusters

# Partitions of the edges (suite distributed): at least this many per thread, so that all threads end at about the same
# time; at most about this many edges in one; and the most of all, as every part of an edge list may have edges for
# every partition.
PARTITIONS_LEAST_PER_THREAD = 4
PARTITION_MOST_EDGES = 1 << 20
PARTITIONS_MOST = 1024
# Runs of nodes whose edges are counted together to place the bounds of partitions (suite distributed).
COUNTED_RUNS = 4096
# Results that one task adds up on the way from many blocks to one sum (suite distributed).
JOINED_RESULTS_PER_TASK = 8
# Up to this many nodes per edge, marking the nodes that occur is faster than sorting them (suite distributed).
MARKED_MOST_NODES_PER_EDGE = 16

# Metrics

# With fewer entries, importing numba takes longer than the NumPy loops (suite metrics).
METRICS_NUMBA_LEAST_ENTRIES = 1 << 20
# With at most this many levels of relevance, one pass per level is faster than sorting the relevances (suite metrics).
COUNTED_LEVELS_MOST = 8
# Parts of a permutation up to this width are counted pair by pair, which is fast with SIMD instructions (suite
# metrics).
PAIRWISE_COUNT_MOST_WIDTH = 32
# Runs of ties up to this length are sorted by insertion (suite metrics).
INSERTION_SORT_MOST_TIES = 48

# Pairs of nodes (suite judging): pairs that are scored at a time if nodes are hardly repeated; features of a linear
# kernel up to which coordinates are made sooner than equal nodes are found; and entries of the coordinates of different
# nodes that are held at a time, 256 MiB in double precision.
ALIGNED_PAIRS = 4096
CHEAP_FEATURES_MOST = 64
ALIGNED_COORDINATES_ENTRIES = 1 << 25

# Held-out labels, and weights of W, up to which several λ are computed side by side, each in one thread (suite folds).
SIDE_BY_SIDE_MOST_ENTRIES = 1 << 21
# Multiplications of the scores of held-out pairs from which single precision is tried (suite folds).
ROUGH_LEAST_MULTIPLICATIONS = 1 << 25

# Index

# Objects of a block: with 128 numbers each, 1 MiB in single precision (suite top).
INDEX_BLOCK_OBJECTS = 1 << 11
# Least scores of a block for few conditioning nodes, and most scores of any block (suite top).
INDEX_BLOCK_LEAST_SCORES = 1 << 17
INDEX_BLOCK_MOST_SCORES = 1 << 22
# From this many scores on, the rows of a block are cut into this many parts, for threads (suite top).
SELECTION_THREADS_LEAST_SCORES = 1 << 19
SELECTION_PARTS = 4
# Least conditioning nodes of a thread, if each thread multiplies and selects on its own (suite top).
INDEX_THREADS_LEAST_QUERIES = 16
# Numbers of the found vectors that are gathered at a time: 4 MiB in double precision (suite top).
FOUND_VECTORS_ENTRIES = 1 << 19
# Objects added to the inverted lists before a search may have its turn (suite serving).
LIST_ADDED_OBJECTS = 1 << 13
# Products with centroids that a thread makes at a time: 4 MiB (suite top).
LIST_ASSIGNED_OBJECTS = 1 << 20
# Least conditioning nodes of a part for a thread, for the search of lists (suite top).
LIST_SEARCH_LEAST_QUERIES = 8
# Conditioning nodes whose found objects a model scores together (suite top).
FOUND_TOGETHER_QUERIES = 16

# Approximations: these change results, within the accuracy that an approximation has

# Nodes among which k-means and pivoting look for landmarks, for each landmark and at least (suite approximate).
LANDMARK_SAMPLE_NODES_PER_LANDMARK = 10
LANDMARK_SAMPLE_LEAST_NODES = 5_000
# Pivots that are proposed at a time (suite approximate).
PROPOSED_PIVOTS = 128
# Objects from which search coordinates are balanced, and the share of the first axis's extent below which an axis is
# dropped (suite top).
BALANCE_SAMPLE_OBJECTS = 10_000
BALANCE_LEAST_AXIS_SHARE = 1e-3
# Objects, and conditioning nodes, whose scores make search coordinates if no vectors do (suite top).
SCORE_SAMPLE = 512
# Lists of n objects, in √n; objects for each list from which its centroid is computed, and iterations of k-means
# (suite top).
LISTS_PER_ROOT = 2
CENTROID_SAMPLE_PER_LIST = 40
CENTROID_ITERATIONS = 8
# Conditioning nodes whose exact answers of this length tell how many lists to scan, and how many objects may be fetched
# for each object of an answer (suite top).
RECALL_SAMPLE_QUERIES = 200
RECALL_TOP = 10
RECALL_FETCHED = (2, 4, 8, 16, 32)
# Lists are searched only if the objects are at least this many times those to fetch; otherwise the search is exact
# (suite top).
LIST_LEAST_OBJECTS_PER_FETCHED = 10
