# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http.addresses import literal_of, zone_of

PUBLIC = (
    *("8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "192.169.0.1"),
    *("2606:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"),
)
PRIVATE = (
    *("10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1"),
    *("fc00::1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1"),
)
SPECIAL = (
    *("127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1"),
    *("0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "::127.0.0.1", "::10.0.0.1"),
    *("169.254.169.254", "169.254.170.2", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254"),
    *("fe80::1", "fe80::1%eth0", "fd12::1%eth0", "fec0::1", "fd00:ec2::254", "fd20:ce::254"),
    *("100.100.100.200", "192.0.0.192", "168.63.129.16", "224.0.0.1", "ff02::1"),
    *("240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "2001:db8::1"),
    *("2002:7f00:1::", "2001::1", "64:ff9b:1::7f00:1", "100::1"),
    *("", "h.io", "127.1", "0x7f000001", "2130706433", "[::1]"),
)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (zone, text)
        for zone, texts in (("public", PUBLIC), ("private", PRIVATE), ("special", SPECIAL))
        for text in texts
    ],
)
def test_zone_of(zone: str, text: str) -> None:
    assert zone_of(text) == zone


@pytest.mark.parametrize(
    ("host", "literal"),
    [
        *(("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1"), ("h.io", "")),
        *(("registry", ""), ("my_registry.corp", ""), ("xn--bcher-kva.example", "")),
        ("1.2.3.4.nip.io", ""),
    ],
)
def test_literal_of(host: str, literal: str) -> None:
    assert literal_of(host) == literal


@pytest.mark.parametrize(
    "host",
    [
        *("", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1"),
        *("1.2.3.4.5", "h..io", ".h.io", "h.io.", "-h.io", "h-.io", "h io", "h\r\nio", "ä.io"),
        *("h.io/x", "h@io", "[::1", "[h]", "a" * 64, "a." * 127 + "io"),
    ],
)
def test_literal_of_invalid(host: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        literal_of(host)
