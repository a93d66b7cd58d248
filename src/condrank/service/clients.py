"""Who a client is, as far as limits are concerned."""

from __future__ import annotations

import ipaddress
from typing import Any


def client_of(address: Any) -> str:
    """The client that an address (host and port, or None) belongs to.

    An IPv6 client counts by the first 64 bits: one machine or household usually owns all addresses with the same ones.
    Behind a proxy all clients are one, the proxy.
    """
    host = str(address[0]) if address else ""
    if ":" not in host:
        return host
    try:
        found = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))
