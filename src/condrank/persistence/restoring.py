"""A fitted ranker from the manifest and the arrays of a file, which are checked against each other."""

from __future__ import annotations

from typing import Any

from condrank.base.checks import check_choice, check_count, check_number, check_numbers
from condrank.fitting.plan import Plan
from condrank.models import ComparedModel, EdgeModel, Model, model_from_state
from condrank.models.sums import FactoredSums
from condrank.nodes import Nodes
from condrank.persistence.arrays import Held
from condrank.persistence.ids import ids_from
from condrank.persistence.plain import check_same
from condrank.persistence.settings import FITTED, OPTIONAL, agreed_settings
from condrank.problem.settings import Settings

SOLVERS = ("closed_form", "primal", "newton", "dual", "dual_newton", "early_stopping", "explicit")


def from_state(ranker: Any, manifest: dict[str, Any], held: Held) -> None:
    """Give a ranker, made with the manifest's parameters, its fitted attributes.

    The arrays of the ranker are taken from ``held``; those of an index or of tables are left.
    """
    given, fitted = manifest["model"], manifest["fitted"]
    n_features = check_count("n_features_in_", fitted["n_features_in_"])
    settings = agreed_settings(ranker, manifest["settings"], n_features, given.get("cols") is not None)
    plan = plan_from(manifest["plan"])
    attributes = fitted_from(fitted, settings, plan)
    check_agreement(given, settings, plan.solver)
    model = model_from_state(given, held, settings)
    cols = model.cols.nodes
    check_same("n_features_in_", n_features, model.rows.nodes.base.shape[1])
    sums = manifest.get("sums")
    if sums is not None:
        sums = FactoredSums.from_state(sums, held.under("sums"), model.rows, model.cols)
    objects = Nodes(cols.base, None, ids_from(manifest["objects"], len(cols), held.under("objects")))
    vars(ranker).update(
        attributes, plan_=plan, _settings=settings, _model=model, _objects=objects, _system=None, _sums=sums
    )


def plan_from(given: dict[str, Any]) -> Plan:
    """The plan of a fit, from the fields of a `Plan`."""
    plan = Plan(**given)
    check_choice("solver of the plan", plan.solver, SOLVERS)
    for name in ("reason", "coordinates"):
        if not isinstance(getattr(plan, name), str):
            raise ValueError(f"{name} of the plan must be a string, got {getattr(plan, name)!r}")
    numbers = {name: getattr(plan, name) for name in ("n_coordinates", "flops", "memory", "rank")} | plan.alternatives
    for name, number in numbers.items():
        check_number(f"{name} of the plan", number, at_least=0.0)
    return plan


def fitted_from(given: dict[str, Any], settings: Settings, plan: Plan) -> dict[str, Any]:
    """Fitted attributes that are plain values; no others, as one could replace a method."""
    if not set(FITTED) <= set(given) <= {*FITTED, *OPTIONAL}:
        raise ValueError(f"fitted attributes must be {[*FITTED]} and, for early stopping, history_, got {[*given]}")
    check_same("alpha_", given["alpha_"], settings.alpha)
    check_same("solver_", given["solver_"], plan.solver)
    n_iter = given["n_iter_"]
    if n_iter is not None and (type(n_iter) is not int or n_iter < 0):
        raise ValueError(f"n_iter_ must be a whole number of at least 0 or None, got {n_iter!r}")
    history = {"history_": check_numbers("history_", given["history_"])} if "history_" in given else {}
    return given | {"alpha_": settings.alpha} | history


def check_agreement(given: dict[str, Any], settings: Settings, solver: str) -> None:
    """Refuse a model that is not of the kind and scale that the settings and the solver of its fit give."""
    in_dual = solver in ("dual", "dual_newton")
    kind = EdgeModel if in_dual else ComparedModel if settings.compared else Model
    follows: dict[str, Any] = {"class": kind.__name__, "offset": settings.centre}
    follows["logistic"] = settings.loss == "logistic"
    if kind is not ComparedModel:
        follows["prior_weight"] = settings.prior_weight
    if in_dual:
        follows["kernel"] = settings.pairwise_kernel or settings.relation.name
    for name, expected in follows.items():
        check_same(f"{name} of the model", given[name], expected)
