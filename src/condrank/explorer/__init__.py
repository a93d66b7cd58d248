"""The page on which rankings are explored: one template, style and script, with two sources of data.

    report  ──► data inside the file ──┐
                                       ├──► page.html + page.css + page.js
    service ──► data over HTTP ────────┘

`fill_page` fills the template. `embedded_data` is what the script reads in a file that needs no network; on the page of
a service the same script asks the service instead.
"""

from __future__ import annotations

from condrank.explorer.embedded import RankedNode, embedded_data
from condrank.explorer.page import HTTP, Page, Section, fill_page

__all__ = ["HTTP", "Page", "RankedNode", "Section", "embedded_data", "fill_page"]
