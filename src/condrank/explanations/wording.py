"""An explanation as a sentence that a person can read."""

from __future__ import annotations

from typing import Any

from condrank.explanations.terms import Terms

# What is in a score beside the learned part.
REST = {"prior": "their similarity (the prior)", "intercept": "the intercept", "centre": "the centre of the scale"}
# A contribution smaller than this share of the largest one is not worth a mention.
LEAST_SHARE = 0.1


def sentence(terms: Terms, names: tuple[Any, Any, Any], total: float, top: int = 3) -> str:
    """The order of two objects, or the score of one, and the contributions that it is mostly due to.

    ``names`` are those of the conditioning node, of the object and of the other one, which may be None.
    """
    query, one, other = names
    if other is None:
        start = f"{one} has the score {total:.3g} for {query}"
    elif total == 0:
        start = f"{one} and {other} have the same score for {query}"
    else:
        start = f"{one} is ranked {'above' if total > 0 else 'below'} {other} for {query} (by {abs(total):.3g})"
    found = [(_said(terms.by, row, names), float(row["contribution"])) for row in terms.rows(10 * top)]
    found += [(REST.get(name, name), value) for name, value in terms.rest.items()]
    sign = -1.0 if total < 0 else 1.0
    least = LEAST_SHARE * max((abs(value) for _, value in found), default=0.0)
    found = sorted((item for item in found if abs(item[1]) > least), key=lambda item: -abs(item[1]))
    known = "what is known of " if terms.by == "nodes" else ""
    for_it = [item for item in found if sign * item[1] > 0][:top]
    against = [item for item in found if sign * item[1] < 0][:1]
    if for_it:
        start += f", mostly because of {_listed(for_it, known)}"
    if against:
        start += f"; {_listed(against, known)} speaks against it"
    return f"{start}."


def _said(by: str, row: dict[str, Any], names: tuple[Any, Any, Any]) -> str:
    query, one, other = names
    if by == "labels":
        return f"the label {row['label']:.4g} of {row['query']} and {row['object']}"
    if by == "nodes":
        return f"what is known of {row['node']}"
    if by == "parts":
        first, second = row["query_part"], row["object_part"]
        if first in REST:
            return REST[first]
        return (
            f"who has more {second}"
            if first == "compared"
            else " × ".join(dict.fromkeys(filter(None, (first, second))))
        )
    if row["side"] == "both":
        return row["feature"]
    value = row.get("value")
    if row["side"] == "query":
        return f"{row['feature']} of {query}" + ("" if value is None else f", {_value(value)}")
    if value is None or other is None:
        return f"{row['feature']} of {one}" + ("" if value is None else f", {_value(value)}")
    return f"{row['feature']}, {_value(value)} against {_value(row.get('other_value'))}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _listed(items: list[tuple[str, float]], known: str) -> str:
    """Contributions one after the other. What all of them begin with is said once."""
    texts = [f"{text} ({value:+.3g})" for text, value in items]
    if known and all(text.startswith(known) for text in texts):
        texts[1:] = [text.removeprefix(known) for text in texts[1:]]
    return texts[0] if len(texts) == 1 else f"{'; '.join(texts[:-1])} and {texts[-1]}"
