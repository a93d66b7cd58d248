"""The README tells the truth: its example prints what it says, its commands are those that are checked."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [text.strip() for language, text in BLOCKS if language == "sh"]


def test_example_prints_what_the_readme_shows():
    position = next(i for i, (language, _) in enumerate(BLOCKS) if language == "python")
    code, (language, shown) = BLOCKS[position][1], BLOCKS[position + 1]
    assert language == "text"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", env=environment)
    assert run.returncode == 0, run.stderr
    assert run.stdout == shown


def test_example_is_short():
    code = next(text for language, text in BLOCKS if language == "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_there_are_two_commands_to_set_up_and_go():
    assert COMMANDS == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/condrank demo",
        'python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/python -m pytest',
    ]


def test_commands_name_an_extra_and_a_script_that_exist():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "test" in project["optional-dependencies"]
    assert project["scripts"]["condrank"] == "condrank.__main__:main"


@pytest.mark.skipif(os.name == "nt", reason="a bash script")
def test_ci_runs_the_readmes_test_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    pattern = re.search(r"grep -E -m 1 '(.+?)' README.md", script.read_text(encoding="utf-8"))
    assert pattern is not None
    found = subprocess.run(
        ["grep", "-E", "-m", "1", pattern[1], "README.md"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert found.stdout.strip() == COMMANDS[1]


def test_picture_is_there_and_small():
    (picture,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert (ROOT / picture).stat().st_size < 150 * 1024


def test_links_to_files_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
