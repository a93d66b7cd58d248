"""Plain values of a manifest: values that JSON can hold, and values that must agree."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(name: str, value: Any) -> Any:
    """The value as JSON can hold it. Anything else raises a ValueError that names it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(name, item) for key, item in value.items()}
    if isinstance(value, np.random.RandomState):
        raise ValueError(f"{name} cannot be saved: it is a RandomState; give a whole number as seed instead")
    what = "a function, and loading a model must run no code" if callable(value) else f"a {type(value).__name__}"
    raise ValueError(
        f"{name} cannot be saved: it is {what}; numbers, strings, lists and dicts can. A callable kernel can be "
        "evaluated beforehand (kernel='precomputed')"
    )


def check_same(name: str, given: Any, expected: Any) -> None:
    """Raise if a value contradicts the one that follows from the rest of the file."""
    if given != expected:
        raise ValueError(f"{name} is {given!r}, which contradicts the {expected!r} that follows from the rest")
