"""The documentation tells the truth: every Python block of its pages, every example and every docstring runs."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import runpy
import tomllib
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import condrank

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Tables that are written by programs and hold no code.
PAGES = sorted(DOCS.glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
BLOCK = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->$"
    r"|(?:^<!-- (?P<mark>not run|needs): (?P<reason>[^\n]*?) -->\n+)?^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"(?<!\!)\]\(([^)\s#]+)(?:#[^)]*)?\)")


def python_blocks(text):
    """Line and code of a page's hidden setup and Python blocks, and the packages that they need."""
    blocks, needed = [], []
    # A fence of four shows how pages are written, and is no code.
    quiet = re.sub(r"^````.*?^````$", lambda part: "\n" * part[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    for found in BLOCK.finditer(quiet):
        if found["setup"] is None and (found["language"] != "python" or found["mark"] == "not run"):
            continue
        if found["mark"] == "needs":
            needed += re.split(r",\s*", found["reason"])
        part = "code" if found["setup"] is None else "setup"
        blocks.append((quiet.count("\n", 0, found.start(part)), found[part]))
    return blocks, needed


WITH_PYTHON = [page for page in PAGES if python_blocks(page.read_text(encoding="utf-8"))[0]]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_python_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    blocks, needed = python_blocks(page.read_text(encoding="utf-8"))
    for package in needed:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code in blocks:
        # Blank lines first, so that a traceback names the line of the page.
        exec(compile("\n" * line + code, page, "exec"), namespace)


def test_blocks_are_found_with_their_marks():
    text = (
        "<!-- setup\na = 1\n-->\n\n```python\nb = a\n```\n\n<!-- not run: long -->\n```python\n1 / 0\n```\n\n"
        "<!-- needs: numpy, json -->\n\n```python\nc = b\n```\n\n```sh\nrm\n```\n\n"
        "````md\n```python\n1 / 0\n```\n````\n"
    )
    blocks, needed = python_blocks(text)
    assert blocks == [(1, "a = 1\n"), (5, "b = a\n"), (16, "c = b\n")]
    assert needed == ["numpy", "json"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example_runs_without_a_warning(example, tmp_path, monkeypatch, capsys):
    for name in re.findall(r"^import (optuna)$", example.read_text(encoding="utf-8"), flags=re.MULTILINE):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    with warnings.catch_warnings():
        # The gallery would show it to readers.
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        runpy.run_path(str(example), run_name="__main__")
    drawn = plt.get_fignums()
    plt.close("all")
    assert drawn
    assert capsys.readouterr().out


def test_every_kind_of_user_has_an_example_that_starts_with_a_title():
    assert {"games", "proteins", "documents", "drug_target", "compare_methods"} <= {
        example.stem.removeprefix("plot_") for example in EXAMPLES
    }
    for example in EXAMPLES:
        _, title, underline, *_ = (ast.get_docstring(ast.parse(example.read_text("utf-8")), clean=False) or "").split(
            "\n"
        )
        assert set(underline) == {"="}, example
        assert len(underline) == len(title), example


MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(condrank.__path__, "condrank.")
    if not module.name.endswith("__main__") and ".experiments" not in module.name
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_give_what_they_show(name, tmp_path, monkeypatch):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("condrank"):
            raise
        pytest.skip(f"an extra is missing: {error}")
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(module).failed == 0


def test_api_page_has_every_public_module():
    listed = set(re.findall(r"^   (condrank[\w.]*)$", (DOCS / "api.rst").read_text("utf-8"), flags=re.MULTILINE))
    modules = {f"condrank.{name}" for name in condrank.__all__ if inspect.ismodule(getattr(condrank, name))}
    assert {"condrank", "condrank.plots"} | modules <= listed
    for name in listed:
        module = importlib.import_module(name)
        for public in filter(lambda word: callable(getattr(module, word)), module.__all__):
            assert inspect.getdoc(getattr(module, public)), f"{name}.{public}"


def test_every_page_is_in_the_table_of_contents():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = "\n".join(re.findall(r"^```\{toctree\}\n(.*?)^```$", index, flags=re.MULTILINE | re.DOTALL))
    assert {page.stem for page in PAGES} - {"index"} <= set(trees.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not re.match(r"https?:|mailto:", target) and not target.startswith("gallery/"):
            assert (page.parent / target).exists(), target
    for stem in re.findall(r"\]\(gallery/(plot_\w+)\.rst\)", page.read_text(encoding="utf-8")):
        assert (ROOT / "examples" / f"{stem}.py").exists(), stem


def test_citation_names_this_version_and_the_paper():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {condrank.__version__}\n" in citation
    assert "doi: 10.1007/s10994-013-5354-7" in citation
    assert re.findall(r"^    - family-names: (.+)$", citation, flags=re.MULTILINE) == [
        "Pahikkala", "Airola", "Stock", "De Baets", "Waegeman",
    ]  # fmt: skip


def test_errata_of_the_paper_are_told():
    mathematics = (DOCS / "mathematics.md").read_text(encoding="utf-8")
    errata = mathematics.split("## Errata to the paper")[1]
    assert "K ⊗ CK" in errata
    assert "κ is lower" in errata


def test_commands_of_the_contributing_page_name_what_exists():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'pip install -e "\.\[([\w,]+)\]"', page)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    for script in re.findall(r"`(\.ci/\w+)`", page):
        assert os.access(ROOT / script, os.X_OK), script
