"""Products over the observed edges: sampled products, Kronecker kernels and other edge kernels."""
