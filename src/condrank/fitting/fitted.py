"""The fitted state of a ranker. It is frozen, and written in one place only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from condrank.base.checks import check_count, check_numbers
from condrank.fitting import residuals as left_out
from condrank.fitting.agreement import agreed_settings, check_model
from condrank.fitting.evidence import evidence_from, evidence_of, evidence_to
from condrank.fitting.known import KnownPairs, known_from
from condrank.fitting.plan import Plan
from condrank.fitting.residuals import Residuals
from condrank.graph import RelationGraph
from condrank.kernels import Kernel
from condrank.models import EdgeModel, model_from_state
from condrank.models.sums import FactoredSums
from condrank.nodes import Nodes
from condrank.observations import Observations, observations_from, observations_to
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.ids import ids_from, ids_to
from condrank.persistence.plain import check_same, plain
from condrank.problem.problem import Problem
from condrank.problem.settings import Settings
from condrank.solvers import SOLVERS
from condrank.solvers.system import Solution, System
from condrank.uncertainty import Evidence, Posterior

# The fitted attributes in a file; early stopping adds its history.
STORED = ("alpha_", "n_iter_", "n_features_in_", "solver_")


class Scorer(Protocol):
    """An object that scores objects for conditioning nodes, such as `condrank.models.model.Model`."""

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, one block of conditioning nodes at a time; None means the training nodes."""
        ...


@dataclass(frozen=True)
class Fitted:
    """What a ranker has learned.

    Attributes
    ----------
    model : Scorer
        Scores objects for conditioning nodes.
    objects : Nodes
        The training objects, for their number and their ids; empty if only sums were kept.
    n_features : int
        Features of a node.
    """

    model: Any
    objects: Nodes
    n_features: int


@dataclass(frozen=True)
class FittedRanker(Fitted):
    """What a `condrank.ConditionalRanker` has learned, and how.

    Attributes
    ----------
    settings : Settings
        Settings of the fit, with the λ of the model.
    plan : Plan
        The plan of the fit.
    n_iter : int or None
        Number of iterations; None for a direct solver.
    history : tuple of float or None
        Validation loss after each iteration of early stopping.
    trained_on : (Nodes, Nodes) or None
        The nodes that edges start at and end at; None for a loaded ranker.
    system : System or None
        The factorisation, for paths and warm starts; None for a loaded ranker.
    sums : FactoredSums or None
        Sums over the nodes, to which `partial_fit` can add nodes.
    observed : Observations or None
        The labels of the fit, with a row for each conditioning node; None if they were not kept: by `partial_fit`, on a
        cluster, or in a file that was saved without them.
    residuals : dict of Residuals
        Left-out residuals by setting, as far as they were asked for.
    known : KnownPairs or None
        The pairs of training, for rankings without them.
    slopes : dict of float
        Slopes of recalibrated log-odds by setting, for the logistic loss.
    evidence : Evidence or None
        What standard deviations need of the labels, for a loaded ranker; a fitted one computes it when asked.
    """

    settings: Settings
    plan: Plan
    n_iter: int | None = None
    history: tuple[float, ...] | None = None
    trained_on: tuple[Nodes, Nodes] | None = None
    system: System | None = None
    sums: FactoredSums | None = None
    observed: Observations | None = None
    residuals: dict[int, Residuals] = field(default_factory=dict)
    known: KnownPairs | None = None
    slopes: dict[int, float] = field(default_factory=dict)
    evidence: Evidence | None = None

    @classmethod
    def of(cls, problem: Problem, plan: Plan, system: System, sums: FactoredSums | None = None) -> FittedRanker:
        """The state of a fit before its weights are known."""
        settings, queries, graph = problem.settings, problem.queries, problem.graph
        return cls(
            model=system.model(),
            objects=problem.objects,
            n_features=n_columns(queries, settings.kernels[0]),
            settings=settings,
            plan=plan,
            trained_on=(graph.nodes, graph.objects),
            system=system,
            sums=sums,
            observed=None if problem.is_distributed else problem.observed,
            known=KnownPairs.of(problem.observed),
        )

    @property
    def alpha(self) -> float:
        """λ of the model."""
        return self.settings.alpha

    @property
    def intercept(self) -> float:
        """The constant that was fitted to the labels; 0 if there is none."""
        return float(self.model.offset) if self.settings.loss.fits_intercept else 0.0

    @property
    def solver(self) -> str:
        """The solver that ran."""
        return self.plan.solver

    def solvable(self) -> System:
        """The system of the fit. A loaded ranker builds it again, from its coordinates and labels. Raises without."""
        return self._rebuilt if self.system is None else self.system

    @cached_property
    def _rebuilt(self) -> System:
        """The system of a loaded ranker, built when it is first needed."""
        model, observed = self.model, self.observed
        if observed is None and (not isinstance(model, EdgeModel) or model.logistic):
            raise ValueError(
                "this ranker was loaded without the labels that it was fitted to; save the fitted one with "
                "ranker.save(path, training=True), or fit it with condrank fit --keep-labels"
            )
        graph = self._graph_of(model.kernel.edges if observed is None else observed)
        plan = self.plan
        return SOLVERS[plan.solver].build(Problem(graph, self.settings), (model.rows, model.cols), plan.rank)

    @property
    def graph(self) -> RelationGraph | None:
        """The training graph, made of its nodes and labels; None if they were not kept."""
        return None if self.observed is None else self._graph_of(self.observed)

    def _graph_of(self, observed: Observations) -> RelationGraph:
        first, second = self.model.rows.nodes, self.model.cols.nodes
        if self.settings.rank_by != "outgoing":
            first, second, observed = second, first, observed.transpose()
        return RelationGraph.of_parts(first, second, observed, self.settings.centre == 0.5)

    @cached_property
    def posterior(self) -> Posterior:
        """How sure the scores are; nothing is computed before it is asked for."""
        return Posterior(self.settings, self.model, evidence_of(self))

    def to_state(self, arrays: Arrays, training: bool = False, uncertainty: bool | None = None) -> dict[str, Any]:
        """The state as plain values, with or without the labels. Its arrays are added to ``arrays``.

        ``uncertainty`` says whether the observed pairs belong to it, which only standard deviations need. By default
        they do, up to a million.
        """
        # A file has the training nodes themselves, also if they are on a cluster now.
        model = self.model.gathered()
        plain_values = {
            "alpha_": self.alpha,
            "n_iter_": self.n_iter,
            "n_features_in_": self.n_features,
            "solver_": self.solver,
        }
        if self.history is not None:
            plain_values["history_"] = list(self.history)
        return (
            {
                "settings": self.settings.to_state(),
                "plan": self.plan.to_state(),
                "fitted": plain("fitted attributes", plain_values),
                "model": model.to_state(arrays),
                "objects": ids_to(self.objects.ids, arrays.under("objects")),
                "sums": None if self.sums is None else self.sums.to_state(arrays.under("sums")),
            }
            | self._training_to(arrays.under("training"), training)
            | self._residuals_to(arrays.under("residuals"))
            | self._known_to(arrays.under("known"), model)
            | evidence_to(self, arrays.under("uncertainty"), training, uncertainty)
        )

    def _training_to(self, arrays: Arrays, training: bool) -> dict[str, Any]:
        """The labels. A file without them has no such entry, so that it is the same as before there was one."""
        if not training:
            return {}
        if self.observed is None:
            raise ValueError("training=True needs the labels of the fit, which partial_fit, Dask and files do not keep")
        return {"training": observations_to(self.observed, arrays)}

    def _residuals_to(self, arrays: Arrays) -> dict[str, Any]:
        given = {"residuals": left_out.to_state(self.residuals, arrays)} if self.residuals else {}
        slopes = plain("slopes", {str(setting): slope for setting, slope in self.slopes.items()})
        return given | ({"slopes": slopes} if slopes else {})

    def _known_to(self, arrays: Arrays, model: Any) -> dict[str, Any]:
        """The known pairs, unless they are those whose coefficients the model has."""
        known = self.known
        if known is None or (isinstance(model, EdgeModel) and known.n_pairs == model.kernel.edges.n_pairs):
            return {}
        return {"known": known.to_state(arrays)}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, params: dict[str, Any]) -> FittedRanker:
        """The state of plain values and arrays, checked against each other and the parameters of the ranker."""
        stored, fitted = given["model"], given["fitted"]
        if not set(STORED) <= set(fitted) <= {*STORED, "history_"}:
            names = f"fitted attributes must be {[*STORED]} and, for early stopping, history_"
            raise ValueError(f"{names}, got {[*fitted]}")
        n_features = check_count("n_features_in_", fitted["n_features_in_"])
        settings = agreed_settings(params, given["settings"], n_features, stored.get("cols") is not None)
        plan = Plan.from_state(given["plan"])
        check_same("alpha_", fitted["alpha_"], settings.alpha)
        check_same("solver_", fitted["solver_"], plan.solver)
        n_iter = fitted["n_iter_"]
        if n_iter is not None and (type(n_iter) is not int or n_iter < 0):
            raise ValueError(f"n_iter_ must be a whole number of at least 0 or None, got {n_iter!r}")
        history = tuple(check_numbers("history_", fitted["history_"])) if "history_" in fitted else None
        check_model(stored, settings, plan)
        model, sums = model_from_state(stored, held, settings), given.get("sums")
        cols = model.cols.nodes
        check_same("n_features_in_", n_features, model.rows.nodes.base.shape[1])
        if sums is not None:
            sums = FactoredSums.from_state(sums, held.under("sums"), model.rows, model.cols)
        objects = Nodes(cols.base, None, ids_from(given["objects"], len(cols), held.under("objects")))
        observed = None
        if "training" in given:
            observed = observations_from(given["training"], held.under("training"))
            check_same("shape of the labels", list(observed.shape), [model.rows.n_nodes, model.cols.n_nodes])
        residuals = left_out.from_state(given.get("residuals", {}), held.under("residuals"))
        slopes = left_out.slopes_from(given.get("slopes", {}))
        kept: dict[str, Any] = {"sums": sums, "observed": observed, "residuals": residuals, "slopes": slopes}
        kept["known"] = known_from(given, held, model)
        kept["evidence"] = evidence_from(given, held, model, observed)
        return cls(model, objects, n_features, settings, plan, n_iter, history, **kept)

    def with_weights(self, W: Any, n_iter: int | None = None, history: list[float] | None = None) -> FittedRanker:
        """The same state with weights W."""
        losses = None if history is None else tuple(history)
        check_weights(W, self.alpha)
        return replace(
            self, model=self._model(W), n_iter=n_iter, history=losses, residuals={}, slopes={}, evidence=None
        )

    def at(self, alpha: float, solution: Solution) -> FittedRanker:
        """The same state at another λ."""
        check_weights(solution.W, alpha)
        return replace(
            self,
            model=self._model(solution.W),
            n_iter=solution.n_iter,
            settings=replace(self.settings, alpha=alpha),
            residuals={},
            slopes={},
            evidence=None,
        )

    def _model(self, W: Any) -> Any:
        """The model with weights W, and with the intercept that belongs to them."""
        return self.model.with_weights(W) if self.system is None else self.system.model(W)


def n_columns(nodes: Nodes, kernel: Kernel) -> int:
    """Number of columns that nodes to score must have: features, and kernel values against the training nodes."""
    return sum(
        len(nodes) if nodes.is_matrix(view, kernel.matrices) else nodes.view(view).base.shape[1]
        for view in nodes.view_names
    )


def check_weights(W: Any, alpha: float) -> None:
    """Raise if weights are not finite, so that they are neither kept nor saved. One pass without a copy."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(W.sum()) or np.isfinite(W).all():
            return
    raise ValueError(
        f"the weights of the model overflow in {W.dtype} at alpha={alpha:g}; raise alpha, or scale the labels or the "
        "features (or the kernel) to numbers near 1"
    )
