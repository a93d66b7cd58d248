"""Products over observed edges: sampled products, Kronecker and other edge kernels."""
