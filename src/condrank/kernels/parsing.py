"""Kernel expressions from text, such as ``"Unit(Precomputed()) ** 8 + 0.1 * Constant()"``. No text is executed."""

from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import Any

from condrank.kernels.composed import Unit
from condrank.kernels.expression import Kernel
from condrank.kernels.leaves import Constant, Identity, Precomputed
from condrank.kernels.on_features import ON_FEATURES

#: What an expression can be made of. Functions cannot be written as text.
WORDS: dict[str, Any] = {kind.__name__: kind for kind in (*ON_FEATURES.values(), Constant, Identity, Precomputed, Unit)}
#: Longer texts are refused before they are parsed.
LONGEST = 100_000
#: Deeper expressions are refused.
DEEPEST = 50


def parse_kernel(text: str) -> Kernel:
    """The kernel that a text describes: names of kernels with parameters, numbers, ``+``, ``*``, ``**`` and brackets.

    Parameters
    ----------
    text : str
        For example ``"0.5 * RBF(gamma='median', view='text') + Identity()"``. Printing a kernel gives such a text.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from condrank.kernels import parse_kernel
    >>> parse_kernel("Unit(Precomputed())**8 + 0.1*Constant()")
    Unit(Precomputed()) ** 8 + 0.1 * Constant()
    """
    if not isinstance(text, str):
        raise ValueError(f"a kernel expression must be text, got {text!r}")
    if len(text) > LONGEST:
        raise ValueError(f"a kernel expression may have {LONGEST:,} characters, got {len(text):,}")
    try:
        # A text in quotes has no line breaks, so these are between the parts.
        tree = ast.parse(text.strip().replace("\r", " ").replace("\n", " "), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" near character {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise ValueError(f"the kernel {_short(text)} cannot be read{where}; {_help()}") from None
    kernel = _read(tree.body, text, 0)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"the kernel {_short(text)} is only a number; {_help()}")
    return kernel


def _read(node: ast.AST, text: str, depth: int) -> Any:
    """The kernel or number of a part of the text."""
    if depth > DEEPEST:
        raise ValueError(f"the kernel {_short(text)} is nested more than {DEEPEST} deep")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult | ast.Pow):
        return _combine(node, text, depth)
    if isinstance(node, ast.Call):
        return _call(node, text, depth)
    if isinstance(node, ast.Name):
        raise _unknown(node.id, text, called=False)
    number = _number(node)
    if number is None:
        raise ValueError(f"the kernel {_short(text)} has a part that cannot be read: {_part(node)!r}; {_help()}")
    return number


def _combine(node: ast.BinOp, text: str, depth: int) -> Any:
    # A long sum nests on its left side only, which is walked without recursion.
    operands: list[tuple[ast.operator, ast.AST]] = []
    first: ast.AST = node
    while isinstance(first, ast.BinOp) and type(first.op) is type(node.op) and not isinstance(first.op, ast.Pow):
        operands.append((first.op, first.right))
        first = first.left
    if isinstance(node.op, ast.Pow):
        operands, first = [(node.op, node.right)], node.left
    result = _read(first, text, depth + 1)
    for op, right in reversed(operands):
        other = _read(right, text, depth + 1)
        if not isinstance(result, Kernel) and not isinstance(other, Kernel):
            raise ValueError(f"the kernel {_short(text)} combines two numbers; write the number itself")
        if isinstance(op, ast.Pow):
            if isinstance(other, Kernel) or not isinstance(result, Kernel):
                raise ValueError(f"the kernel {_short(text)} needs a number after **, as in RBF() ** 2")
            result = result**other
        else:
            result = result + other if isinstance(op, ast.Add) else result * other
    return result


def _call(node: ast.Call, text: str, depth: int) -> Kernel:
    if not isinstance(node.func, ast.Name):
        raise ValueError(f"the kernel {_short(text)} has a part that cannot be read: {_part(node)!r}; {_help()}")
    kind = WORDS.get(node.func.id)
    if kind is None:
        raise _unknown(node.func.id, text, called=True)
    if any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        raise ValueError(f"the kernel {_short(text)} must name its parameters one by one")
    named = [keyword.arg for keyword in node.keywords]
    if len(set(named)) < len(named):
        raise ValueError(f"{node.func.id} in the kernel {_short(text)} has a parameter twice")
    if kind is Unit:
        args, given = [_read(one, text, depth + 1) for one in node.args], {}
        given = {str(keyword.arg): _read(keyword.value, text, depth + 1) for keyword in node.keywords}
    else:
        args = [_value(one, text) for one in node.args]
        given = {str(keyword.arg): _value(keyword.value, text) for keyword in node.keywords}
    try:
        return kind(*args, **given)
    except TypeError as error:
        raise ValueError(f"{node.func.id} in the kernel {_short(text)}: {str(error).split('() ')[-1]}") from None


def _value(node: ast.AST, text: str) -> Any:
    """The value of a parameter: a number, a word in quotes, None, or a tuple of numbers."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
        return node.value
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(one, text) for one in node.elts)
    number = _number(node)
    if number is None:
        raise ValueError(
            f"the kernel {_short(text)} has a parameter that cannot be read: {_part(node)!r}; a parameter is a number, "
            "None, a word in quotes, or numbers in brackets"
        )
    return number


def _number(node: ast.AST) -> float | int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _number(node.operand)
        return None if inner is None else -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    return None


def _unknown(word: str, text: str, called: bool) -> ValueError:
    by_lower = {name.lower(): name for name in WORDS} | {str(kind.name): name for name, kind in WORDS.items()}
    close = [by_lower[one] for one in get_close_matches(word.lower(), [*by_lower], 1)]
    hint = f"did you mean {close[0]}()?" if close else f"there are {', '.join(f'{name}()' for name in WORDS)}"
    if called is False and word in WORDS:
        hint = f"write {word}()"
    return ValueError(f"the kernel {_short(text)} has the unknown word {word!r}; {hint}")


def _help() -> str:
    return "write for example 'RBF(gamma=0.1) + 0.5 * Constant()'"


def _part(node: ast.AST) -> str:
    return ast.unparse(node)[:60]


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
