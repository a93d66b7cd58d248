"""`fill_page`: the page of a report or of a service, with a policy that lets it run its own script only."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
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
#: Parts of the script, in their order.
SCRIPTS = ("sources.js", "compare.js", "why.js", "page.js")
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
    """A part of the page before or after the explorer.

    Attributes
    ----------
    name : str
        Its place in an address.
    title, link : str
        Its heading, which may be empty, and its shorter name in the navigation.
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
    after: Sequence[Section] = (),
    style: str = "",
    footer: str = "",
    label: str = "Conditioning node",
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
    sections, after : sequence of Section
        What comes before and after the explorer.
    style : str
        CSS of these sections.
    footer : str
        The last line of the page.
    label : str
        Name of the search field.
    """
    own_style, page = _read("page.css"), _read("page.html")
    script = _join_scripts(_read(name) for name in SCRIPTS)
    style = own_style + style
    is_http = data["source"] == HTTP["source"]
    policy = _policy(script, style, connects=is_http)
    before, behind = ([("#" + one.name, one.link) for one in some] for some in (sections, after))
    links = [*before, ("#" + EXPLORE, "Explore"), *behind]
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
        after=join((_section(one) for one in after), "\n"),
        introduction=escape(introduction),
        label=escape(label),
        token=TOKEN_FORM if is_http else "",
        footer=tag("footer", footer, class_="muted") if footer else "",
        data=script_data(data),
        script=script,
    )
    return Page(filled, policy)


def _section(one: Section) -> Markup:
    if not one.title:
        return tag("section", one.body, id=one.name, aria_label=one.link)
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


def _join_scripts(parts: Iterable[str]) -> str:
    """One script that leaves no names behind."""
    return '"use strict";\n(() => {\n' + "".join(parts) + "})();\n"


def _read(name: str) -> str:
    return files("condrank.explorer").joinpath(name).read_text(encoding="utf-8")
