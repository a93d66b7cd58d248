"""Why a score is what it is: exact sums over labels, nodes, features and parts of the kernel.

A score is linear in the labels, in the products of features, and in the parts of a kernel that is a sum. Each of these
gives one way to write it as a sum of contributions. What has no such sum is refused.
"""

from condrank.explanations.explanation import Explanation
from condrank.explanations.terms import Terms

__all__ = ["Explanation", "Terms"]
