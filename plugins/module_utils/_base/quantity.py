# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Kubernetes quantities as exact numbers."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Decimal, DecimalException

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

_COUNT_OR_PERCENTAGE = re.compile(r"[0-9]{1,9}%?")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BILLION = 10**9
_MAX_DIGITS = 24
"""Maximum digits before the decimal point. Kubernetes stores up to 2^63, but a short exponent may
expand to many digits."""
_MAXIMUM = 2**63 - 1
_MAX_SHOWN = 40


def is_count_or_percentage(text: str) -> bool:
    """Whether a text is a number or a percentage of any real size, such as ``1`` or ``10%``."""
    return bool(_COUNT_OR_PERCENTAGE.fullmatch(text))


class _OutOfRangeError(ValueError):
    """A valid quantity that is larger than any real one."""


def parse_quantity(text: str | float) -> Decimal:
    """The value of a quantity such as ``50Gi``, ``500m`` or ``1e3``; ValueError if invalid."""
    number, exponent, suffix = _split(text)
    try:
        value = Decimal(number + exponent) * _SUFFIXES[suffix]
    except DecimalException as error:
        raise _OutOfRangeError(f"{_show(text)} is out of range for a quantity") from error
    if value and value.adjusted() >= _MAX_DIGITS:
        raise _OutOfRangeError(f"{_show(text)} is out of range for a quantity")
    return value


def _split(text: str | float) -> list[str]:
    match = _QUANTITY.fullmatch(str(text))
    if not match:
        raise ValueError(f"{_show(text)} is not a quantity")
    return [part or "" for part in match.groups()]


def _show(text: str | float) -> str:
    shown = repr(text)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"


def canonical_quantity(text: str | float) -> str:
    """The canonical form of a quantity: ``0.5Gi`` is ``512Mi``; ValueError if it is invalid.

    The suffix keeps its family: powers of 1024, powers of 1000, or an exponent.
    """
    _number, exponent, suffix = _split(text)
    nanos = int((parse_quantity(text) * _BILLION).to_integral_value(ROUND_UP))
    if not nanos:
        return "0"
    if suffix.endswith("i") and nanos % _BILLION == 0 and abs(nanos) >= 1024 * _BILLION:
        number, power = _shorten(nanos // _BILLION, 1024, len(_BINARY))
        return f"{number}{_BINARY[power]}"
    number, power = _shorten(nanos, 1000, len(_DECIMAL))
    if exponent:
        return f"{number}{exponent[0]}{3 * power - 9}" if power != 3 else str(number)
    return f"{number}{_DECIMAL[power]}"


def _shorten(number: int, base: int, names: int) -> tuple[int, int]:
    """The number without factors of ``base``, and their count, up to the largest suffix."""
    power = 0
    while number % base == 0 and power + 1 < names:
        number, power = number // base, power + 1
    return number, power


def is_same_quantity(left: object, right: object) -> bool:
    """Whether both are quantities of the same value (``1`` and ``1000m`` are).

    Values above the Kubernetes maximum are capped, and fractions of a nano are rounded up.
    """
    scalars = (str, int, float)
    if not isinstance(left, scalars) or not isinstance(right, scalars):
        return False
    try:
        return _as_stored(left) == _as_stored(right)
    except ValueError:
        return False


def _as_stored(text: str | float) -> Decimal:
    try:
        value = parse_quantity(text)
    except _OutOfRangeError:
        value = Decimal(-_MAXIMUM if str(text).startswith("-") else _MAXIMUM)
    nanos = (value * _BILLION).to_integral_value(ROUND_UP)
    return max(min(nanos, Decimal(_MAXIMUM * _BILLION)), Decimal(-_MAXIMUM * _BILLION))
