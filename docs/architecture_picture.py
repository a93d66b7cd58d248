"""Draws the picture of docs/architecture.md from the import contract: ``python docs/architecture_picture.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

WIDTH, CENTRE = 680, 250
ROW, BOX, GAP, TOP = 46, 32, 12, 16  # pixels: from row to row, height of a box, between boxes, above the first row
LETTER, PADDING = 7.8, 14  # width of a letter of the font, and beside a name
FIRST_LANE, LANE = 420, 120  # where the first door runs upward, and from door to door


def read_contract() -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Rows of rooms, highest first, and the doors: the imports that may go upward, as (importer, imported)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    rows = [[room.strip() for room in layer.split("|")] for layer in contract["layers"]]
    doors = [
        tuple(part.strip().removeprefix("condrank.") for part in one.split("->")) for one in contract["ignore_imports"]
    ]
    return rows, [(importer, imported) for importer, imported in doors]


def draw(rows: list[list[str]], doors: list[tuple[str, str]]) -> str:
    """The picture as the text of an SVG file: a row of boxes for each layer, and a dashed arrow for each door."""
    ends = {module.split(".")[0] for door in doors for module in door}
    height = TOP + ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="monospace" font-size="13" role="img">',
        "<title>The rooms of condrank: each imports only from the rows below it</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#b4531a"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    right: dict[str, tuple[float, float]] = {}  # the middle of the right edge of a box
    for number, row in enumerate(rows):
        row = sorted(row, key=lambda room: room in ends)  # doors start and end at the last box of a row
        widths = [LETTER * len(room) + 2 * PADDING for room in row]
        x, y = CENTRE - (sum(widths) + GAP * (len(row) - 1)) / 2, TOP + ROW * number
        for room, width in zip(row, widths, strict=True):
            fill = "#dbe8f6" if (ROOT / "src" / "condrank" / room).is_dir() else "#eeeeee"
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BOX}" rx="5" fill="{fill}" stroke="#5b7ea6"/>'
                f'<text x="{x + width / 2:.1f}" y="{y + 21}" text-anchor="middle" fill="#1b2a3a">{room}</text>'
            )
            right[room] = x + width, y + BOX / 2
            x += width + GAP
    arrows = [(*right[importer.split(".")[0]], *right[imported.split(".")[0]]) for importer, imported in doors]
    # The shortest door runs nearest to the rooms, so that doors do not cross.
    order = sorted(range(len(doors)), key=lambda door: arrows[door][1] - arrows[door][3])
    for lane, door in enumerate(order):
        (x1, y1, x2, y2), (importer, imported) = arrows[door], doors[door]
        x = FIRST_LANE + LANE * lane
        parts.append(
            f'<path d="M{x1:.1f} {y1} H{x} V{y2} H{x2 + 2:.1f}" fill="none" stroke="#b4531a" stroke-dasharray="5 4" '
            'marker-end="url(#tip)"/>'
            f'<text x="{x + 6}" y="{(y1 + y2) / 2 + 4}" font-size="11" fill="#b4531a">'
            f'{importer}<tspan x="{x + 6}" dy="14">→ {imported}</tspan></text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(*read_contract()), encoding="utf-8")
