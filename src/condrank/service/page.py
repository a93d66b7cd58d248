"""The page at ``/``: the explorer, which asks this service for its data."""

from __future__ import annotations

from condrank.explorer import HTTP, Page, fill_page

INTRODUCTION = "Pick a node to see which objects the model ranks first for it."


def service_page() -> Page:
    """The page. It holds no data of the model, and so it needs no token."""
    return fill_page("condrank", HTTP, introduction=INTRODUCTION)


def page_headers(page: Page) -> dict[str, str]:
    """The page's policy, and that no other page may frame it, which only a header can say."""
    return {"Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'"}
