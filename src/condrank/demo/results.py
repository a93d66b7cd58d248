"""Results of ``condrank demo`` as plain data. The command line prints them and the picture shows them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from condrank._version import __version__
from condrank.diagnosis import Diagnosis


@dataclass(frozen=True)
class ModelResult:
    """Rank loss of one model on pairs of unseen nodes (setting 4), and its λ; None if its relation is refused."""

    relation: str
    loss: str
    alpha: float | None
    rank_loss: float | None


@dataclass(frozen=True)
class Ranked:
    """Unseen objects ranked for one unseen node, best first.

    Attributes
    ----------
    query : str
        Name of the conditioning node.
    position : int
        Position of the conditioning node among the test nodes.
    objects : list of str
        Names of the objects.
    indices : list of int
        Positions of the objects among the test nodes.
    scores, truth : list of float
        Predicted and true relation of the conditioning node to each object.
    """

    query: str
    position: int
    objects: list[str]
    indices: list[int]
    scores: list[float]
    truth: list[float]


@dataclass(frozen=True)
class Task:
    """One story: what the labels say, the losses of the models, one ranking, and the arrays of the picture.

    Attributes
    ----------
    diagnosis : Diagnosis
        Diagnosis of the training graph.
    models : list of ModelResult
        The six models; for games also the logistic loss.
    baselines : dict
        Rank loss of rankings that learn nothing, or that learn one order for all conditioning nodes.
    ranked : Ranked
        One ranking by the model ``chosen``.
    chosen : ModelResult
        The model with the relation and loss that the diagnosis recommends.
    names : list of str
        Names of the unseen nodes.
    features, truth, scores : ndarray
        Features, true relation and predicted relation of the unseen nodes.
    """

    diagnosis: Diagnosis
    models: list[ModelResult]
    baselines: dict[str, float]
    ranked: Ranked
    chosen: ModelResult
    names: list[str]
    features: np.ndarray
    truth: np.ndarray
    scores: np.ndarray

    @property
    def n_test(self) -> int:
        """Number of unseen nodes."""
        return len(self.names)


@dataclass(frozen=True)
class UnseenClasses:
    """Rank loss on digits that were not in training, one entry for each random choice of digits.

    Attributes
    ----------
    unseen : list of list of int
        The digits left out of training.
    similarity, plain, prior : list of float
        Loss of ranking by the kernel itself, of a model without a prior, and of a model with ``prior="similarity"``.
    """

    unseen: list[list[int]]
    similarity: list[float]
    plain: list[float]
    prior: list[float]


@dataclass(frozen=True)
class DemoResult:
    """Everything ``condrank demo`` shows."""

    seed: int
    games: Task
    digits: Task
    unseen_classes: UnseenClasses

    def to_dict(self) -> dict[str, Any]:
        """Plain Python objects, ready for JSON, without the arrays of the picture."""
        unseen = self.unseen_classes
        means = {name: float(np.mean(getattr(unseen, name))) for name in ("similarity", "plain", "prior")}
        return {
            "version": __version__,
            "seed": self.seed,
            "rock_paper_scissors": _task_dict(self.games),
            "digits": _task_dict(self.digits),
            "unseen_classes": {**vars(unseen), "mean": means},
        }


def _task_dict(task: Task) -> dict[str, Any]:
    return {
        "diagnosis": task.diagnosis.to_dict(),
        "n_test_nodes": task.n_test,
        "models": [asdict(model) for model in task.models],
        "baselines": {**task.baselines, "random": 0.5},
        "ranking": {"model": asdict(task.chosen), **asdict(task.ranked)},
    }
