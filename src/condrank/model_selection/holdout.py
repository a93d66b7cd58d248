"""What a search holds out to choose λ, and how it is described."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from condrank.base.checks import check_choice, check_count, check_number
from condrank.fitting.judging import rankable
from condrank.fitting.plan import Plan
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.fold import Fold
from condrank.model_selection.folds import read_folds
from condrank.model_selection.held_out import HeldOutPairs, Shortcut, check_one_out, one_out
from condrank.model_selection.splits import SettingShuffleSplit, SettingSplit
from condrank.problem.settings import Settings

HOLDOUT = "holdout"
# The λ to try with cv="holdout" if each needs a fit, and the most iterations of these fits.
ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
ROUGH_MAX_ITER = 100
# The residual of fits to folds: enough to see which λ ranks best. Over the edges most λ stop before, when their loss
# has settled. Newton's method needs less: its last step is precise.
SEARCH_TOL, NEWTON_SEARCH_TOL = 1e-4, 1e-2
# With fewer edges a search is as precise as the last fit, as it takes little time anyway, unless cv="holdout".
SETTLING_LEAST_EDGES = 20_000
# Up to this many edges: number of holdouts, and share of nodes (or edges) held out. With many edges, half of the nodes
# are enough to learn from, and one holdout is enough to choose λ, which does not grow with the number of edges.
HOLDOUTS = ((5_000, 5, 0.3), (20_000, 3, 0.3), (float("inf"), 1, 0.5))
# With fewer edges than this among held-out nodes, edges are held out instead.
FEW_EDGES = 100
ONE_OUT = {
    "leave-query-out": "leaving out one row at a time",
    "leave-node-out": "leaving out one node at a time",
    "leave-edge-out": "leaving out one edge at a time",
}
SETTINGS = {"leave-query-out": 2, "leave-edge-out": 1}  # leaving a node out is between settings 2 and 4
NOTHING = "nothing to choose it by: too few edges to hold some out"


@dataclass(frozen=True)
class SearchPlan(Plan):
    """What a search will do: the plan of its last fit, to the whole graph, and how λ is chosen before it.

    Attributes
    ----------
    n_alphas : int
        Number of λ that are tried; 1 if there is nothing to choose by.
    chosen_by : str
        What is held out to choose λ, in words.
    searched_by : str
        How the λ of a fold are solved, in words; empty if a further λ costs next to nothing.
    """

    n_alphas: int = 1
    chosen_by: str = ""
    searched_by: str = ""

    def __str__(self) -> str:
        how = f", {self.searched_by}" if self.searched_by else ""
        return f"{super().__str__()}; {self.n_alphas} values of λ are tried{how}, {self.chosen_by}"


class HoldingOut(NamedTuple):
    """What is held out, fold by fold.

    Attributes
    ----------
    n_folds : int or None
        How many folds there will be; None if that is not known.
    folds : iterator of callables, or None
        Each makes the held-out pairs of one fold, for a ranker, prior weights and values of λ. None if nothing can be
        held out.
    described : str
        What is held out, in words.
    setting : int or None
        What is new in the held-out pairs, by the four settings; None if it is not one of them, or not known.
    """

    n_folds: int | None
    folds: Iterator[Callable[..., HeldOutPairs]] | None
    described: str
    setting: int | None = None


def is_holdout(cv: Any) -> bool:
    """Whether a search chooses by itself what to hold out, for a quick search."""
    return isinstance(cv, str) and cv == HOLDOUT


def settles(ranker: Any, graph: RelationGraph) -> bool:
    """Whether fits that choose λ end when it is clear which λ ranks best, and not at a given tolerance."""
    return ranker.search_tol is None and (is_holdout(ranker.cv) or graph.n_edges >= SETTLING_LEAST_EDGES)


def search_precision(ranker: Any, graph: RelationGraph) -> dict[str, Any]:
    """``tol`` and ``max_iter`` of the fits that choose λ."""
    tol, max_iter, rough = ranker.search_tol, ranker.search_max_iter, is_holdout(ranker.cv)
    if tol is not None:
        tol = check_number("search_tol", tol, at_least=0.0)
    elif settles(ranker, graph):
        tol = max(ranker.tol, NEWTON_SEARCH_TOL if ranker.loss == "logistic" else SEARCH_TOL)
    else:
        tol = ranker.tol
    if max_iter is not None:
        max_iter = check_count("search_max_iter", max_iter)
    else:
        max_iter = min(ranker.max_iter, ROUGH_MAX_ITER) if rough else ranker.max_iter
    return {"tol": tol, "max_iter": max_iter}


def is_rough(ranker: Any) -> bool:
    """Whether the fits that choose λ end early on purpose, so that nobody needs a warning."""
    return is_holdout(ranker.cv) or ranker.search_tol is not None or ranker.search_max_iter is not None


def hold_out(cv: Any, ranker: Any, graph: RelationGraph, settings: Settings, plan: Plan | None) -> HoldingOut:
    """Read ``cv`` of a search.

    Parameters
    ----------
    cv : str, int, splitter, iterable or None
        As for `condrank.ConditionalRankerCV`.
    ranker : ConditionalRankerCV
        The search.
    graph : RelationGraph
        The graph to learn from.
    settings : Settings
        Checked parameters.
    plan : Plan or None
        Plan of a closed form, which needs no folds; otherwise None.
    """
    seed = 0 if ranker.random_state is None else ranker.random_state
    settle = settles(ranker, graph)
    if plan is not None and (cv is None or is_holdout(cv)):
        cv = "leave-node-out" if settings.relation.sign else "leave-query-out"
    elif cv is None:
        setting = 1 if settings.pairwise_kernel == "cartesian" else 2
        n_folds = max(2, min(5, graph.n_edges if setting == 1 else graph.shape[settings.rank_by == "incoming"]))
        cv = SettingSplit(setting, n_folds, rank_by=settings.rank_by, random_state=0)
    if not isinstance(cv, str):
        # A number of folds is the same folds each time, as in scikit-learn.
        pairs, n_folds, setting = read_folds(cv, graph, ranker, random_state=seed)
        described = "the given folds" if n_folds is None else f"{n_folds} fold{'s' * (n_folds != 1)}"
        described += "" if setting is None else f" of setting {setting}"
        return HoldingOut(n_folds, (_fold(*pair, settle) for pair in pairs), described, setting)
    if is_holdout(cv):
        graphs, described = choose_holdout(graph, settings, seed)
        if graphs is None:
            return HoldingOut(0, None, described)
        return HoldingOut(len(graphs), (_fold(*pair, settle) for pair in graphs), described)
    check_choice("cv", cv, (*ONE_OUT, HOLDOUT))
    check_one_out(cv, graph)
    if plan is not None:
        make = iter([lambda ranker, taus, _: Shortcut(cv, ranker, graph, taus, plan)])
        return HoldingOut(1, make, ONE_OUT[cv], SETTINGS.get(cv))
    if cv == "leave-edge-out":
        raise ValueError(
            f"cv='leave-edge-out' needs the closed form of a complete graph, but {graph.density:.2%} of the "
            f"pairs are observed and loss={ranker.loss!r}; use cv=SettingSplit(setting=1)"
        )
    pairs = one_out(cv, graph, settings.rank_by)
    return HoldingOut(None, (_fold(*pair, settle) for pair in pairs), ONE_OUT[cv], SETTINGS.get(cv))


def choose_holdout(graph: RelationGraph, settings: Settings, random_state: Any) -> tuple[list[Graphs] | None, str]:
    """Training and test graphs to choose λ by, and a description; None instead of graphs if nothing can be held out.

    Nodes are held out (setting 4). If they have too few edges among them, edges are held out (setting 1).
    O(size of the relation) for each holdout.
    """
    _, times, share = next(one for one in HOLDOUTS if graph.n_edges <= one[0])
    for setting, least, what in ((4, FEW_EDGES, "nodes"), (1, 1, "edges")):
        split = SettingShuffleSplit(
            setting,
            times,
            test_size=share,
            rank_by=settings.rank_by,
            random_state=random_state,
            both_directions=True if setting == 1 and settings.relation.sign else None,
        )
        try:
            graphs = list(split.split(graph))
        except ValueError:  # the splitter's, for too few nodes or a holdout without edges
            continue
        if min(test.n_edges for _, test in graphs) < least:
            continue
        if any(rankable(test.conditioned(settings.rank_by).observed) for _, test in graphs):
            return graphs, f"holding out {share:.0%} of the {what}" + (f", {times} times" if times > 1 else "")
    return None, NOTHING


def _fold(train: RelationGraph, test: RelationGraph, settle: bool) -> Callable[..., HeldOutPairs]:
    return lambda ranker, taus, alphas: Fold(ranker, train, test, taus, alphas, settle)
