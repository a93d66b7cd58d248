"""What a search decides from its judgements: which candidates may be the best, which one is taken, and why in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from condrank.model_selection.candidates import Candidate
from condrank.model_selection.judging import Judged, simplest
from condrank.model_selection.leaderboard import Leaderboard, LeaderboardRow

# A difference of so many standard errors is clear; at most so many candidates are judged again if none is.
CLEAR, FINALISTS = 2.0, 8
# Rank loss of guessing, and how sure it must be that what is learned is better.
GUESSING, SURE = 0.5, 0.975


@dataclass
class Decision:
    """Candidates that were judged on the same holdouts.

    Attributes
    ----------
    judged : list of Judged
        All of them.
    finalists : list of Judged
        Those that were judged again, on these holdouts and more; empty if there was no time or no doubt.
    """

    judged: list[Judged] = field(default_factory=list)
    finalists: list[Judged] = field(default_factory=list)

    @property
    def best(self) -> Judged | None:
        """The simplest of all that is learned and about as good as the best; None if nothing is."""
        learned = [one for one in self.judged if not one.candidate.is_baseline]
        return simplest(learned) if learned else None

    def contenders(self) -> list[Judged]:
        """Candidates that may be the best: the simplest of the best and the best baseline first, then by their losses.

        Without others that may be the best there is nothing to decide, and the list is empty.
        """
        best, ranked = self.best, sorted(self.judged, key=lambda one: one.loss)
        open_ones = [one for one in ranked if _may_be_best(one, ranked[0])]
        baselines = [one for one in ranked if one.candidate.is_baseline]
        more = [one for one in baselines if best is not None and _may_be_best(one, best)]
        if best is None or (len(open_ones) < 2 and not more):
            return []
        found = [best, *baselines[:1], *open_ones[:FINALISTS], *more[: FINALISTS // 2]]
        return list({id(one): one for one in found}.values())

    def chosen(self) -> Candidate:
        """The simplest of the best: a baseline, unless what was learned is preferred to all good baselines."""
        among = self.finalists or self.judged
        learned, baselines = ([one for one in among if one.candidate.is_baseline == kind] for kind in (False, True))
        if not baselines:
            return simplest(learned).candidate
        first = min(baselines, key=lambda one: one.loss)
        if not learned:
            return first.candidate
        best, rivals = simplest(learned), [one for one in baselines if not first.is_better(one)]
        is_learned = all(map(best.is_preferred, rivals)) and _is_above_chance(best)
        return best.candidate if is_learned else first.candidate

    def leaderboard(self, chosen: Candidate) -> Leaderboard:
        """Everything that was judged; the chosen candidate without a loss if nothing was."""
        if not self.judged:
            nan = float("nan")
            return Leaderboard([LeaderboardRow(chosen.name, nan, nan, 0.0, False, True, chosen_params(chosen.ranker))])
        return Leaderboard([row_of(one, one.candidate is chosen) for one in self.judged])

    def summary(self, chosen: Candidate, loss: float, held_out_by: str) -> str:
        """What was chosen, and what it gains over the best baseline."""
        if not self.judged:
            return f"Too little can be held out to judge anything: the default, {chosen.name}, was fitted."
        found = next(one for one in [*self.finalists, *self.judged] if one.candidate is chosen)
        measured = f"rank loss {found.loss:.4f} ± {found.standard_error:.4f}"
        if not any(found is one for one in self.judged):  # so it is not the number of the leaderboard
            measured += " on more holdouts"
        new = f", {loss:.4f} on reserved {held_out_by}" if loss == loss else ""
        if chosen.is_baseline:
            return f"Learning adds nothing over the best baseline, {chosen.name} ({measured}{new}), which is returned."
        baselines = [one for one in self.finalists or self.judged if one.candidate.is_baseline]
        if not baselines:
            return f"Chosen: {chosen.name} ({measured}{new}); no baseline was tried."
        baseline = min(baselines, key=lambda one: one.loss)
        difference, error = found.against(baseline)
        return (
            f"Chosen: {chosen.name} ({measured}{new}), {-difference:.4f} ± {error:.4f} lower than the best baseline, "
            f"{baseline.candidate.name} ({baseline.loss:.4f})."
        )


def _may_be_best(found: Judged, best: Judged) -> bool:
    """Whether it is not clear that a candidate is worse than the best one."""
    difference, error = found.against(best)
    return difference <= CLEAR * error


def _is_above_chance(found: Judged) -> bool:
    """Whether a loss is surely below that of guessing, by Student's t: of many candidates one is below it on noise."""
    error, n_units = found.standard_error, len(np.unique(found.unit))
    return n_units < 2 or found.loss < GUESSING - stdtrit(n_units - 1, SURE) * error


def chosen_params(ranker: Any) -> dict[str, Any]:
    """Parameters that differ from the defaults, without those of the precision."""
    defaults, found = type(ranker)().get_params(deep=False), ranker.get_params(deep=False)
    left_out = ("tol", "max_iter")
    return {name: value for name, value in found.items() if name not in left_out and value != defaults[name]}


def row_of(found: Judged, chosen: bool = False) -> LeaderboardRow:
    """The row of a leaderboard."""
    one = found.candidate
    params = {"preparation": one.preparation} | chosen_params(one.ranker)
    return LeaderboardRow(one.name, found.loss, found.standard_error, found.seconds, one.is_baseline, chosen, params)
