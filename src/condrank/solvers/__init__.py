"""Solvers: from a loss, a relation and observations to the weight matrix W. They know nothing of files or printing."""
