"""Models that score objects for a conditioning node: bilinear, with compared features, or dual over edges."""

from __future__ import annotations

from typing import Any

from condrank.base.checks import check_choice
from condrank.models.compared import ComparedModel
from condrank.models.edge import EdgeModel
from condrank.models.model import Model
from condrank.models.sides import FitSettings
from condrank.persistence.arrays import Held

__all__ = ["MODELS", "ComparedModel", "EdgeModel", "FitSettings", "Model", "model_from_state"]

#: Classes of models by their name in a file.
MODELS = {kind.__name__: kind for kind in (Model, ComparedModel, EdgeModel)}


def model_from_state(given: dict[str, Any], held: Held, settings: FitSettings) -> Model | ComparedModel | EdgeModel:
    """The stored model, of the class that the file names.

    Parameters
    ----------
    given, held
        What ``to_state`` returned, and its arrays.
    settings : FitSettings
        Kernel, approximation and compared features of the fit.
    """
    check_choice("class of the model", given["class"], tuple(MODELS))
    return MODELS[given["class"]].from_state(given, held, settings)
