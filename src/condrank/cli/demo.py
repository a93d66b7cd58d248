"""``condrank demo``: two relations learned and judged on unseen nodes, printed on the terminal."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Annotated

import typer
from rich.columns import Columns
from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from condrank._version import __version__
from condrank.cli.terminal import answers, progress_bar
from condrank.cli.visible import visible
from condrank.cli.writing import check_writable, write_whole, writing

if TYPE_CHECKING:
    import numpy as np

    from condrank.demo import DemoResult, Task, UnseenClasses

PICTURE = "condrank-demo.png"
EPILOG = (
    "Examples: [bold]condrank demo[/bold] · [bold]condrank demo --seed 1 --output pictures[/bold] · "
    "[bold]condrank demo --json > demo.json[/bold]"
)
EXAMPLE = """\
from condrank import ConditionalRanker, datasets
train, test = datasets.make_digits_task(random_state=0)
ranker = ConditionalRanker(relation="symmetric", kernel="rbf", gamma=0.1)
print(ranker.fit(train).rank(test, top=3))"""


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", file_okay=False, help=f"Folder for the picture, {PICTURE}.")
    ] = Path(),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data; the same seed gives the same numbers.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of text.")] = False,
) -> None:
    """Learn two relations in a few seconds: who beats whom, and which images are alike.

    Both are judged on nodes that were not in training. Writes one picture.
    """
    path = output / PICTURE
    with writing(path):
        # Before the work, so that a folder that cannot be made is reported at once.
        output.mkdir(parents=True, exist_ok=True)
        check_writable(path)
    result = _compute(seed)
    from condrank.demo.picture import draw

    drawn = BytesIO()
    draw(result).savefig(drawn, format="png", dpi=110)
    write_whole(path, drawn.getvalue())
    if as_json:
        typer.echo(json.dumps({**result.to_dict(), "picture": str(path)}, indent=2))
        return
    console = answers()
    console.width = min(console.width, 100)  # lines longer than this are hard to read
    _print(result, path, console)


def _compute(seed: int) -> DemoResult:
    """Run the demo with a progress bar on stderr if that is a terminal."""
    with progress_bar() as progress:
        bar = progress.add_task("loading", total=None)
        from condrank.demo import count_steps, run_demo

        progress.update(bar, total=count_steps() + 1, completed=0)
        return run_demo(seed, step=lambda name: progress.update(bar, advance=1, description=name))


def _print(result: DemoResult, path: Path, console: Console) -> None:
    """Print the two stories and what to do next."""
    console.print(Text.assemble(("condrank ", "bold"), (__version__, "dim"), "  rank any objects for any object"))
    _print_games(result.games, console)
    _print_digits(result.digits, console)
    _print_unseen(result.unseen_classes, console)
    _heading("Your turn", console)
    console.print(Text.assemble("Picture of both: ", (visible(str(path)), "bold")), soft_wrap=True)
    console.print()
    console.print(Padding(Syntax(EXAMPLE, "python", theme="ansi_dark", background_color="default"), (0, 2)))
    console.print()
    for command, meaning in (
        ("condrank demo --seed 1", "the same with other data"),
        ("condrank demo --json", "all numbers, for a program"),
    ):
        console.print(f"  [bold]{command:<24}[/bold]{meaning}")


def _print_games(task: Task, console: Console) -> None:
    found, ranked = task.diagnosis, task.ranked
    _heading("1  Rock-paper-scissors: who beats whom", console)
    console.print(
        f"Known: {found.n_nodes} players, how often each shows rock, paper and scissors, and "
        f"{found.n_edges // 2:,} games. Asked: for [bold]any new player, rank new opponents[/bold] from the easiest "
        "to the hardest."
    )
    _print_diagnosis(task, console)
    baselines = {
        "one strength per player": task.baselines["one order"],
        "similarity of players": task.baselines["similarity"],
        "random order": 0.5,
    }
    _print_losses(task, "mean of 10 draws, λ = 2⁻³⁰", baselines, console)

    table = Table(box=None, padding=(0, 2), header_style="dim")
    for title in ("place", "opponent", "rock", "paper", "scissors", "predicted", "true"):
        table.add_column(title, justify="left" if title == "opponent" else "right")
    n = len(ranked.objects)
    for place in (*range(3), None, *range(n - 3, n)):
        if place is None:
            table.add_row("⋮", style="dim")
            continue
        shares = [f"{share:.0%}" for share in task.features[ranked.indices[place]]]
        chances = _chance(ranked.scores[place]), _chance(ranked.truth[place])
        table.add_row(str(place + 1), ranked.objects[place], *shares, *chances)
    rock = task.features[ranked.position, 0]
    console.print(f"\n[bold]Ranking for {ranked.query}[/bold], who shows rock most ({rock:.0%}): its chance against")
    console.print(table)


def _print_digits(task: Task, console: Console) -> None:
    found, ranked = task.diagnosis, task.ranked
    _heading("2  Handwritten digits: which images are alike", console)
    console.print(
        f"Known: {found.n_nodes} images and, for every pair, 2 = same digit, 1 = same shape (closed 0 4 6 8 9, or "
        f"open), 0 = neither. Asked: for [bold]any new image, rank {task.n_test} new images[/bold]."
    )
    _print_diagnosis(task, console)
    baselines = {"similarity of images": task.baselines["similarity"], "random order": 0.5}
    _print_losses(task, "λ from training images", baselines, console)

    console.print(f"\n[bold]Ranking for {ranked.query}[/bold], the first new image: score (true relation)")
    cards = [_card(task.features[ranked.position], "query", "")]
    for place in range(6):
        score = f"{ranked.scores[place]:.2f} ({ranked.truth[place]:.0f})"
        cards.append(_card(task.features[ranked.indices[place]], ranked.objects[place][5:], score))
    console.print(Padding(Columns(cards, padding=(0, 1)), (1, 0, 0, 2)))


def _print_unseen(found: UnseenClasses, console: Console) -> None:
    n = len(found.unseen)
    _heading("3  A limit, and what helps: digits that were in no training image", console)
    console.print(
        f"Three of the ten digits are kept out of training, {n} times at random. What was learned from other digits "
        'helps little here; [bold]prior="similarity"[/bold] starts from the kernel and learns corrections.'
    )
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for title in ("same digit or not", "rank loss", "", "beats the kernel"):
        table.add_column(title, justify="right" if title in ("rank loss", "beats the kernel") else "left")
    for name, losses in (
        ("kernel alone", found.similarity),
        ("learned", found.plain),
        ("learned, with prior", found.prior),
    ):
        average = mean(losses)
        wins = sum(loss < kernel for loss, kernel in zip(losses, found.similarity, strict=True))
        table.add_row(name, _loss(average), _bar(average), "" if losses is found.similarity else f"{wins} of {n}")
    console.print()
    console.print(table)
    gaps = [prior - kernel for prior, kernel in zip(found.prior, found.similarity, strict=True)]
    if n > 1:
        # A mean over a few choices says little without its error: for most seeds the difference is smaller.
        error = stdev(gaps) / n**0.5
        console.print(f"  With prior minus kernel alone: {mean(gaps):+.3f} ± {error:.3f} (standard error).")


def _print_diagnosis(task: Task, console: Console) -> None:
    """What the labels alone say, in one or two lines."""
    found, hodge = task.diagnosis, task.diagnosis.hodge
    console.print("\n[bold]The labels alone say[/bold] [dim](condrank.diagnose)[/dim]")
    from condrank.objective.relations import RELATIONS

    relation = RELATIONS[found.recommended_relation]
    says = [f'relation="{relation.name}": {relation.says}.']
    if hodge is not None and hodge.gradient_share is not None and hodge.noise_floor is not None:
        noise = 1 - hodge.noise_floor
        says.append(
            f"One strength per player explains {hodge.gradient_share:.0%} of the outcomes; "
            f"for pure noise it would be {noise:.0%}."
        )
        if hodge.gradient_share - noise < 3 * (hodge.noise_sd or 0.0):
            says.append("So there is no clear global order. The fit shows whether that means cycles or noise.")
    for line in says:
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


def _print_losses(task: Task, note: str, baselines: dict[str, float], console: Console) -> None:
    """A table of the models, relation × loss, and below it the baselines that learn nothing conditional."""
    console.print(f"\n[bold]Rank loss on unseen nodes[/bold] [dim](0 perfect, .5 random; {note})[/dim]")
    table = Table(box=None, padding=(0, 1, 0, 2), header_style="dim")
    table.add_column("relation", no_wrap=True)
    names = list(dict.fromkeys(model.loss for model in task.models))
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("")
    losses = {(model.relation, model.loss): model.rank_loss for model in task.models}
    for relation in dict.fromkeys(model.relation for model in task.models):
        values = [losses.get((relation, name)) for name in names]
        fits = relation == task.diagnosis.recommended_relation
        known = [value for value in values if value is not None]
        tried = [(relation, name) in losses for name in names]
        cells = [
            _loss(value) if value is not None else Text("refused" if was_tried else "–", "dim")
            for value, was_tried in zip(values, tried, strict=True)
        ]
        bar = _bar(min(known)) if known else Text("no such part", "dim")
        table.add_row(Text(f"{relation} ◂" if fits else relation, "bold" if fits else ""), *cells, bar)
    table.add_row("")
    for name, value in baselines.items():
        table.add_row(Text(name, "dim"), *[""] * (len(names) - 1), _loss(value), _bar(value))
    console.print(table)


def _heading(title: str, console: Console) -> None:
    console.print()
    console.print(Rule(Text(title, "bold cyan"), align="left", style="cyan"))


def _loss(value: float) -> Text:
    """A rank loss as in the paper's tables, without the zero."""
    style = "green" if value < 0.1 else "yellow" if value < 0.3 else "red"
    return Text(f"{value:.4f}".lstrip("0"), style)


def _bar(value: float, width: int = 16) -> Text:
    """A bar as long as the loss; the loss of a random order fills it."""
    filled = min(max(round(value / 0.5 * width), 1), width)
    return Text.assemble(("━" * filled, _loss(value).style), " " * (width - filled))


def _chance(value: float) -> str:
    return f"{value:.0%}"


def _card(pixels: np.ndarray, name: str, score: str) -> Group:
    """An 8×8 image in four lines of half blocks, with a caption."""
    ink = pixels.reshape(8, 8) > 0.4
    glyphs = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    lines = [
        "".join(glyphs[bool(up), bool(low)] for up, low in zip(*ink[row : row + 2], strict=True))
        for row in range(0, 8, 2)
    ]
    return Group(*(Text(line) for line in lines), Text(name, "dim"), Text(score))
