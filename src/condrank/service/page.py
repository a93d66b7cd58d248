"""The page at ``/``: one file without anything from elsewhere, whose script and style are named by their hashes."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files


def read_page() -> str:
    """The page."""
    return files("condrank.service").joinpath("page.html").read_text(encoding="utf-8")


def page_headers(page: str) -> dict[str, str]:
    """A policy by which a browser runs what the page has, and nothing that got into it."""
    script, style = (_hashed(page, tag) for tag in ("script", "style"))
    policy = (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {"Content-Security-Policy": policy}


def _hashed(page: str, tag: str) -> str:
    (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
