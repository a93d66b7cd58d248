"""Rankers: the base class, which scores and ranks, and the scikit-learn estimator."""
