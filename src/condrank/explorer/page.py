"""`fill_page`: the page of a report or of a service, with a policy that lets it run its own script only."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from condrank._version import __version__
from condrank.explorer.markup import Markup, escape, join, script_data, tag

#: Data of a page that asks the service it came from.
HTTP = {"source": "http"}
EXPLORE = "explore"
# A form, so that Enter in the field sends it.
TOKEN_FORM = Markup(
    '<form id="locked" hidden><label for="token">Token of this service</label>'
    '<input id="token" type="password" autocomplete="off"><button>Use token</button></form>'
)


@dataclass(frozen=True)
class Page:
    """A page and what a browser may do with it.

    Attributes
    ----------
    html : str
        The whole page. Its content security policy is inside as well.
    policy : str
        The content security policy, for a header.
    """

    html: str
    policy: str


@dataclass(frozen=True)
class Section:
    """A part of the page before the explorer.

    Attributes
    ----------
    name : str
        Its place in an address.
    title, link : str
        Its heading, and its shorter name in the navigation.
    body : Markup
        What it says.
    """

    name: str
    title: str
    link: str
    body: Markup


def fill_page(
    title: str,
    data: Mapping[str, Any],
    *,
    introduction: str,
    about: Any = "",
    sections: Sequence[Section] = (),
    style: str = "",
    footer: str = "",
) -> Page:
    """The page with everything it needs inside: style, script and data.

    Parameters
    ----------
    title : str
        Title of the page.
    data : mapping
        What `condrank.explorer.embedded_data` gives, or `HTTP`.
    introduction : str
        What the explorer says first.
    about : Markup or str
        The line below the title; a service fills it itself.
    sections : sequence of Section
        What comes before the explorer.
    style : str
        CSS of these sections.
    footer : str
        The last line of the page.
    """
    script, own_style, page = (_read(name) for name in ("page.js", "page.css", "page.html"))
    style = own_style + style
    is_http = data["source"] == HTTP["source"]
    policy = _policy(script, style, connects=is_http)
    links = [("#" + one.name, one.link) for one in sections] + [("#" + EXPLORE, "Explore")]
    skip = tag("a", "Skip to the ranking explorer", class_="skip", href="#" + EXPLORE)
    filled = Template(page).substitute(
        policy=escape(policy),
        version=escape(__version__),
        title=escape(title),
        style=style,
        skip=skip if sections else "",
        about=escape(about),
        navigation=tag("nav", *(tag("a", text, href=to) for to, text in links), aria_label="Sections")
        if sections
        else "",
        sections=join((_section(one) for one in sections), "\n"),
        introduction=escape(introduction),
        token=TOKEN_FORM if is_http else "",
        footer=tag("footer", footer, class_="muted") if footer else "",
        data=script_data(data),
        script=script,
    )
    return Page(filled, policy)


def _section(one: Section) -> Markup:
    heading = f"{one.name}-title"
    return tag("section", tag("h2", one.title, id=heading), one.body, id=one.name, aria_labelledby=heading)


def _policy(script: str, style: str, connects: bool) -> str:
    """Only this script and this style: even an id or a cell that became markup could run and load nothing."""
    asks = "connect-src 'self'; " if connects else ""
    return (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; {asks}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return files("condrank.explorer").joinpath(name).read_text(encoding="utf-8")
