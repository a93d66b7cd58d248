"""Warnings of condrank, each a class of its own so that users can filter them. Errors are plain ``ValueError``."""


class CondrankWarning(UserWarning):
    """Base class: ``warnings.filterwarnings("ignore", category=CondrankWarning)`` silences all of them."""


class RelationWarning(CondrankWarning):
    """The labels do not suit the model: only their symmetric or reciprocal part is learned, or nothing at all.

    Nothing is where the ranking loss finds no row with two different labels, and where a reciprocal model has a single
    linear feature.
    """


class KernelWarning(CondrankWarning):
    """The kernel matrix is slightly indefinite; its negative part was dropped."""
