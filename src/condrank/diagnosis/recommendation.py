"""From measurements to advice: which relation and which loss, with the reasons as sentences."""

from __future__ import annotations

from typing import Literal

from condrank.diagnosis.cycles import CyclicTriads, HodgeSplit
from condrank.diagnosis.degrees import Rows
from condrank.diagnosis.relation import RelationParts, Values
from condrank.diagnosis.transitivity import TTransitivity

Relation = Literal["ordinary", "symmetric", "reciprocal"]
Loss = Literal["ranking", "regression", "logistic"]

#: A symmetric or reciprocal relation is recommended if its part has at least this share of the variation.
FITS = 0.9
#: With fewer pairs, the mean of the labels is no evidence that a relation is reciprocal about that mean.
FEW_PAIRS = 10
#: With fewer edges per row, the row means that the ranking loss gives up are more than a quarter of the data.
FEW_EDGES = 4.0


def percent(share: float) -> str:
    """0.123 as ``12.3 %``. Only an exact 0 or 1 is written as ``0 %`` or ``100 %``."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    text = f"{100 * share:.1f}"
    if text in ("0.0", "-0.0"):
        return "< 0.1 %"
    return "> 99.9 %" if text == "100.0" else f"{text} %"


def recommend_relation(parts: RelationParts | None, values: Values, n_one_way: int) -> tuple[Relation, list[str]]:
    """Choose the relation whose part has at least nine tenths of the variation; ordinary if none has.

    Parameters
    ----------
    parts : RelationParts or None
        Energies; None for two domains.
    values : Values
        Levels of the labels.
    n_one_way : int
        Pairs observed in one direction only.

    Returns
    -------
    relation, reasons
    """
    if values.kind == "none":
        return "ordinary", ["No edge is observed: there is nothing to learn from."]
    if parts is None:
        return "ordinary", ["Queries and objects are two domains: a relation between them can only be ordinary."]
    if parts.n_pairs == 0:
        return "ordinary", [
            "No pair is observed in both directions, so the labels do not show whether the relation is symmetric, "
            "reciprocal or ordinary. If you know that it is symmetric or reciprocal, use that relation: it is better."
        ]
    reasons: list[str] = []
    share, energy_share = parts.skew_share, parts.skew_energy_share
    relation: Relation = "ordinary"
    if share is None or energy_share is None:
        relation = "symmetric"
        reasons.append(
            "All pairs seen in both directions have the same label. If the labels are links or wins, "
            'the other ones are needed too: use unstored="zero", or add the opposite direction with '
            "the opposite sign."
        )
    elif share <= 1.0 - FITS:
        relation = "symmetric"
        reasons.append(
            f"Both directions of a pair {_agree(share)}: {percent(1 - share)} of the variation is symmetric."
        )
    elif energy_share >= FITS:
        relation = "reciprocal"
        scale = " (on the probability scale, about ½)" if parts.scale == "probability" else ""
        reasons.append(
            f"The two directions of a pair {_flip(energy_share)}{scale}: {percent(energy_share)} of the energy is skew."
        )
    elif share >= FITS and parts.n_pairs >= FEW_PAIRS:
        relation = "reciprocal"
        reasons.append(
            f"About the mean {parts.mean:.4g} the two directions {_flip(share)}: {percent(share)} of the "
            "variation is skew. Subtract the mean from the labels; rankings do not depend on it."
        )
    else:
        reasons.append(
            f"The variation is {percent(1 - share)} symmetric and {percent(share)} skew; neither a "
            "symmetric nor a reciprocal model could learn nine tenths of it."
        )
    if relation != "ordinary" and share is not None:
        rest = share if relation == "symmetric" else 1 - share
        if rest > 1e-6:
            reasons.append(
                f"The other {percent(rest)} of the variation will not be learned; if it is not noise, "
                'use relation="ordinary".'
            )
    if parts.n_pairs < FEW_PAIRS or n_one_way > parts.n_pairs:
        reasons.append(
            f"This rests on {count(parts.n_pairs, 'pair')} seen in both directions; "
            f"{n_one_way:,} were seen in one direction only."
        )
    return relation, reasons


def recommend_loss(
    relation: Relation, values: Values, rows: Rows, edges_per_row: float, sampled: bool, games: bool = False
) -> tuple[Loss, list[str]]:
    """Choose the loss: ranking, unless rows have little to rank; logistic for wins and losses.

    Parameters
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}
        The recommended relation.
    values : Values
        Levels of the labels.
    rows : Rows
        What the rows contain to rank.
    edges_per_row : float
        Observed edges for each row of the whole graph.
    sampled : bool
        Whether ``rows`` describes a sample of the nodes, in which a row keeps few of its edges.
    games : bool
        Whether the labels are shares of won games, because pairs met more than once.

    Returns
    -------
    loss, reasons
    """
    if rows.rankable_share is None:
        return "ranking", []
    if relation == "reciprocal" and (games or _is_win_or_loss(values)):
        return "logistic", [
            "The labels are outcomes (win, loss, perhaps tie): the logistic loss gives winning probabilities "
            'that are exactly reciprocal. If only the order matters, "ranking" or "regression" also work: the paper '
            "found regression competitive on its rock-paper-scissors games."
        ]
    if rows.rankable_share == 0.0 and not sampled:
        return "regression", ["No row has two different labels, so the ranking loss would have nothing to learn from."]
    if edges_per_row < FEW_EDGES:
        return "regression", [
            f"A row has {edges_per_row:.1f} observed edges on average; the ranking loss gives up the "
            f"mean of each row, {percent(1 / max(edges_per_row, 1.0))} of the data."
        ]
    if rows.rankable_share < 0.5 and not sampled:
        return "regression", [
            f"Only {percent(rows.rankable_share)} of the rows have two different labels to rank; the ranking "
            "loss would ignore the others."
        ]
    reasons = ["The aim is a ranking for each conditioning node, and the rows have enough labels to compare."]
    share, chance = rows.row_mean_share, rows.row_mean_chance
    if share is not None and chance is not None and share > max(2 * chance, 0.05) and relation != "reciprocal":
        reasons.append(
            f"{percent(share)} of the variance lies between row means (by chance {percent(chance)}). "
            "No ranking needs it; only regression would fit it."
        )
    reasons.append('If you want the values and not only their order, use loss="regression".')
    return "ranking", reasons


def further_advice(
    relation: Relation,
    values: Values,
    hodge: HodgeSplit | None,
    triads: CyclicTriads | None,
    t_norms: TTransitivity | None,
) -> list[str]:
    """What order, cycles and classes mean for the model."""
    advice: list[str] = []
    if relation == "reciprocal" and hodge is not None and triads is not None:
        advice += _order_advice(hodge, triads)
    if relation == "symmetric" and values.kind == "crisp" and t_norms is not None and t_norms.minimum == 0.0:
        advice.append(
            "The relation is crisp, symmetric and transitive: the nodes form classes. RelationGraph.from_classes never "
            'builds the n × n matrix, and prior="similarity" helps if new nodes have new classes.'
        )
    return advice


def _order_advice(hodge: HodgeSplit, triads: CyclicTriads) -> list[str]:
    if hodge.cyclic_share is None or hodge.gradient_share is None or hodge.noise_sd is None:
        return []
    if not hodge.noise_floor:
        return ["The observed pairs form no cycle, so they cannot show whether there is an order or cycles."]
    # Only differences of more than three standard deviations of noise count as a finding.
    excess = hodge.cyclic_share - hodge.noise_floor
    if excess < -3 * hodge.noise_sd:
        # Crisp labels cannot be pure score differences, so their share is compared with the largest possible one.
        mostly = hodge.gradient_share >= 0.5 * (hodge.order_ceiling or 1.0)
        extent = "most" if mostly else f"{percent(hodge.gradient_share)}"
        return [
            f"One global order explains {extent} of the relation, more than chance: constant=True gives the "
            "model a score for each node in addition to the cyclic part (essential with a linear kernel)."
        ]
    cyclic = triads.share is not None and triads.share > triads.expected + 3 * (triads.expected_sd or 0.0)
    if excess > 3 * hodge.noise_sd or cyclic:
        return [
            "The relation is more cyclic than noise: no global order fits, and a model with one score per "
            "node would miss it."
        ]
    return [
        "No global order explains more than chance: the relation is cyclic or noise. This split "
        "cannot tell which of the two; cross-validation of a fit can."
    ]


def recommend_constant(relation: Relation, hodge: HodgeSplit | None) -> bool:
    """Whether a reciprocal relation needs strengths of the nodes: there is an order, or there may be one."""
    if relation != "reciprocal" or hodge is None or hodge.cyclic_share is None:
        return relation == "reciprocal"
    if not hodge.noise_floor or hodge.noise_sd is None:
        return True
    return hodge.cyclic_share - hodge.noise_floor < -3 * hodge.noise_sd


def sample_advice(rows: Rows, edges_per_row: float) -> list[str]:
    """Warn if a sample of the nodes keeps too few edges to say much."""
    if rows.edges_per_row >= FEW_EDGES or edges_per_row < 2 * rows.edges_per_row:
        return []
    return [
        f"The sample keeps {rows.edges_per_row:.1f} of {edges_per_row:.1f} edges per row, so the numbers about rows, "
        "order and cycles are weak; a larger max_nodes says more."
    ]


def count(number: int, noun: str) -> str:
    """``1 pair``, ``2 pairs``, ``no pairs``."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s" if number else f"no {noun}s"


def _is_win_or_loss(values: Values) -> bool:
    # Two or three levels that mirror each other about a tie: -1, 0, 1 or 0, ½, 1.
    if values.kind != "crisp" or len(values.levels) not in (2, 3):
        return False
    low, high = values.levels[0], values.levels[-1]
    middle = values.levels[1] if len(values.levels) == 3 else (low + high) / 2
    return abs(low + high - 2 * middle) <= 1e-9 * (high - low)


def _agree(skew_share: float) -> str:
    return "agree" if skew_share <= 1e-6 else "nearly agree"


def _flip(skew_share: float) -> str:
    return "are opposite" if skew_share >= 1 - 1e-6 else "are nearly opposite"
