"""The paper's experiments and some more, one file for each, written with the public interface of condrank.

``condrank reproduce <name>`` runs them. In a clone they are in this folder, in a wheel they are
``condrank.experiments``, so imports between these files are relative. A new experiment is a generator function with
the decorator ``@experiment`` that yields rows and pictures, in a file that ``STORIES`` names.
"""

from __future__ import annotations

from importlib import import_module

from .results import EXPERIMENTS, Experiment

STORIES = (
    "rps",
    "newsgroups",
    "bacteria",
    "enzymes",
    "runtime",
    "drugs",
    "kernel_parts",
    "published",
    "films",
    "intervals",
    "suggestions",
    "pokemon",
    "defaults",
    "theory",
)


def load_experiments() -> dict[str, Experiment]:
    """Import every file of `STORIES`, which registers its experiments in that order."""
    for story in STORIES:
        import_module(f".{story}", __name__)
    return EXPERIMENTS
