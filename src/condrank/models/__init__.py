"""What scores objects conditioned on nodes: bilinear, with compared features, or dual over the observed edges."""

from __future__ import annotations

from typing import Any

from condrank.base.checks import check_choice
from condrank.models.compared import ComparedModel
from condrank.models.edge import EdgeModel
from condrank.models.model import Model
from condrank.models.sides import FitSettings
from condrank.persistence.arrays import Held

__all__ = ["MODELS", "ComparedModel", "EdgeModel", "FitSettings", "Model", "model_from_state"]

#: Models by the name that a file has for them.
MODELS = {kind.__name__: kind for kind in (Model, ComparedModel, EdgeModel)}


def model_from_state(given: dict[str, Any], held: Held, settings: FitSettings) -> Model | ComparedModel | EdgeModel:
    """The model that was stored, of the class that the file names.

    Parameters
    ----------
    given, held
        What ``to_state`` of the model returned, and its arrays.
    settings : FitSettings
        Kernel, approximation and compared features of the fit.
    """
    check_choice("class of the model", given["class"], tuple(MODELS))
    return MODELS[given["class"]].from_state(given, held, settings)
