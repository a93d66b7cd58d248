"""The diagnosis as text: a line or two for each measurement, then the recommendation with its reasons."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from condrank.diagnosis.recommendation import count, percent
from condrank.diagnosis.transitivity import TTransitivity

if TYPE_CHECKING:
    from condrank.diagnosis.report import Diagnosis

_WIDTH = 100


def summarise(d: Diagnosis) -> str:
    """Text at most 100 characters wide, without what could not be measured."""
    rows, columns = d.shape
    nodes = f"{rows:,} rows and {columns:,} columns (two domains)" if d.two_domain else count(rows, "node")
    lines = [f"Relation of {nodes}, {count(d.n_edges, 'observed edge')} ({percent(d.density)} of all pairs)"]
    for name, text in measurements(d):
        lines += _wrapped(text, f"  {name:<13} ")
    constant = ", constant=True" if d.recommended_constant else ""
    lines += ["", f'Recommended: relation="{d.recommended_relation}", loss="{d.recommended_loss}"{constant}']
    for reason in d.reasons:
        lines += _wrapped(reason, "  - ")
    return "\n".join(lines)


def measurements(d: Diagnosis) -> list[tuple[str, str]]:
    """Name and sentence of each measurement that could be made."""
    texts = (
        ("sample", _sample(d)),
        ("labels", _labels(d)),
        ("edges", _edges(d)),
        ("rows", _rows(d)),
        ("directions", _directions(d)),
        ("order", _order(d)),
        ("cycles", _cycles(d)),
        ("transitivity", _transitivity(d)),
    )
    return [(name, text) for name, text in texts if text]


def _wrapped(text: str, start: str) -> list[str]:
    rest = " " * len(start)
    # A number and its % stay on one line.
    glued = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(glued, _WIDTH, initial_indent=start, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _sample(d: Diagnosis) -> str:
    if d.shape_used == d.shape:
        return ""
    return (
        f"the rest was measured on {d.n_nodes_used:,} of {d.n_nodes:,} nodes, drawn at random, "
        f"and {count(d.n_edges_used, 'edge')} between them"
    )


def _labels(d: Diagnosis) -> str:
    values = d.values
    if values.kind == "none":
        return "none observed"
    if values.kind == "constant":
        return f"constant: {values.minimum:.4g}"
    text = f"{values.kind}, from {values.minimum:.4g} to {values.maximum:.4g}"
    if values.levels:
        mainly = "" if len(values.levels) == values.n_levels else "mainly "
        text += f" ({mainly}{', '.join(f'{level:.4g}' for level in values.levels)})"
    else:
        text += f", {values.n_levels:,} different ones"
    if d.n_duplicates:
        text += f"; {count(d.n_duplicates, 'repeated edge')} averaged"
    if d.parts is not None and d.parts.scale == "probability":
        text += "; on the probability scale, centred at ½ first"
    return text


def _edges(d: Diagnosis) -> str:
    text = f"{_spread(d.degrees.outgoing)} per row, {_spread(d.degrees.incoming)} per column"
    if not d.two_domain:
        text += f", {count(d.degrees.n_loops, 'loop')}"
    return text + f", {count(d.degrees.n_isolated, 'isolated node')}"


def _spread(degrees: tuple[int, float, int]) -> str:
    low, median, high = degrees
    return f"{low:,}" if low == high else f"{low:,} to {high:,} (median {median:g})"


def _rows(d: Diagnosis) -> str:
    rows = d.rows
    if rows.rankable_share is None:
        return ""
    text = f"{percent(rows.rankable_share)} have two different labels to rank"
    if rows.row_mean_share is not None and rows.row_mean_chance is not None:
        text += (
            f"; {percent(rows.row_mean_share)} of the variance lies between row means "
            f"(by chance {percent(rows.row_mean_chance)})"
        )
    return text


def _directions(d: Diagnosis) -> str:
    if d.parts is None:
        return ""
    text = f"{count(d.parts.n_pairs, 'pair')} seen in both"
    symmetric, skew = d.parts.symmetric_share, d.parts.skew_share
    if symmetric is not None and skew is not None:
        text += f"; of the variation {percent(symmetric)} is symmetric, {percent(skew)} skew"
    return text


def _order(d: Diagnosis) -> str:
    hodge = d.hodge
    if hodge is None or hodge.gradient_share is None or hodge.cyclic_share is None:
        return ""
    text = f"one score per node explains {percent(hodge.gradient_share)} of the skew part"
    if hodge.noise_floor and hodge.noise_sd is not None:
        text += (
            f", {percent(hodge.cyclic_share)} is cyclic "
            f"(for pure noise {100 * hodge.noise_floor:.1f} ± {100 * hodge.noise_sd:.1g} %)"
        )
    if hodge.order_ceiling is not None and d.values.kind == "crisp":
        # Crisp labels are never pure score differences; without this line a perfect order looks cyclic.
        text += f"; if all crisp labels followed that order, it would explain {percent(hodge.order_ceiling)}"
    if d.read_as_reciprocal:
        text += "; pairs seen in one direction only were read as reciprocal"
    return text


def _cycles(d: Diagnosis) -> str:
    triads = d.triads
    if triads is None or triads.n_triads == 0:
        return ""
    if triads.share is None or triads.expected_sd is None:
        return f"{count(triads.n_triads, 'triad')} fully observed, none without a tie"
    verb = "is" if triads.n_decided == 1 else "are"
    text = (
        f"{percent(triads.share)} of {count(triads.n_decided, 'triad')} without a tie {verb} cyclic "
        f"(for coin tosses 25 ± {100 * triads.expected_sd:.1g} %)"
    )
    tied = triads.n_triads - triads.n_decided
    return text + (f"; {tied:,} more with ties" if tied else "")


def _transitivity(d: Diagnosis) -> str:
    if d.stochastic is not None and d.stochastic.weak is not None:
        found, name = d.stochastic, "stochastic"
        kinds = (("weak", found.weak), ("moderate", found.moderate), ("strong", found.strong))
    elif d.t_norms is not None and d.t_norms.minimum is not None:
        found, name = d.t_norms, "T-transitivity"
        kinds = (("min", found.minimum), ("product", found.product), ("Łukasiewicz", found.lukasiewicz))
    else:
        return ""
    shares = ", ".join(f"{kind} {percent(share)}" for kind, share in kinds if share is not None)
    text = f"{name}, violated by {shares} of {count(found.n_triples, 'triple')}"
    if isinstance(found, TTransitivity) and found.scaled:
        text += ", labels scaled to [0, 1]"
    if found.n_nodes_used < d.n_nodes_used:
        text += f", on {found.n_nodes_used:,} nodes drawn at random"
    return text
