"""Tables as columns: reading files and frames, kinds of columns, ids, edges and kernels from tables."""
