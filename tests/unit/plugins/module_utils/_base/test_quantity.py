# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from decimal import Decimal

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.quantity import (
    canonical_quantity,
    is_count_or_percentage,
    is_same_quantity,
    parse_quantity,
)


@pytest.mark.parametrize("text", ["0", "7", "100%", "999999999"])
def test_is_count_or_percentage(text):
    assert is_count_or_percentage(text)


@pytest.mark.parametrize("text", ["", "%", "-1", "1.5", "5 %", "9" * 10, "\u0663", "1\n"])
def test_is_count_or_percentage_invalid(text):
    assert not is_count_or_percentage(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1", 1),
        (2, 2),
        (1.5, "1.5"),
        ("50Gi", 50 * 2**30),
        ("1Ei", 2**60),
        ("500m", "0.5"),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("1.5Gi", 3 * 2**29),
        (".5", "0.5"),
        ("5.", 5),
        ("-1", -1),
        ("+1u", "0.000001"),
        ("100n", "1e-7"),
    ],
)
def test_parse_quantity(text, value):
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            *("", " ", "big", "a lot", "1 Gi", "1gi", "1K", "Gi", ".", "1e", "1Gi2", "--1"),
            *("1_0", "\u0661x"),
        )
    ],
)
@pytest.mark.parametrize("read", [parse_quantity, canonical_quantity])
def test_parse_quantity_invalid(text, read):
    with pytest.raises(ValueError, match="is not a quantity"):
        read(text)


@pytest.mark.parametrize("read", [parse_quantity, canonical_quantity])
@pytest.mark.parametrize(
    "text",
    ["1e99999", "1e999999999", "1e9999999999999999999", "1e-9999999999999999999", "9" * 5000],
    ids=["many digits", "memory", "no exponent", "nor a small one", "written out"],
)
def test_parse_quantity_out_of_range(text, read):
    with pytest.raises(ValueError, match="is out of range") as caught:
        read(text)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("40Gi", "40Gi"), ("0.5Gi", "512Mi"), ("1024Mi", "1Gi"), ("1000Mi", "1000Mi")),
        *(("1023Ki", "1023Ki"), ("1.5Ki", "1536"), ("0.1Ki", "102400m")),
        *(("1.23456789012345Gi", "1325607178192984789n"), ("-1Gi", "-1Gi"), (1, "1")),
        *((0.5, "500m"), (85899345920, "85899345920"), ("1000", "1k"), ("1500", "1500")),
        *(("1000m", "1"), ("1500m", "1500m"), ("80G", "80G"), ("5E", "5E"), ("0.1n", "1n")),
        *(("0.0000000015", "2n"), ("1e3", "1e3"), ("1E3", "1E3"), ("1e1", "10"), ("5e4", "50e3")),
        *(("1.5e3", "1500"), ("1e-3", "1e-3"), ("0", "0"), ("0Gi", "0"), ("0e3", "0")),
    ],
)
def test_canonical_quantity_like_api_server(text, canonical):
    assert canonical_quantity(text) == canonical
    assert canonical_quantity(canonical) == canonical


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("1", "1000m", True),
        (1, "1", True),
        ("1Gi", "1024Mi", True),
        ("1G", "1Gi", False),
        (str(2**63 - 1), "99999999999999999999Ei", True),
        (str(2**63 - 1), "1e99999", True),
        (str(2**63 - 1), "-1e99999", False),
        ("1n", "0.1n", True),
        ("0", "0.1n", False),
        ("x", "x", False),
        (None, None, False),
        (["1"], "1", False),
    ],
)
def test_is_same_quantity(left, right, same):
    assert is_same_quantity(left, right) is same
