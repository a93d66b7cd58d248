"""Choosing and judging rankers: splits for the four settings, cross-validation, tests of significance."""

from condrank.model_selection.kernel_weights import KernelWeights, learn_kernel_weights
from condrank.model_selection.leaderboard import Leaderboard, LeaderboardRow
from condrank.model_selection.left_out import left_out_scores
from condrank.model_selection.prepared import PreparedRanker
from condrank.model_selection.ranker_search import RankerSearch
from condrank.model_selection.results import CrossValidation, SettingsComparison
from condrank.model_selection.significance import Comparison, compare, compare_rankers
from condrank.model_selection.similarity_search import SimilaritySearch
from condrank.model_selection.splits import SettingShuffleSplit, SettingSplit
from condrank.model_selection.validate import cross_validate, cross_validate_settings

__all__ = [
    "Comparison",
    "CrossValidation",
    "KernelWeights",
    "Leaderboard",
    "LeaderboardRow",
    "PreparedRanker",
    "RankerSearch",
    "SettingShuffleSplit",
    "SettingSplit",
    "SettingsComparison",
    "SimilaritySearch",
    "compare",
    "compare_rankers",
    "cross_validate",
    "cross_validate_settings",
    "learn_kernel_weights",
    "left_out_scores",
]
