"""Sphinx settings; docs/contributing.md has the command. Building needs the extra "docs" and no network."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import condrank

ROOT = Path(__file__).resolve().parents[1]
# Processes of the gallery inherit it: small examples are fastest without a fight for cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "condrank"
author = "The condrank developers"
project_copyright = author
release = version = condrank.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
# Single backticks name Python objects in docstrings; what is no object stays plain.
default_role = "autolink"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
# The lists of public names that modules have, and nothing beside.
autosummary_ignore_module_all = False
autosummary_imported_members = True
# What the package itself offers is told there, and not again in the module that it comes from.
autosummary_context = {"top": condrank.__all__}
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "condrank"
html_copy_source = False


def of_others(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what is inherited from scikit-learn and pydantic: their pages tell of it, and refer to others."""
    home = str(getattr(getattr(member, "__func__", member), "__module__", ""))
    return True if home.startswith(("sklearn.", "pydantic")) else None


def write_llms(app: Any, exception: Exception | None) -> None:
    """Put llms.txt beside the pages, if they are built."""
    if exception is None and app.builder.format == "html":
        text = runpy.run_path(str(ROOT / "docs" / "llms.py"))["write_index"]()
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", of_others)
    app.connect("build-finished", write_llms)


# The Optuna example needs a package that the documentation does without.
EXECUTED = r"plot_(?!optuna)"
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": EXECUTED,
    "within_subsection_order": "FileNameSortKey",  # by default the shortest first, which nobody expects
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
    "capture_repr": (),
    "min_reported_time": 10,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
