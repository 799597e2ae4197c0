# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Classifies addresses: public Internet, private network, or special.

The properties of `ipaddress` do not fit: their meaning differs between Python releases, and they
treat the addresses of cloud metadata services as ordinary ones.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

Zone = t.Literal["public", "private", "special"]
Address: t.TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

_SPECIAL = [
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24"),
        *("192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
        # cloud metadata services outside of 169.254.0.0/16
        *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::/32"),
        # tunnels, whose other end is in the address; documentation, benchmarks, identifiers
        *("2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20"),
    )
]
_PRIVATE = [
    ipaddress.ip_network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
]
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_MAX_NAME = 253


def zone_of(text: str) -> Zone:
    """The zone of an address; text that is not an address, or has a scope, is special."""
    try:
        address: Address = ipaddress.ip_address(text)
    except ValueError:
        return "special"
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return "special"
        inner = address.ipv4_mapped or _behind_nat64(address)
        address = inner or address
    return _zone_of(address)


def literal_of(host: str) -> str:
    """The IP address if ``host`` is one, empty if it is a name; ValueError if it is neither.

    `127.1`, `0x7f.1` and `2130706433` are neither: resolvers and proxies treat them as addresses.
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    labels = host.split(".") if len(host) <= _MAX_NAME else [""]
    last = labels[-1]
    if (
        not all(map(_LABEL.fullmatch, labels))
        or last.isdigit()
        or re.fullmatch(r"0x[0-9a-f]*", last)
    ):
        raise ValueError(f"{host[:_MAX_NAME]!r} is not a host name")
    return ""


def _zone_of(address: Address) -> Zone:
    if any(address in network for network in _SPECIAL):
        return "special"
    if any(address in network for network in _PRIVATE):
        return "private"
    return "public" if address.version == 4 or address in _GLOBAL_V6 else "special"


def _behind_nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a NAT64 gateway derives from an address of the well-known prefix."""
    return ipaddress.IPv4Address(address.packed[-4:]) if address in _NAT64 else None
