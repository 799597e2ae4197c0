# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Kubernetes quantities, as exact numbers."""

from __future__ import annotations

import re
from decimal import Decimal

_SUFFIXES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1),
    "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12),
    "P": Decimal(10**15), "E": Decimal(10**18),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40),
    "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip
_QUANTITY = re.compile(
    r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)"
)


def parse_quantity(text: str | float) -> Decimal:
    """The value of a quantity such as ``50Gi``, ``500m`` or ``1e3``; ValueError if it is none."""
    match = _QUANTITY.fullmatch(str(text))
    if not match:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = match.groups()
    return Decimal(number + (exponent or "")) * _SUFFIXES[suffix or ""]


def is_same_quantity(left: object, right: object) -> bool:
    """Whether both are quantities of the same value (``1`` and ``1000m`` are)."""
    scalars = (str, int, float)
    if not isinstance(left, scalars) or not isinstance(right, scalars):
        return False
    try:
        return parse_quantity(left) == parse_quantity(right)
    except ValueError:
        return False
