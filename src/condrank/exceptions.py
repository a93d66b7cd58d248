"""Warnings of condrank, each a class of its own so that users can filter them. Errors are plain ``ValueError``."""


class CondrankWarning(UserWarning):
    """Base class: ``warnings.filterwarnings("ignore", category=CondrankWarning)`` silences all of them."""


class RelationWarning(CondrankWarning):
    """The labels are not symmetric, or not reciprocal, although the model is: only that part is learned."""


class KernelWarning(CondrankWarning):
    """The kernel matrix is slightly indefinite; its negative part was dropped."""
