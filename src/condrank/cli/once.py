"""Commands that refuse an option given twice where it may be given once, instead of taking the last."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class OnceCommand(TyperCommand):
    """A command whose options are given at most once, except those that are repeatable."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Count the options before their values are read."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for name, times in Counter(one.name for one in order).items():
                (option,) = [one for one in self.get_params(ctx) if one.name == name]
                if times > 1 and option.param_type_name == "option" and not getattr(option, "multiple", False):
                    longest = max(option.opts, key=len)
                    raise typer.BadParameter(f"was given {times} times; give it once", param_hint=longest)
        return super().parse_args(ctx, args)
