"""Limits of requests."""

from __future__ import annotations

import pytest

from service.served import Limits


def test_limits_are_checked():
    for name in ("body", "k", "queries", "workers", "connections", "per_client"):
        with pytest.raises(ValueError, match=name):
            Limits(**{name: 0})
    for name in ("seconds", "head"):
        with pytest.raises(ValueError, match=name):
            Limits(**{name: 0.0})
