"""The paper's experiments, and some beyond it: one file an experiment, over the public interface of condrank.

``condrank reproduce <name>`` runs them. In a clone they live here; a wheel carries them as ``condrank.experiments``, so
imports between these files are relative. A new experiment is a generator function under ``@experiment`` that yields
rows and pictures, in a file named in ``STORIES``.
"""

from __future__ import annotations

from importlib import import_module

from .results import EXPERIMENTS, Experiment

STORIES = ("rps", "newsgroups", "bacteria", "enzymes", "runtime", "drugs", "pokemon", "theory")


def load_experiments() -> dict[str, Experiment]:
    """Import every story, which registers its experiments in the order of the paper."""
    for story in STORIES:
        import_module(f".{story}", __name__)
    return EXPERIMENTS
