"""Warnings of condrank. Each has its own class, so that users can filter it. Errors are plain ``ValueError``."""

__all__ = ["CondrankWarning", "IntervalWarning", "KernelWarning", "RelationWarning", "SelectionWarning"]


class CondrankWarning(UserWarning):
    """Base class: ``warnings.filterwarnings("ignore", category=CondrankWarning)`` silences all of them."""


class RelationWarning(CondrankWarning):
    """The labels do not suit the model: it learns only their symmetric or reciprocal part, or nothing at all.

    It learns nothing if the ranking loss finds no row with two different labels, or if a reciprocal model has a single
    linear feature.
    """


class KernelWarning(CondrankWarning):
    """The kernel matrix is slightly indefinite; its negative part was dropped."""


class IntervalWarning(CondrankWarning):
    """Too few nodes could be left out for intervals of the coverage that was asked for: they are infinite."""


class SelectionWarning(CondrankWarning):
    """λ is chosen by something that cannot see what is asked: whole new classes, or new nodes on both sides."""
