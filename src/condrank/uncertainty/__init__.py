"""How sure a fitted ranker is: variances and covariances of scores, draws of them, and the noise of the labels."""

from condrank.uncertainty.evidence import Evidence
from condrank.uncertainty.posterior import Posterior

__all__ = ["Evidence", "Posterior"]
