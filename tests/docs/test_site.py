"""What comes with the documentation: llms.txt names every page, and the Dockerfile names what exists."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from condrank.cli import app

ROOT = Path(__file__).resolve().parents[2]
LLMS = runpy.run_path(str(ROOT / "docs" / "llms.py"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
# One instruction in a line, without comments.
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in re.sub(r"\s*\\\n\s*", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)).splitlines()
    if line
]


def test_llms_txt_has_one_line_for_every_page_and_example():
    lines = re.findall(r"^- \[(.+)\]\((.+)\.html\): (.+)$", LLMS["write_index"](), flags=re.MULTILINE)
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    examples = {f"gallery/{path.stem}" for path in (ROOT / "examples").glob("plot_*.py")}
    assert {address for _, address, _ in lines} == pages | examples | {"api"}
    assert len(lines) == len({title for title, _, _ in lines})
    assert all(0 < len(about) < 300 and "](" not in about and "```" not in about for _, _, about in lines)


def test_llms_txt_takes_title_and_first_sentence():
    text = "# Title\n\n<!-- setup\nx = 1. y\n-->\n\n![A picture.](p.png)\n\nIt [does](a.md) this\nor that. More.\n"
    assert LLMS["describe"](text) == ("Title", "It does this or that.")
    assert LLMS["describe"]("Title\n=====\n\nFor you. More.") == ("Title", "For you.")


def test_llms_txt_is_written_beside_the_pages(tmp_path):
    class Built:
        outdir = str(tmp_path)

        class builder:
            format = "html"

    conf = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    conf["write_llms"](Built, None)
    assert (tmp_path / "llms.txt").read_text(encoding="utf-8") == LLMS["write_index"]()


def test_what_the_dockerfile_copies_exists_and_is_all_that_the_wheel_is_made_of():
    copied = set()
    for name, rest in INSTRUCTIONS:
        if name == "COPY" and not rest.startswith("--from"):
            copied |= set(rest.split()[:-1])
    assert all((ROOT / path).exists() for path in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {path.split("/")[0] for path in (*wheel["packages"], *wheel["force-include"])}
    needed |= {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    assert copied == needed
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in allowed if line.startswith("!")} == copied
    extras = re.findall(r"\.whl\)\[([\w,]+)\]", DOCKERFILE)[0].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])


def test_the_container_runs_a_command_that_exists_and_not_as_root():
    given = dict(INSTRUCTIONS)
    command, options = json.loads(given["ENTRYPOINT"]), json.loads(given["CMD"])
    assert command[0] == "condrank"
    shown = CliRunner().invoke(app, [*command[1:], "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    assert all(option in shown for option in options if option.startswith("--"))
    assert given["EXPOSE"] == options[options.index("--port") + 1]
    assert "USER" in [name for name, _ in INSTRUCTIONS]
    assert re.search(rf"useradd .*\b{given['USER']}\b", DOCKERFILE, flags=re.DOTALL)
    names = [name for name, _ in INSTRUCTIONS]
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_the_health_check_asks_a_route_of_the_service():
    pytest.importorskip("fastapi")
    from condrank.service import app as service

    check = dict(INSTRUCTIONS)["HEALTHCHECK"].split("CMD ")[1]
    program = json.loads(check)[2]
    compile(program, "Dockerfile", "exec")
    port = dict(INSTRUCTIONS)["EXPOSE"]
    assert f"http://127.0.0.1:{port}/health" in program
    assert '"/health"' in Path(service.__file__).read_text(encoding="utf-8")
