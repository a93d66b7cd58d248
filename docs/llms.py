"""llms.txt of the site: one line for each page, so that a program can find the page it needs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent
EXAMPLES = DOCS.parent / "examples"
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
HIDDEN = re.compile(r"<!--.*?-->|^```.*?^```", flags=re.MULTILINE | re.DOTALL)


def write_index() -> str:
    """The text: what condrank is, and the pages under the captions of the table of contents, with addresses."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    title, about = describe(index)
    lines = [f"# {title}", "", f"> {about}"]
    for tree in TREE.findall(index):
        lines += ["", f"## {re.findall(r'^:caption: (.+)$', tree, flags=re.MULTILINE)[0]}", ""]
        for name in (line for line in tree.split("\n") if line and not line.startswith(":")):
            lines += _examples() if name == "gallery/index" else [_line(name)]
    return "\n".join(lines) + "\n"


def describe(text: str) -> tuple[str, str]:
    """Title and first sentence of a page in Markdown or reStructuredText, without markup."""
    title, _, rest = HIDDEN.sub("", text).strip().partition("\n")
    parts = [part for part in re.split(r"\n\s*\n", re.sub(r"^[=#]+\n", "", rest.lstrip("\n"))) if part.strip()]
    told = next((" ".join(part.split()) for part in parts if re.match(r"[\w*`\[]", part.strip())), "")
    told = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", told)  # of links, their text
    return title.lstrip("# ").strip(), re.split(r"(?<=[.!?])\s", told)[0]


def _line(name: str) -> str:
    path = DOCS / f"{name}.md"
    if path.is_file():
        text = path.read_text(encoding="utf-8")
        included = re.match(r"```\{include\} (\S+)", text)  # a page that shows a file of the repository
        text = (DOCS / included[1]).read_text(encoding="utf-8") if included else text
    else:
        text = (DOCS / f"{name}.rst").read_text(encoding="utf-8")
    title, about = describe(text)
    return f"- [{title}]({name}.html): {about}"


def _examples() -> list[str]:
    found = []
    for path in sorted(EXAMPLES.glob("plot_*.py")):
        title, about = describe(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        found.append(f"- [{title}](gallery/{path.stem}.html): {about}")
    return found
