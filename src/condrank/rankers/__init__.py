"""Rankers: the base that scores and ranks, and the scikit-learn estimator."""
