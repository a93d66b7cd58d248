"""Who a client is."""

from __future__ import annotations

from importlib import import_module

import pytest

from service.served import service

client_of = import_module(f"{service.__name__}.clients").client_of


@pytest.mark.parametrize(
    ("address", "client"),
    [
        (("192.0.2.7", 1234), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1234, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1234, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::1", 99, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:3::1", 99, 0, 0), "2001:db8:1:3::/64"),
        (("fe80::1%eth0", 99, 0, 2), "fe80::/64"),
        (("testclient", 50000), "testclient"),
        (("a:b", 1), "a:b"),
        (None, ""),
    ],
)
def test_addresses_of_one_client_are_one(address, client):
    assert client_of(address) == client
