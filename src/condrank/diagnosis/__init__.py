"""Diagnosis of a relation before modelling: which relation and which loss fit the data, and why.

``diagnose(graph)`` looks at the labels alone (no features, no fit) and returns a :class:`Diagnosis`:

* how much of the relation is symmetric and how much is skew (reciprocal), :mod:`condrank.diagnosis.relation`;
* values, degrees, loops, and what each row contains to rank, :mod:`condrank.diagnosis.degrees`;
* how much of the skew part one global order explains (Hodge split), and how many triads (three nodes) are cyclic,
  :mod:`condrank.diagnosis.cycles`;
* shares of triples that violate stochastic transitivity or T-transitivity,
  :mod:`condrank.diagnosis.transitivity`;
* a recommended relation and loss with reasons, :mod:`condrank.diagnosis.recommendation`. ``recommend(graph)`` gives
  these alone, :mod:`condrank.diagnosis.choice`.

>>> import numpy as np
>>> from condrank.diagnosis import diagnose
>>> rock_paper_scissors = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
>>> diagnosis = diagnose(rock_paper_scissors)
>>> diagnosis.recommended_relation, diagnosis.triads.n_cyclic
('reciprocal', 1)
"""

from condrank.diagnosis.choice import Recommendation, recommend
from condrank.diagnosis.cycles import CyclicTriads, HodgeSplit, cyclic_triads, hodge_split, skew_flow
from condrank.diagnosis.degrees import Degrees, Rows, describe_degrees, describe_rows
from condrank.diagnosis.relation import RelationParts, Values, describe_values, relation_parts
from condrank.diagnosis.report import Diagnosis, diagnose
from condrank.diagnosis.transitivity import (
    StochasticTransitivity,
    TTransitivity,
    stochastic_transitivity,
    t_transitivity,
)

__all__ = [
    "CyclicTriads",
    "Degrees",
    "Diagnosis",
    "HodgeSplit",
    "Recommendation",
    "RelationParts",
    "Rows",
    "StochasticTransitivity",
    "TTransitivity",
    "Values",
    "cyclic_triads",
    "describe_degrees",
    "describe_rows",
    "describe_values",
    "diagnose",
    "hodge_split",
    "recommend",
    "relation_parts",
    "skew_flow",
    "stochastic_transitivity",
    "t_transitivity",
]
